// A user's edits in the app: read from the daemon's file at a load and a reload, above the stored preference and below
// what is signed, judged by the app's own schema; and the schema that the app tells the daemon.

import PairedConfiguration
import TandemFiles
import TandemPropertyList
import TandemSettings
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@Suite struct EditTests {
    private let fixture: Fixture

    init() throws { fixture = try Fixture() }

    private func write(_ values: PropertyListDictionary, in directory: OwnedDirectory) throws {
        try directory.write("edits.plist", ["v": 1, "values": .dictionary(values)])
    }

    @Test("SCH-10: edits are read at the load, and again when the daemon says so, as one batch of origin user")
    func reads() throws {
        try Fixture.withDirectory { directory in
            try write(["volume": 80], in: directory)
            let app = fixture.app(in: directory.path)
            #expect(app.volume == 80 && app.$volume.layer == .userEdit)
            let changes = app.observedChanges()
            try write(["volume": 90, "logging": true], in: directory)
            #expect(app.sessionDidReceiveMessage(["tandem.reload": true]) == ReloadReply.message(loaded: []))
            #expect(app.volume == 90 && app.logging)
            #expect(changes.all.map(\.origin) == [.user])
            app.volume = 60
            #expect(app.volume == 90, "an edit hides the stored preference")
            try directory.remove("edits.plist")
            app.reload()
            #expect(app.volume == 60 && !app.logging)
        }
    }

    @Test(
        "SET-56: what a person has added to an editable list is offered beside the declared values, also after a restart"
    )
    func addedChoices() throws {
        try Fixture.withDirectory { directory in
            let week = SettingChoice(label: "Week", value: .integer(7))
            let month = SettingChoice(label: "Month", value: .integer(30))
            for _ in 0..<2 {
                let file: PropertyListDictionary = [
                    "v": 1, "values": ["duration": 30],
                    "choices": ["duration": [["label": "Month", "value": 30], ["label": "Long", "value": 400]]],
                ]
                try directory.write("edits.plist", file)
                let app = fixture.app(in: directory.path)
                #expect(app.$duration.choices.first == week && app.$duration.choices.last == month)
                #expect(app.$duration.choices.count == 3 && app.duration == 30)
                #expect(app.$duration.declaration.choices.count == 2)
            }
        }
    }

    @Test("SCH-10: an edit that the app's schema does not take is an event, once, and the others apply")
    func skips() throws {
        try Fixture.withDirectory { directory in
            let app = fixture.app(in: directory.path)
            let events = app.observedEvents()
            try write(["volume": 101, "rating": 95, "gone": 1], in: directory)
            app.reload()
            app.reload()
            #expect(app.rating == 95 && app.volume == 75)
            let errors = events.all.compactMap {
                if case .editIgnored(let error) = $0 { error.description } else { nil }
            }
            #expect(errors == ["there is no property 'gone'", "volume: 101 is over the maximum 100"])
        }
    }

    @Test("SCH-10: a file that cannot be read is an event, and the edits stay as they are")
    func damaged() throws {
        try Fixture.withDirectory { directory in
            try write(["volume": 80], in: directory)
            let app = fixture.app(in: directory.path)
            let events = app.observedEvents()
            let later: PropertyListDictionary = ["v": 2, "values": [:]]
            for bytes in [Array("nonsense".utf8), try PropertyListWriter.write(later)] {
                try directory.replace("edits.plist", with: bytes)
                app.reload()
                #expect(app.volume == 80)
            }
            let files = events.all.compactMap {
                if case .fileRefused(let failure) = $0 { failure.file } else { nil }
            }
            #expect(files == ["edits.plist", "edits.plist"])
        }
    }

    @Test("SCH-19: each wrapper declares the title and the page of its property, which the schema has")
    func pages() throws {
        let document = try SchemaDocument(writing: PageConfiguration().declarations)
        let read = try SchemaDocument(reading: document.bytes).schema.declarations
        #expect(read.count == 11 && read.allSatisfy { $0.title == "A" && $0.page == "P" })
        #expect(CounterpartConfiguration().declarations.allSatisfy { $0.title == nil && $0.page == nil })
    }

    @Test("SCH-14, SET-7: changes by a paired primary have the origin counterpart, also when they are taken back")
    func origins() throws {
        try Fixture.withDirectory { directory in
            let app = CounterpartConfiguration()
            fixture.load(app, in: directory.path)
            let changes = app.observedChanges()
            let author: PropertyListValue = .data(Array(repeating: 7, count: 16))
            var file: PropertyListDictionary = [
                "v": 1, "values": ["volume": 80, "name": "hall"], "nothing": ["colour"],
                "by": ["name": author, "volume": author],
            ]
            try directory.write("edits.plist", file)
            app.reload()
            #expect(app.volume == 7, "not open to a primary")
            #expect(app.name == "hall" && app.colour == nil)
            file = ["v": 1, "values": [:]]
            try directory.write("edits.plist", file)
            app.reload()
            #expect(app.name == "lamp" && app.colour == "red")
            #expect(
                changes.all.map { "\($0.origin) \($0.changes.map(\.name))" } == [
                    #"user ["colour"]"#, #"counterpart ["name"]"#, #"user ["colour"]"#, #"counterpart ["name"]"#,
                ])
        }
    }
}

/// One property of each wrapper, with all that a settings page shows of it.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class PageConfiguration: Configuration, @unchecked Sendable {
    enum Mode: String, CaseIterable, SettingRepresentable { case fast, quiet }
    struct Frame: Codable, Sendable { var width = 1 }

    @Toggle("", title: "A", page: "P") var toggle = false
    @Slider("", in: 0...1, title: "A", page: "P") var slider = 1
    @Edit("", in: 0...1, title: "A", page: "P") var number = 1
    @Edit("", title: "A", page: "P") var text = ""
    @Choice("", ["One": 1], title: "A", page: "P") var choice = 1
    @Choice("", title: "A", page: "P") var mode = Mode.fast
    @EditableChoice("", in: 0...1, ["One": 1], title: "A", page: "P") var editable = 1
    @EditableChoice("", ["One": "1"], title: "A", page: "P") var editableText = "1"
    @Preference(title: "A", page: "P") var preference = 1
    @Preference(title: "A", page: "P") var frame = Frame()
    @Preference(title: "A", page: "P") var optionalFrame: Frame?
}

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class CounterpartConfiguration: Configuration, @unchecked Sendable {
    @Edit("Volume", in: 0...100) var volume = 7
    @Edit("Name", access: .counterpart) var name = "lamp"
    @Edit("Colour") var colour: String? = "red"
}
