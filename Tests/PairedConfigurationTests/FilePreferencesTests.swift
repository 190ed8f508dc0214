// The file of preferences: what it looks like, and that no fault, crash or other writer loses what is in it.

import Glibc
import PairedConfiguration
import TandemTestSupport
import Testing

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class Preferences: Configuration, @unchecked Sendable {
    @Preference var name = ""
    @Preference var volume = 50
    @Preference var picture: [UInt8] = []
    @Preference var changed: PropertyListDate? = nil
}

@Suite struct FilePreferencesTests {
    private let place = TemporaryDirectory()

    /// Patient, for a busy machine.
    private var store: FilePreferences { FilePreferences(place.path("preferences.plist"), patience: .seconds(60)) }

    private var text: String {
        String(decoding: TemporaryDirectory.read(place.path("preferences.plist")) ?? [], as: UTF8.self)
    }

    private func write(_ content: String) {
        place.write(Array("<plist version=\"1.0\"><dict>\(content)</dict></plist>\n".utf8), to: "preferences.plist")
    }

    @Test("a path with a slash at its end names no file, and nothing is written")
    func noName() {
        let app = Preferences(preferences: FilePreferences(place.path("lamp/")))
        app.name = "Anna"
        #expect(throws: (any Error).self) { try app.writePreferences() }
        #expect(TemporaryDirectory.names(in: place.path("lamp")).isEmpty)
    }

    @Test("SET-29: the file is an XML property list for its owner alone, and an edit keeps all other entries")
    func theFile() throws {
        write("<key>mine</key><string>kept</string>")
        let app = Preferences(preferences: store)
        app.name = "Anna"
        try app.writePreferences()
        #expect(
            text == """
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0">
                <dict>
                \t<key>mine</key>
                \t<string>kept</string>
                \t<key>name</key>
                \t<string>Anna</string>
                \t<key>tandem.synced</key>
                \t<dict>
                \t\t<key>name</key>
                \t\t<array>
                \t\t\t<string>Anna</string>
                \t\t</array>
                \t</dict>
                </dict>
                </plist>

                """)
        var status = stat()
        #expect(stat(place.path("preferences.plist"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(place.names == ["preferences.plist"])
    }

    @Test("SET-29: values that no reader would take are not stored, in either form, and the file stays as it is")
    func tooLarge() throws {
        for end in ["", "\u{7}"] {
            let app = Preferences(preferences: store)
            app.name = "Anna"
            try app.writePreferences()
            let before = text
            app.name = String(repeating: "a", count: 600_000) + end
            let error = #expect(throws: PreferenceStoreError.self) { try app.writePreferences() }
            #expect(error?.reason == .notStorable && text == before && app.isDirty)
        }
    }

    @Test("SET-23: a large value that a person writes into the file does not keep other changes from being stored")
    func aLargeEdit() throws {
        let app = Preferences(preferences: store)
        let picture = [UInt8](repeating: 0, count: 300_000)
        try store.update { _ in PreferenceEdit(values: ["picture": .data(picture)]) }
        app.volume = 61
        try app.writePreferences()
        #expect(app.picture == picture && Preferences(preferences: store).volume == 61)
    }

    @Test("SET-53: shadows without room for them are left out, and that is no fault")
    func noRoomForShadows() throws {
        let app = Preferences(preferences: store)
        app.volume = 61
        try app.writePreferences()
        // The rest of the file has no room for a further shadow.
        let head = "<key>name</key><string>Anna</string><key>volume</key><integer>62</integer><key>other</key><string>"
        write(head + String(repeating: "a", count: 524_288 - 300 - head.count) + "</string>")
        let before = text
        try app.writePreferences()
        #expect(app.name == "Anna" && app.volume == 62 && text == before)
        app.volume = 6
        try? app.writePreferences()
        #expect(app.volume == 6)
    }

    @Test("SET-29: a value that XML cannot carry makes the file binary, and it is XML again without one")
    func binary() throws {
        let app = Preferences(preferences: store)
        app.name = "bell \u{7}"
        try app.writePreferences()
        #expect(text.hasPrefix("bplist00"))
        #expect(Preferences(preferences: store).name == "bell \u{7}")
        app.name = "plain"
        try app.writePreferences()
        #expect(text.hasPrefix("<?xml"))
        app.changed = PropertyListDate(millisecondsSince1970: 1_234)
        try app.writePreferences()
        #expect(text.hasPrefix("bplist00"))
        #expect(Preferences(preferences: store).changed == app.changed)
    }

    @Test("SET-29: an edit between the reading and the writing of a change is read first, and nothing of it is lost")
    func anEditBetween() throws {
        write("<key>volume</key><integer>1</integer>")
        var calls = 0
        try store.update { entries in
            calls += 1
            if calls == 1 { write("<key>volume</key><integer>2</integer>") }
            return PreferenceEdit(values: ["seen": entries?["volume"] ?? 0])
        }
        #expect(calls == 2)
        #expect(try store.read() == ["volume": 2, "seen": 2])
    }

    @Test("SET-29: a program that writes all the time is a fault, and its file stays")
    func anEditEachTime() throws {
        var calls = 0
        #expect {
            try store.update { _ in
                calls += 1
                write("<key>volume</key><integer>\(calls)</integer>")
                return PreferenceEdit(values: ["seen": 1])
            }
        } throws: { ($0 as? PreferenceStoreError)?.reason == .inUse }
        #expect(try store.read()?["seen"] == nil)
    }

    @Test("LIM-97: a holder that does not end its turn is a fault after a while, and nothing is written")
    func aHolderThatDoesNotEnd() throws {
        let directory = open(place.path, O_RDONLY | O_DIRECTORY)
        defer { close(directory) }
        flock(directory, LOCK_EX)
        let impatient = FilePreferences(place.path("preferences.plist"), patience: .milliseconds(20))
        let error = #expect(throws: PreferenceStoreError.self) {
            try impatient.update { _ in PreferenceEdit(values: ["a": 1]) }
        }
        #expect(error?.reason == .inUse && place.names.isEmpty)
        flock(directory, LOCK_UN)
        try impatient.update { _ in PreferenceEdit(values: ["a": 1]) }
        #expect(try store.read() == ["a": 1])
    }

    // MARK: damage

    @Test("SET-30: the fault of a damaged file says what is wrong with it")
    func damage() {
        write("<key>volume</key>")
        let told = #expect(throws: PreferenceStoreError.self) { try store.update { _ in PreferenceEdit() } }
        #expect(told?.reason == .damaged && told?.detail.contains("'volume' has no value") == true)
    }

    @Test("SET-30: each damaged file is kept under a name of its own; one that is too large is one, too")
    func moreDamage() throws {
        for name in ["preferences.plist.damaged", "preferences.plist.damaged-2"] {
            place.write([UInt8](repeating: 10, count: 524_289), to: "preferences.plist")
            let error = #expect(throws: PreferenceStoreError.self) {
                try store.update { entries in
                    #expect(entries == nil)
                    return PreferenceEdit(values: ["a": 1])
                }
            }
            #expect(error?.reason == .damaged && error?.aside == name)
            #expect(try store.read() == ["a": 1])
        }
        #expect(place.names == ["preferences.plist", "preferences.plist.damaged", "preferences.plist.damaged-2"])
    }
}
