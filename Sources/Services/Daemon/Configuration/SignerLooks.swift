// The last look at the signers of each active configuration. Any user may ask for `status` (CTL-2) as often as it
// likes, and each configuration may have 64 signatures: none of them is verified twice for it.

import TandemSignedConfiguration

/// Whether the signers of active configurations were revoked, as they were found under the present keys.
struct SignerLooks {
    private struct Look {
        let digest: [UInt8]
        /// The last step of the chain of keys.
        let step: [UInt8]?
        let isRevoked: Bool
    }

    /// The look of a closed slot stays, as its version mark does.
    private var looks: [ConfigurationSlotKey: Look] = [:]

    /// - Parameters:
    ///   - step: the last one of the chain of keys; nil if nothing followed the anchor.
    ///   - look: verifies the signatures; called for other bytes and other keys than at the last look.
    mutating func isRevoked(of active: ActiveConfiguration, under step: ChainStep?, look: () -> Bool) -> Bool {
        let (key, digest) = (active.record.key, active.record.digest)
        if let last = looks[key], last.digest == digest, last.step == step?.digest { return last.isRevoked }
        let isRevoked = look()
        looks[key] = Look(digest: digest, step: step?.digest, isRevoked: isRevoked)
        return isRevoked
    }
}
