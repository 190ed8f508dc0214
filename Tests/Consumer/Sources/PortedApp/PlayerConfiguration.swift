// Properties from Appfigurate's documentation, ported: one of each editor.

import PairedConfiguration

// snippet.appfigurate
/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class PlayerConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Enable debug logging to console") var logging = false
    @Slider("Limit volume level", in: 50...100, icon: .volume) var volumeRange = 75
    @Slider("Clipping - decibels", in: 60.5...120.41, icon: .volume) var maxDecibel: Float = 90
    @Edit("Shot accuracy", in: -2.1...4.1) var shotAccuracy: Float = 0
    @Choice("Quality rating", ["Low": 10, "Average": 50, "Excellent": 95]) var rating = 50
    @EditableChoice("Duration in days", in: 0...365, matching: "^[0-9]{1,3}$", ["A week": 7, "A year": 365])
    var availabilityDuration = 45
    @Edit("Overridden session username") var usernameOverride: String?
    @EditableChoice(
        "Colour of foreground", matching: "^#([a-f0-9]{6})$", ["Black": "#000000", "MistyRose": "#ffe4e1"])
    var foregroundColorHex: String?

    override func reset() { foregroundColorHex = "#fa3bcc" }

    override var publicKey: String? { nil }
    override var allowsInvalidSignatures: Bool { false }
    override var customIdentifier: String? { "player-1" }
}
// snippet.end

// As an app's tests would.
func judge(_ configuration: PlayerConfiguration) {
    do { try configuration.$shotAccuracy.set(4.2) } catch { print(error) }
}
