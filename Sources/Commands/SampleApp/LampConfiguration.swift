// Settings of this app: one switch, one bounded number, one text with a pattern, and a list. The declaration is the
// schema: a signed configuration that does not fit it is refused as a whole.

import PairedConfiguration

/// The lamp's configuration.
///
/// `@unchecked`: every property is a wrapper, and the mutex of the base class's store protects its value.
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

    /// The button of the pages, which the paired primary may press, too, and a check of the app's own: both work while
    /// the app runs.
    override var pageHooks: PageHooks {
        var hooks = PageHooks()
        hooks.onPress(of: "alarm", access: .counterpart) { [self] in
            let volume = volume
            guard volume > 0 else { return .refused("The volume is 0.") }
            Output.show("alarm at volume \(volume)")
            return .done("The alarm sounds at volume \(volume).")
        }
        hooks.check("colour") { colour in
            guard colour == .string("#000000") else { return .ok }
            return .failedWithShake("Black gives no light.", replacement: .string("#101010"))
        }
        return hooks
    }

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
