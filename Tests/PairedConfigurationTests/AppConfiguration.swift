// The configurations that the tests declare, as a host app would.

import PairedConfiguration
import TandemCrypto
import TandemSignedConfiguration

/// One property of each editor and type.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex.
final class AppConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Enable debug logging") var logging = false
    @Slider("Alarm volume", in: 50...100, icon: .volume) var volume = 75
    @Slider("Maximum noise", in: 60.5...120.41) var maxDecibel: Float = 70
    @Edit("Shot accuracy", in: -2.1...4.1, matching: "") var accuracy: Double
    @Edit("Colour", matching: "^#([a-f0-9]{6})$") var colour: String?
    @Choice("Rating", ["Low": 10, "Average": 50, "Excellent": 95]) var rating = 50
    @EditableChoice("Duration", in: 0...365, ["Week": 7, "Year": 365]) var duration = 45
    @Choice("Font", ["Serif": "serif", "Sans": "sans"]) var font = "sans"
    @EditableChoice("Background", matching: "^#", ["Night": "#000000"]) var background: String?

    static let key = ConfigurationPrivateKey.generate()

    override var publicKey: String? { Self.key.publicKey.key.pem }
    override var allowsInvalidSignatures: Bool { false }
}

/// Every type as it is without an initial value.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex.
final class BareConfiguration: Configuration, @unchecked Sendable {
    @Toggle("") var boolean: Bool
    @Edit("", in: -10...10) var integer: Int
    @Edit("", in: -1...1) var float: Float
    @Edit("", in: -1...1) var double: Double
    @Edit("") var optional: String?
    @Edit("") var text: String
}

/// A configuration to inherit from.
///
/// `@unchecked`: its property is a wrapper around state behind a mutex.
class BaseConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Inherited") var inherited = true
}

/// A reset that breaks a rule, a property that is no setting, and an inherited one.
///
/// `@unchecked` is not true here, as `stray` has no lock; only the thread of its test uses it.
final class BrokenConfiguration: BaseConfiguration, @unchecked Sendable {
    @Slider("Volume", in: 50...100) var volume = 60
    @Slider("Level", in: 1...5) var level = 3
    var stray = 1

    required init() { super.init(problems: .collect) }

    override func reset() {
        volume = 49
        level = 4
    }
}
