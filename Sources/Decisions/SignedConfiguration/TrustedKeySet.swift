// Trust anchors: the keys that count for one application and role, or the reason why there are none. A set is judged
// when it is made (threshold, distinct keys, strength); verification then only looks keys up, and never takes a key, an
// algorithm or a threshold from the bytes that it verifies. A refused key is kept as its reason, so that each
// configuration is answered with that reason instead of `no-key`.

package import TandemBase
package import TandemCrypto

/// The keys of one role and how many of them must sign.
package struct KeyRole: Sendable, Equatable {
    package let keyIdentifiers: Set<KeyIdentifier>
    /// Distinct keys that must have signed; at least 1.
    package let threshold: Int
}

/// A trusted set of keys (CFG-15).
package struct TrustedKeySet: Sendable, Equatable {
    /// From 1; a bare PEM is version 1 of a set that has no second version.
    package let version: UInt64
    package let keys: [KeyIdentifier: PublicKey]
    package let configuration: KeyRole
    /// Nil for a bare PEM, which cannot rotate.
    package let keySet: KeyRole?
    /// Nil for a bare PEM, which cannot revoke.
    package let revocation: KeyRole?
    package let revoked: Set<KeyIdentifier>
    /// Those of the revoked keys whose signatures end what is active (CFG-89).
    let withdrawn: Set<KeyIdentifier>
    /// Seconds since 1970 from which on nothing new is accepted under the set (CFG-86).
    package let expires: UInt64?
    /// Seconds since 1970; 0 for a bare PEM.
    private let issued: UInt64
    /// The lowest version that is accepted for a target, whatever its mark (CFG-88).
    package let minimumVersions: [PairedIdentifier: UInt64]

    /// The set with one key for the role config.
    package init(_ key: ConfigurationPublicKey) { self.init([key], threshold: 1) }

    /// A set of these keys for the role config alone.
    package init(_ keys: [ConfigurationPublicKey], threshold: Int, revoked: Set<KeyIdentifier> = []) {
        version = 1
        self.keys = Dictionary(keys.map { ($0.identifier, $0.key) }) { first, _ in first }
        configuration = KeyRole(keyIdentifiers: Set(self.keys.keys), threshold: threshold)
        keySet = nil
        revocation = nil
        self.revoked = revoked
        withdrawn = []
        expires = nil
        issued = 0
        minimumVersions = [:]
    }

    /// The set of a document that has been judged, with all its roles.
    init(
        _ document: KeySetDocument, keys: [KeyIdentifier: PublicKey], roles: [KeyRoleName: KeyRole],
        revoked: Set<KeyIdentifier>, withdrawn: Set<KeyIdentifier>
    ) {
        guard let configuration = roles[.configuration] else { preconditionFailure("a judged set has all roles") }
        version = document.version
        self.keys = keys
        self.configuration = configuration
        keySet = roles[.keySet]
        revocation = roles[.revocation]
        self.revoked = revoked
        self.withdrawn = withdrawn
        expires = document.expires
        issued = document.issued
        minimumVersions = document.minimumVersions
    }
}

extension TrustedKeySet {
    /// The validity of a key set by a clock.
    package enum Validity: Sendable {
        case lasting
        /// It expires so soon that the next set has to be made now.
        case expiring
        /// Nothing new is accepted under it (CFG-86).
        case expired
    }

    package func validity(at now: WallTime) -> Validity {
        guard let expires else { return .lasting }
        if expires <= now.seconds { return .expired }
        let life = expires > issued ? expires - issued : 0
        let notice = min(ConfigurationLimits.expiryNotice, life / ConfigurationLimits.expiryNoticeShare)
        return expires - now.seconds <= notice ? .expiring : .lasting
    }
}

/// The trust in force for one (app, role).
package enum ConfigurationAnchor: Sendable, Equatable {
    case none
    /// A key was provided and refused.
    case unusable(Rejection, String)
    case trusted(KeySetHistory)

    /// The anchor of a PEM text: `PUBLIC KEY`, or `TANDEM KEY SET` (CFG-90). nil means that there is none.
    package init(pem: String?) {
        guard let pem else {
            self = .none
            return
        }
        do {
            self = .trusted(try KeySetHistory(pem: pem))
        } catch {
            self = .unusable(error.rejection, error.detail)
        }
    }

    package var trusted: KeySetHistory? { if case .trusted(let history) = self { history } else { nil } }

    /// Step 5. The fault of a refused key set is no verdict on what the set would verify (CFG-74).
    package func history() throws(VerificationFailure) -> KeySetHistory {
        switch self {
        case .none: throw VerificationFailure(.noKey, "no trusted key is known for this application and role")
        case .unusable(let rejection, let detail):
            let isOfKey = rejection == .weakKey || rejection == .unknownAlgorithm
            throw VerificationFailure(isOfKey ? rejection : .noKey, detail)
        case .trusted(let history): return history
        }
    }
}

extension Rejection {
    /// The rejection that a refused key leads to (CFG-16).
    package init(_ error: KeyError) {
        switch error {
        case .unsupportedAlgorithm: self = .unknownAlgorithm
        case .rsaTooShort, .rsaTooLong, .rsaExponent, .unsupportedCurve, .explicitCurveParameters, .smallOrder:
            self = .weakKey
        case .malformed, .unexpectedBlock, .trailingData, .notCanonical, .passphraseProtected, .wrongPassphrase,
            .unsupportedEncryption, .inconsistentHalves:
            self = .noKey
        }
    }
}
