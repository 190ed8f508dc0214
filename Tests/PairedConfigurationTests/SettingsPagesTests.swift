// A configuration beside a Settings.bundle: which properties its pages show, and whose default counts.

import Glibc
import PairedConfiguration
import Synchronization
import TandemPages
import TandemSettings
import TandemTestSupport
import Testing

/// The place of the bundle of the configuration that is made next.
private let bundlePath = Mutex<String?>(nil)

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class Preferences: Configuration, @unchecked Sendable {
    @Edit("Name") var nameSetting: String?
    @Slider("Volume", in: 0...100) var sliderSetting = 50
    @Toggle("Enabled") var enabledSetting = false
    @Preference var namePref = "private"
    @Preference var balance = 0.25

    override var settingsBundle: String? { bundlePath.withLock(\.self) }

    override func reset() { if nameSetting == "replace me" { nameSetting = "replaced" } }
}

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class CodePreferences: Configuration, @unchecked Sendable {
    @Preference var codes = ["swordfish"]

    override var settingsBundle: String? { bundlePath.withLock(\.self) }
}

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class BundledPreferences: Configuration, @unchecked Sendable {
    @Toggle("Enabled") var enabledSetting = false

    override class var manifest: ApplicationManifest {
        bundlePath.withLock(\.self).map { ApplicationManifest(path: "\($0)/Info.plist") } ?? ApplicationManifest([:])
    }

    override var settingsBundle: String? { bundlePath.withLock(\.self).map { "\($0)/Settings.bundle" } }
}

@Suite(.serialized) struct SettingsPagesTests {
    private let place = TemporaryDirectory()

    private func write(_ name: String, _ specifiers: String) {
        place.write(
            Array(
                "<plist version=\"1.0\"><dict><key>PreferenceSpecifiers</key><array>\(specifiers)</array></dict></plist>\n"
                    .utf8),
            to: name)
    }

    private func specifier(_ key: String, _ value: String = "") -> String {
        "<dict><key>Type</key><string>PSTitleValueSpecifier</string>"
            + "<key>Key</key><string>\(key)</string>\(value.isEmpty ? "" : "<key>DefaultValue</key>\(value)")</dict>"
    }

    private func pane(_ page: String) -> String {
        "<dict><key>Type</key><string>PSChildPaneSpecifier</string>"
            + "<key>Title</key><string>\(page)</string><key>File</key><string>\(page)</string></dict>"
    }

    private func make(
        _ store: any PreferenceStore = MemoryPreferences(), in path: String? = nil
    ) -> (Preferences, [ConfigurationEvent]) {
        bundlePath.withLock { $0 = path ?? place.path }
        defer { bundlePath.withLock { $0 = nil } }
        let app = Preferences(preferences: store)
        return (app, app.observedEvents().all)
    }

    @Test("SET-34: the pages show the properties of their keys, and their defaults are the properties'")
    func pages() throws {
        write(
            "Root.plist",
            specifier("nameSetting", "<string>Anna</string>") + specifier("enabledSetting")
                + "<dict><key>Type</key><string>PSChildPaneSpecifier</string><key>File</key><string>Sound</string></dict>"
        )
        write("Sound.plist", specifier("sliderSetting", "<integer>30</integer>"))
        let store = MemoryPreferences()
        let (app, events) = make(store)
        #expect(app.settingsKeys == ["nameSetting", "enabledSetting", "sliderSetting"] && events.isEmpty)
        #expect(app.nameSetting == "Anna" && app.sliderSetting == 30 && app.namePref == "private")
        #expect(app.$sliderSetting.layer == .declaredDefault && store.entries.isEmpty)
        // A key without a default is shared with the editor as any other is.
        try store.update { _ in PreferenceEdit(values: ["enabledSetting": true]) }
        try app.readPreferences()
        #expect(app.enabledSetting)
    }

    @Test("SET-34: a default that reset() replaces, and a page that is damaged, are events at start")
    func problems() {
        write("Root.plist", specifier("nameSetting", "<string>replace me</string>"))
        let (app, events) = make()
        #expect(app.nameSetting == "replaced")
        let entry = SettingsPageLocation(page: "Root", index: 0)
        #expect(events == [.preferences(.pages(.replacedDefault(key: "nameSetting", entry)))])
        place.write(Array("<plist".utf8), to: "Root.plist")
        let (other, faults) = make()
        #expect(other.settingsKeys.isEmpty && other.sliderSetting == 50 && faults.count == 1)
        #expect("\(faults)".contains("Root"))
        place.write([], to: "Root.plist", mode: 0o600)
        bundlePath.withLock { $0 = place.path("missing") }
        let missing = Preferences(preferences: MemoryPreferences())
        bundlePath.withLock { $0 = nil }
        #expect(missing.settingsKeys.isEmpty)
    }

