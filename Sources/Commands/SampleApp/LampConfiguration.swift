// Settings of this app: one switch, one bounded number, one text with a pattern, and a list. The declaration is the
// schema: a signed configuration that does not fit it is refused as a whole.

import PairedConfiguration

/// The lamp's configuration.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex, which the base class checks.
final class LampConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Write a line for every message") var logging = false
    @Slider("Alarm volume", in: 0...100, icon: .volume) var volume = 50
    @Edit("Colour of the light", matching: "^#[a-f0-9]{6}$") var colour: String?
    @Preference("Scenes of the light, one dictionary each") var scenes: [PropertyListValue] = []

    /// A real app returns the text of its key here, compiled in; the sample takes it from `--key`, so that it can be
    /// tried with any key.
    override var publicKey: String? { CommandLineKey.text }

    /// A real app returns the path of the bundle that it brings.
    override var settingsBundle: String? { Launch.arguments.pages }

    override var syncedSettings: [any DeclaredProperty] { Launch.arguments.sync.isEmpty ? [] : [$volume, $colour] }

    /// Sets what the command line says.
    func edit() throws {
        for text in Launch.arguments.sync {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { continue }
            if parts[0] == "colour" { try $colour.set(parts[1]) }
            if parts[0] == "volume", let volume = Int(parts[1]) { try $volume.set(volume) }
        }
    }
}
