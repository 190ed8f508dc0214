// A configuration beside a Settings.bundle: which properties its pages show, and whose default counts.

import PairedConfiguration
import Synchronization
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

    override var settingsBundle: String? { bundlePath.withLock(\.self) }

    override func reset() { if nameSetting == "replace me" { nameSetting = "replaced" } }
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
        "<dict><key>Key</key><string>\(key)</string>\(value.isEmpty ? "" : "<key>DefaultValue</key>\(value)")</dict>"
    }

    private func make(_ store: any PreferenceStore = MemoryPreferences()) -> (Preferences, [ConfigurationEvent]) {
        bundlePath.withLock { $0 = place.path }
        defer { bundlePath.withLock { $0 = nil } }
        let app = Preferences(preferences: store)
        let events = Mutex<[ConfigurationEvent]>([])
        let observation = app.observeEvents { event in events.withLock { $0.append(event) } }
        observation.cancel()
        return (app, events.withLock(\.self))
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
        #expect(events == [.preferences(.pages(.replacedDefault(key: "nameSetting")))])
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
}
