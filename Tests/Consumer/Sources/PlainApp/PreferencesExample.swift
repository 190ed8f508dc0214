// Preferences that survive the process, as DDGPreferences' users know them.

import PairedConfiguration

// snippet.preferences
/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class Preferences: Configuration, @unchecked Sendable {
    @Edit("Name") var nameSetting: String?
    @Toggle("Enabled") var enabledSetting = false
    @Slider("Slider", in: 0...1) var sliderSetting = 0.5

    @Preference var namePref: String?
    @Preference var enabledPref = false
    @Preference var sliderPref = 0.5
    @Preference var rectPref = Rectangle(x: 0, y: 0, width: 100, height: 100)

    struct Rectangle: Codable, Equatable {
        var x, y, width, height: Double
    }

    override func setDefaultPreferences() { namePref = "Anna" }

    override var settingsBundle: String? { "/usr/share/kiosk/Settings.bundle" }
}
// snippet.end

// snippet.preferenceUse
func use(_ preferences: Preferences) throws(PreferenceStoreError) -> ConfigurationObservation {
    preferences.sliderPref = 0.75  // stored by itself
    preferences.rectPref.width = 200
    try preferences.writePreferences()  // durable from here on, for an app that wants to know
    return preferences.observe { changes in
        if changes.origin == .user { print("edited: \(changes.changes.map(\.name))") }
    }
}
// snippet.end

// snippet.preferencePlaces
/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class ServicePreferences: Configuration, @unchecked Sendable {
    @Preference var runs = 0

    override var preferenceStore: any PreferenceStore { FilePreferences("/var/lib/kiosk/preferences.plist") }
}

func forATest() -> Preferences { Preferences(preferences: MemoryPreferences(["sliderPref": 0.25])) }
// snippet.end
