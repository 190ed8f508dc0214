// Signatures that a statement needs, role by role: people who sign it one after the other learn whose keys count, and
// how many signatures are missing.

package import TandemCrypto

package struct SignatureNeeds: Sendable, Equatable {
    /// One role of which enough keys have to sign.
    package struct Role: Sendable, Equatable {
        package let name: KeyRoleName
        /// Of the key set that gives the role its keys.
        package let keySetVersion: UInt64
        /// Good signatures that are missing.
        package let missing: Int
    }

    private struct Demand {
        let name: KeyRoleName
        let set: TrustedKeySet
        let role: KeyRole
        /// Keys that do not count.
        let revoked: Set<KeyIdentifier>

        /// - Parameter role: nil for a bare key, which has no such role.
        init?(_ name: KeyRoleName, _ role: KeyRole?, of set: TrustedKeySet, except revoked: Set<KeyIdentifier> = []) {
            guard let role else { return nil }
            (self.name, self.set, self.role, self.revoked) = (name, set, role, revoked)
        }
    }

    /// Empty for bytes of which nothing says whose signatures they need.
    package let roles: [Role]
    /// The keys whose signatures count.
    package let keys: Set<KeyIdentifier>

    /// - Parameter history: the keys in force when the statement comes; nil for none, as before an app's first key set.
    package init(of bytes: [UInt8], after history: KeySetHistory?) throws(VerificationFailure) {
        let envelope = try UnverifiedEnvelope(bytes)
        var signatures = VerifiedSignatures(over: envelope.statement)
        var roles: [Role] = []
        var keys: Set<KeyIdentifier> = []
        for demand in try Self.demands(of: envelope, after: history) {
            let count = SignatureCount(
                envelope, &signatures, role: demand.role, keys: demand.set.keys, revoked: demand.revoked)
            let missing = max(0, demand.role.threshold - count.signers.count)
            roles.append(Role(name: demand.name, keySetVersion: demand.set.version, missing: missing))
            keys.formUnion(demand.role.keyIdentifiers.subtracting(demand.revoked))
        }
        (self.roles, self.keys) = (roles, keys)
    }

    private static func demands(
        of envelope: UnverifiedEnvelope, after history: KeySetHistory?
    ) throws(VerificationFailure) -> [Demand] {
        switch envelope.claimedType {
        case .keySet:
            guard let history else {
                let first = try KeySetHistory(anchor: envelope.bytes, isComplete: false).current
                return [Demand(.keySet, first.keySet, of: first)].compactMap(\.self)
            }
            var next = history
            _ = try next.take(envelope.bytes, isComplete: false)
            // The old and the new root keys (CFG-84).
            let sets =
                next.current.version == history.current.version ? [next.current] : [history.current, next.current]
            return sets.compactMap { Demand(.keySet, $0.keySet, of: $0) }
        case .revocation:
            guard let history else { return [] }
            let set = history.current
            return [Demand(.revocation, set.revocation, of: set, except: history.revoked)].compactMap(\.self)
        case .configuration:
            guard let history else { return [] }
            let set = history.current
            return [Demand(.configuration, set.configuration, of: set, except: history.revoked)].compactMap(\.self)
        case .report, .carrier, nil: return []
        }
    }
}
