// The same mathematics serves three purposes that must never be mixed up: a device's TLS key, the key of its reports,
// and the keys of signed configuration. The purpose is a type parameter, so that a mix-up does not compile.

/// What a key is for.
package protocol KeyPurpose: Sendable {
    /// The purpose in file names and logs.
    static var name: String { get }
}

/// A device's own key: its TLS certificate and the proof of its identity.
package enum DevicePurpose: KeyPurpose {
    package static var name: String { "device" }
}

/// The key with which a device signs what it applied.
package enum ReportPurpose: KeyPurpose {
    package static var name: String { "report" }
}

/// A key of the people who sign configuration.
package enum ConfigurationPurpose: KeyPurpose {
    package static var name: String { "configuration" }
}

/// A public key for one purpose.
package struct PurposePublicKey<Purpose: KeyPurpose>: Sendable, Hashable {
    package let key: PublicKey

    package init(_ key: PublicKey) { self.key = key }

    package var identifier: KeyIdentifier { key.identifier }
}

/// A private key for one purpose.
package struct PurposePrivateKey<Purpose: KeyPurpose>: Sendable {
    package let key: PrivateKey

    package init(_ key: PrivateKey) { self.key = key }

    /// A fresh key for the purpose.
    package static func generate(_ algorithm: KeyAlgorithm = .ed25519) -> Self { Self(.generate(algorithm)) }

    package var publicKey: PurposePublicKey<Purpose> { PurposePublicKey(key.publicKey) }
}

package typealias DevicePublicKey = PurposePublicKey<DevicePurpose>
package typealias DevicePrivateKey = PurposePrivateKey<DevicePurpose>
package typealias ReportPublicKey = PurposePublicKey<ReportPurpose>
package typealias ReportPrivateKey = PurposePrivateKey<ReportPurpose>
package typealias ConfigurationPublicKey = PurposePublicKey<ConfigurationPurpose>
package typealias ConfigurationPrivateKey = PurposePrivateKey<ConfigurationPurpose>
