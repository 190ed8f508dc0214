// What is known of the keys for one application and role: nothing, a key that is refused, or a set to verify with. A
// refused key is kept as its reason, so that each configuration is answered with it instead of a bare "no key".

package import TandemCrypto

/// The trust in force for one (app, role).
package enum ConfigurationAnchor: Sendable, Equatable {
    case none
    /// A key was given and refused.
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
