// Settings of this app: one switch, one bounded number, one text with a pattern. The declaration is the schema: a
// signed configuration that does not fit it is refused as a whole.

import PairedConfiguration

/// The lamp's configuration.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex, which the base class checks.
final class LampConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Write a line for every message") var logging = false
    @Slider("Alarm volume", in: 0...100, icon: .volume) var volume = 50
    @Edit("Colour of the light", matching: "^#[a-f0-9]{6}$") var colour: String?

    /// A real app returns the text of its key here, compiled in; the sample takes it from `--key`, so that it can be
    /// tried with any key.
    override var publicKey: String? { CommandLineKey.text }
}
