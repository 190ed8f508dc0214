// Trust anchors: the keys that count for one application and role, or the reason why there are none. A set is judged
// when it is made (threshold, distinct keys, strength); verification then only looks keys up, and never takes a key, an
// algorithm or a threshold from the bytes that it verifies. A refused key is kept as its reason, so that each
// configuration is answered with that reason instead of `no-key`.

package import TandemCrypto

/// The keys of one role and how many of them must sign.
package struct KeyRole: Sendable, Equatable {
    package let keyIdentifiers: Set<KeyIdentifier>
    /// Distinct keys that must have signed; at least 1.
    package let threshold: Int
}

/// A trusted set of configuration keys (CFG-15).
package struct TrustedKeySet: Sendable, Equatable {
    /// From 1; a bare PEM is version 1 of a set that has no second version.
    package let version: UInt64
    package let keys: [KeyIdentifier: PublicKey]
    package let configuration: KeyRole
    package let revoked: Set<KeyIdentifier>

    /// The set with one key for the role config.
    package init(_ key: ConfigurationPublicKey) {
        version = 1
        keys = [key.identifier: key.key]
        configuration = KeyRole(keyIdentifiers: [key.identifier], threshold: 1)
        revoked = []
    }

    /// The set of a bare PEM `PUBLIC KEY`.
    package init(pem: String) throws(KeyError) {
        self.init(ConfigurationPublicKey(try PublicKey(pem: pem)))
    }

    /// A set of several keys.
    /// - Throws: ``Rejection/keySetIllegal`` for a threshold that is not 1 to the number of distinct keys.
    package init(
        version: UInt64, keys: [ConfigurationPublicKey], threshold: Int, revoked: Set<KeyIdentifier> = []
    ) throws(Rejection) {
        let distinct = Dictionary(keys.map { ($0.identifier, $0.key) }) { first, _ in first }
        guard version >= 1, threshold >= 1, threshold <= distinct.count else { throw .keySetIllegal }
        self.version = version
        self.keys = distinct
        configuration = KeyRole(keyIdentifiers: Set(distinct.keys), threshold: threshold)
        self.revoked = revoked
    }

    /// The key that may sign configuration under this identifier; nil for an unknown one or one of another role.
    func configurationKey(_ bytes: [UInt8]) -> PublicKey? {
        guard let identifier = KeyIdentifier(bytes: bytes), configuration.keyIdentifiers.contains(identifier) else {
            return nil
        }
        return keys[identifier]
    }
}

/// The trust in force for one (app, role).
package enum ConfigurationAnchor: Sendable, Equatable {
    case none
    /// A key was provided and refused.
    case unusable(Rejection, String)
    case trusted(TrustedKeySet)

    /// The anchor of a bare PEM; nil means that there is none.
    package init(pem: String?) {
        guard let pem else {
            self = .none
            return
        }
        do {
            self = .trusted(try TrustedKeySet(pem: pem))
        } catch {
            self = .unusable(Rejection(error), error.description)
        }
    }

    /// Step 5.
    func keySet() throws(VerificationFailure) -> TrustedKeySet {
        switch self {
        case .none: throw VerificationFailure(.noKey, "no trusted key is known for this application and role")
        case .unusable(let rejection, let detail): throw VerificationFailure(rejection, detail)
        case .trusted(let keys): return keys
        }
    }
}

extension Rejection {
    /// The rejection that a refused key leads to (CFG-16).
    package init(_ error: KeyError) {
        switch error {
        case .unsupportedAlgorithm: self = .unknownAlgorithm
        case .rsaTooShort, .rsaTooLong, .rsaExponent, .unsupportedCurve, .explicitCurveParameters: self = .weakKey
        case .malformed, .unexpectedBlock, .trailingData, .notCanonical, .passphraseProtected, .inconsistentHalves:
            self = .noKey
        }
    }
}
