// Why a configuration was not applied, by a name that never changes its meaning: logs, reports, the command line and
// the test vectors use the same ones. The text beside a name is for people and may change.

/// A named rejection (Protocol/SignedConfiguration.md CFG-24); the raw value is the name on the wire.
package enum Rejection: String, Error, Sendable, Hashable, CaseIterable {
    case oversize
    case malformed
    case shape
    case noKey = "no-key"
    case weakKey = "weak-key"
    case unknownAlgorithm = "unknown-alg"
    case duplicateKeyIdentifier = "dup-keyid"
    case threshold
    case wrongType = "wrong-type"
    case payloadMalformed = "payload-malformed"
    case critical = "crit"
    case wrongRole = "wrong-role"
    case wrongApplication = "wrong-app"
    case wrongTarget = "wrong-target"
    case oldKeySet = "old-keyset"
    case rollback
    case equivocation
    case clockUnset = "clock-unset"
    case expired
    case future
    case schema
    case signerRevoked = "signer-revoked"
    case anchorConflict = "anchor-conflict"
    case identifierChanged = "identifier-changed"
    case keySetIllegal = "keyset-illegal"
}

extension Rejection: CustomStringConvertible {
    package var description: String { rawValue }
}

extension Rejection {
    /// Whether it is found before the payload type is looked at (steps 1 to 8), so that nothing in the configuration
    /// is vouched for by anybody (CFG-52).
    package var isEarly: Bool {
        switch self {
        case .oversize, .malformed, .shape, .noKey, .weakKey, .unknownAlgorithm, .duplicateKeyIdentifier, .threshold:
            true
        default: false
        }
    }
}