    private func bundle(_ name: String) { #expect(mkdir(place.path(name), 0o700) == 0) }

    @Test("PAG-1, PAG-9: an InAppSettings.bundle beside the other hides its files, and a page edits a preference")
    func neighbour() throws {
        for name in ["Settings.bundle", "InAppSettings.bundle"] { bundle(name) }
        let slider =
            "<dict><key>Type</key><string>PSSliderSpecifier</string><key>Key</key><string>balance</string>"
            + "<key>MinimumValue</key><integer>-1</integer><key>MaximumValue</key><integer>1</integer></dict>"
        write("Settings.bundle/Root.plist", specifier("nameSetting", "<string>outer</string>"))
        write("InAppSettings.bundle/Root~iphone.plist", specifier("nameSetting", "<string>inner</string>") + slider)
        let (app, events) = make(in: place.path("Settings.bundle"))
        #expect(app.nameSetting == "inner" && events.isEmpty)
        let balance = try #require(app.declarations.first { $0.name == "balance" })
        #expect(balance.editor == .slider && balance.bounds == .double(-1...1))
        #expect(throws: SettingError.self) { try app.$balance.set(2) }
        write("Settings.bundle/Root.plist", slider)
        #expect(unlink(place.path("InAppSettings.bundle/Root~iphone.plist")) == 0)
        #expect(make(in: place.path("Settings.bundle")).0.settingsKeys == ["balance"])
    }

    @Test(
        "PAG-4, PAG-5, PAG-7: the schema carries pages and translations; damaged and linked files are told, each once")
    func carried() throws {
        bundle("Settings.bundle")
        for language in ["de.lproj", "fr.lproj"] { bundle("Settings.bundle/\(language)") }
        write(
            "Settings.bundle/Root.plist",
            "<dict><key>Type</key><string>PSSliderSpecifier</string><key>Key</key><string>sliderSetting</string>"
                + "<key>Title</key><string>Volume</string><key>MinimumValue</key><integer>0</integer>"
                + "<key>MaximumValue</key><integer>100</integer></dict>")
        place.write(Array("\"Volume\" = \"Lautstärke\";".utf8), to: "Settings.bundle/de.lproj/Root.strings")
        place.write(Array("\"Volume\" = ".utf8), to: "Settings.bundle/fr.lproj/Root.strings")
        #expect(
            symlink(
                place.path("Settings.bundle/de.lproj/Root.strings"), place.path("Settings.bundle/fr.lproj/More.strings")
            ) == 0)
        let (app, events) = make(in: place.path("Settings.bundle"))
        let document = try #require(app.announcedSchema)
        let view = try #require(
            PageView.make(PageTree(document), document.schema, PageRequest(languages: ["de"], values: [:])))
        #expect(view.rows.map(\.title) == ["Lautstärke"] && view.rows.map(\.shown) == ["50"])
        #expect("\(document.layout ?? [:])".contains("MaximumValue") == false)
        let told = events.map { "\($0)" }
        #expect(told.count == 2 && told.allSatisfy { $0.contains("translations 'fr.lproj") })
        #expect(told.contains { $0.contains("line 1, column 12") })
    }

    @Test("PAG-4: the report of a page that cannot be read names its file, of which a page may have several")
    func unreadable() {
        write("Root.plist", specifier("nameSetting"))
        place.write(Array("<plist".utf8), to: "Root.inApp.plist")
        let (_, events) = make()
        #expect(events.count == 1 && "\(events)".contains("\(place.path("Root.inApp.plist")): line 1"))
    }

    @Test("SET-89, PAG-10: a page has the language that Info.plist names for a reader whose languages it does not have")
    func ownLanguage() throws {
        bundle("Settings.bundle")
        for (language, text) in [("de", "Profil"), ("en", "Profile")] {
            bundle("Settings.bundle/\(language).lproj")
            place.write(
                Array("\"TITLE\" = \"\(text)\";".utf8), to: "Settings.bundle/\(language).lproj/Root.strings")
        }
        write(
            "Settings.bundle/Root.plist",
            "<dict><key>Type</key><string>PSToggleSwitchSpecifier</string><key>Key</key><string>enabledSetting</string>"
                + "<key>Title</key><string>TITLE</string></dict>")
        place.write(
            Array("<plist><dict><key>CFBundleDevelopmentRegion</key><string>de</string></dict></plist>".utf8),
            to: "Info.plist", mode: 0o600)
        bundlePath.withLock { $0 = place.path }
        defer { bundlePath.withLock { $0 = nil } }
        let document = try #require(BundledPreferences(preferences: MemoryPreferences()).announcedSchema)
        let request = PageRequest(languages: ["fr"])
        let view = try #require(PageView.make(PageTree(document), document.schema, request))
        #expect(view.rows.map(\.title) == ["Profil"])
    }

    @Test("PAG-23, SCH-4: the schema that leaves the app has no default of a secret in a list, and the app has it")
    func secretsOfLists() throws {
        let entry =
            "<dict><key>Type</key><string>PSTextFieldSpecifier</string><key>IsSecure</key><true/>"
            + "<key>DefaultValue</key><string>swordfish</string></dict>"
        let list =
            "<dict><key>Type</key><string>IASKListGroupSpecifier</string><key>Key</key><string>codes</string>"
            + "<key>ItemSpecifier</key>\(entry)<key>AddSpecifier</key>\(entry)</dict>"
        write("Root.plist", list)
        bundlePath.withLock { $0 = place.path }
        defer { bundlePath.withLock { $0 = nil } }
        let app = CodePreferences(preferences: MemoryPreferences())
        let document = try #require(app.announcedSchema)
        #expect(document.schema.declarations.map(\.name) == ["codes"] && document.layout != nil)
        #expect(!document.bytes.contains(Array("swordfish".utf8)) && app.codes == ["swordfish"])
        #expect(document.schema.declarations.map(\.isSecret) == [false])
        let title = String(repeating: "t", count: 1000)
        let group = "<dict><key>Type</key><string>PSGroupSpecifier</string><key>Title</key><string>"
        write("Root.plist", list + (0..<300).map { "\(group)\(title)\($0)</string></dict>" }.joined())
        let bare = try #require(CodePreferences(preferences: MemoryPreferences()).announcedSchema)
        #expect(bare.layout == nil && bare.schema.declarations.map(\.isSecret) == [true], "nothing tells its secrets")
        #expect(!bare.bytes.contains(Array("swordfish".utf8)))
    }

    private static func image(_ count: Int = 8, of byte: UInt8 = 0) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: byte, count: count - 8)
    }

    @Test("PAG-29, PAG-4: images are files of the bundle; one that is no image, linked, too large or missing is told")
    func images() throws {
        let names = ["bulb", "low", "photo.jpg", "svg", "linked", "large", "none", "../bulb"]
        write(
            "Root.plist",
            names.map {
                "<dict><key>Type</key><string>PSGroupSpecifier</string><key>IASKCellImage</key><string>\($0)</string></dict>"
            }.joined())
        place.write(Self.image(), to: "bulb.png")
        place.write(Self.image(9), to: "low@2x.png")
        place.write(Self.image(), to: "low.png")
        place.write([0xFF, 0xD8, 0xFF], to: "photo.jpg")
        place.write(Array("<svg/>".utf8), to: "svg.png")
        place.write(Self.image(16_385), to: "large.png")
        #expect(symlink(place.path("bulb.png"), place.path("linked.png")) == 0)
        let (app, events) = make()
        let images = try #require(app.announcedSchema?.layout?["images"]?.dictionaryValue)
        #expect(
            images == [
                "bulb": .data(Self.image()), "low": .data(Self.image(9)), "photo.jpg": .data([0xFF, 0xD8, 0xFF]),
            ])
        let told = events.map { "\($0)" }.filter { $0.contains("the image '") }
        #expect(told.count == 5, "\(told)")
        for name in names.dropFirst(3) { #expect(told.contains { $0.contains("'\(name)'") }, "\(name)") }
    }

    @Test("PAG-7, LIM-130: images that do not fit into the schema are left out before its texts are")
    func tooManyImages() throws {
        let title = String(repeating: "t", count: 1000)
        let group = "<dict><key>Type</key><string>PSGroupSpecifier</string><key>Title</key><string>"
        let icons = (0..<7).map { "<string>i\($0)</string>" }.joined()
        let groups = (0..<200).map { "\(group)\(title)\($0)</string></dict>" }.joined()
        // Equal bytes would be in the schema once.
        for number in 0..<7 { place.write(Self.image(16_384, of: UInt8(number)), to: "i\(number).png") }
        write(
            "Root.plist",
            "<dict><key>Type</key><string>PSGroupSpecifier</string><key>IconNames</key><array>\(icons)</array></dict>"
                + groups)
        let (app, events) = make()
        #expect(events.contains { "\($0)".contains("'i6'") } && !events.contains { "\($0)".contains("'i5'") })
        let later = app.observedEvents()
        let layout = try #require(app.announcedSchema?.layout)
        #expect(layout["images"] == nil && layout["pages"]?.arrayValue?.count == 1)
        let told = "\(later.all)"
        #expect(told.contains("has no images") && !told.contains("has no translations"), "it has none")
    }

    @Test("PAG-7: pages that do not fit into the schema are left out, translations first, and that is an event")
    func tooLarge() throws {
        bundle("Settings.bundle")
        bundle("Settings.bundle/de.lproj")
        let title = String(repeating: "t", count: 1000)
        let group = "<dict><key>Type</key><string>PSGroupSpecifier</string><key>Title</key><string>"
        func groups(_ count: Int) -> String { (0..<count).map { "\(group)\(title)\($0)</string></dict>" }.joined() }
        func told(_ count: Int) throws -> (SchemaDocument, String) {
            write("Settings.bundle/Root.plist", groups(count))
            let strings = (0..<count).map { "\"\(title)\($0)\" = \"\($0) \(title)\";" }.joined(separator: "\n")
            place.write(Array(strings.utf8), to: "Settings.bundle/de.lproj/Root.strings")
            let (app, _) = make(in: place.path("Settings.bundle"))
            let events = app.observedEvents()
            return (try #require(app.announcedSchema), "\(events.all)")
        }
        let (small, without) = try told(200)
        #expect(small.layout != nil && small.layout?["strings"] == nil && without.contains("has no translations"))
        let (none, bare) = try told(300)
        #expect(none.layout == nil && none.schema.declarations.count == 5 && bare.contains("has no pages"))
    }

    @Test("PAG-7: licences that do not fit are left out before images and translations, and the other pages stay")
    func largeLicences() throws {
        bundle("Settings.bundle")
        bundle("Settings.bundle/de.lproj")
        let footer = String(repeating: "f", count: 1000)
        let group = "<dict><key>Type</key><string>PSGroupSpecifier</string><key>FooterText</key><string>"
        write("Settings.bundle/Root.plist", specifier("sliderSetting") + pane("Licences"))
        write("Settings.bundle/Licences.plist", (0..<300).map { "\(group)\(footer)\($0)</string></dict>" }.joined())
        place.write(Array("Licences = Lizenzen;".utf8), to: "Settings.bundle/de.lproj/Root.strings")
        let (app, _) = make(in: place.path("Settings.bundle"))
        let events = app.observedEvents()
        let layout = try #require(app.announcedSchema?.layout)
        let pages = try #require(layout["pages"]?.arrayValue)
        #expect(
            layout["strings"] != nil && pages.count == 1
                && pages[0].dictionaryValue?["specifiers"]?.arrayValue?.count == 2)
        #expect("\(events.all)".contains("has no pages of headings and footers alone"))
    }

    @Test("PAG-1, PAG-4: a page in a folder of the bundle, as generated licences are, is told with the reason")
    func pageInFolder() throws {
        bundle("Licences")
        write("Root.plist", pane("Licences/a"))
        write("Licences/a.plist", "")
        let (_, events) = make()
        #expect(
            events.contains { "\($0)".contains("'Licences/a' cannot be read: a page is a file of the bundle itself") })
    }

    @Test("SET-51, PAG-7: an infinite bound is a mistake at start, and not told as pages that are too large")
    func infiniteBound() {
        /// `@unchecked`: its property is a wrapper around state behind a mutex.
        final class Endless: Configuration, @unchecked Sendable {
            @Edit("Level", in: 0...Double.infinity) var level = 1.0
            override var settingsBundle: String? { bundlePath.withLock(\.self) }
            required init() { super.init(problems: .collect, preferences: MemoryPreferences()) }
        }
        write("Root.plist", specifier("level"))
        bundlePath.withLock { $0 = place.path }
        defer { bundlePath.withLock { $0 = nil } }
        let app = Endless()
        #expect(app.declarationProblems == [.infiniteBound(property: "level")])
        let events = app.observedEvents()
        #expect(app.announcedSchema == nil && !"\(events.all)".contains("too large"))
    }
}
