// How pairings end, and what an operator may change (PAR-10, PAR-13, PAR-15).

package import TandemBase
import TandemCrypto
package import TandemWire

extension PairingRegistry {
    /// Removes a pairing at once, and the manual trust in its peer, which would otherwise let the peer straight in
    /// again. The caller cuts the link with `bye` `unpaired` and deletes what hangs on the pairing.
    package mutating func unpair(_ pairing: UniqueIdentifier) -> [PairingChange] {
        guard let record = records[pairing] else { return [] }
        var changes = erase(record)
        if trusted.remove(record.peer, as: record.role.counterpart) {
            changes.append(.removeTrust(record.peer, as: record.role.counterpart))
        }
        return changes + chooseAfterRemoval(of: record)
    }

    /// Removes what time has ended: tokens, and pairings that stayed pending.
    package mutating func expire(now: WallTime) -> [PairingChange] {
        let lapsed = pairings.filter { $0.hasLapsed(now: now) }
        let removed = lapsed.flatMap { erase($0) }
        return tokens.expire(now: now).map { .removeToken($0) } + removed
    }

    /// Binds the default session of the pairing's role to it; nil if there is no such active pairing.
    package mutating func select(_ pairing: UniqueIdentifier) -> [PairingChange]? {
        guard let record = records[pairing], record.state == .active else { return nil }
        guard choices[record.role] != pairing else { return [] }
        choices[record.role] = pairing
        return [.putChoice(record.role, pairing)]
    }

    /// Allows a version below the highest one seen; nil if there is no such pairing.
    package mutating func allowVersion(
        _ version: ProtocolVersion, for pairing: UniqueIdentifier
    ) -> [PairingChange]? {
        guard var record = records[pairing] else { return nil }
        record.highestVersion = version
        records[pairing] = record
        return [.putPairing(record)]
    }

    /// Trusts a device by its fingerprint.
    package mutating func trust(_ device: TrustedDevice) -> [PairingChange] {
        trusted.add(device)
        return [.putTrust(device)]
    }

    /// Starts a new epoch: this device's store is older than what the peer has seen.
    package mutating func beginEpoch(_ pairing: UniqueIdentifier) -> [PairingChange] {
        guard var record = records[pairing], record.epoch < UInt64(Int64.max) else { return [] }
        record.epoch += 1
        records[pairing] = record
        return [.putPairing(record)]
    }

    /// A primary's app declared a custom identifier over the pairing's link.
    package mutating func declared(
        _ identifier: CustomIdentifier, for app: ApplicationIdentifier, pairing: UniqueIdentifier
    ) -> (changes: [PairingChange], event: PairingEvent?) {
        guard records[pairing]?.role == .secondary else { return ([], nil) }
        switch claims.declared(identifier, for: app, pairing: pairing) {
        case .unchanged: return ([], nil)
        case .accepted(let claim), .withdrawn(let claim): return ([.putClaim(claim)], nil)
        case .changed(let claim): return ([.putClaim(claim)], .identifierChanged(pairing, app: app))
        }
    }

    /// The operator accepts a changed identifier; nil if none waits.
    package mutating func acceptIdentifier(
        of app: ApplicationIdentifier, pairing: UniqueIdentifier
    ) -> (claim: IdentifierClaim, changes: [PairingChange])? {
        claims.accept(app, pairing: pairing).map { ($0, [.putClaim($0)]) }
    }

    mutating func erase(_ record: PairingRecord) -> [PairingChange] {
        records[record.pairing] = nil
        let apps = claims.remove(pairing: record.pairing)
        return [.removePairing(record.pairing)] + apps.map { .removeClaim(record.pairing, $0) }
    }

    /// The only active pairing of the role that is left becomes the chosen one. Of several none does: which device an
    /// app talks to next is the operator's decision, not the age of its pairing (PAR-15).
    private mutating func chooseAfterRemoval(of record: PairingRecord) -> [PairingChange] {
        guard choices[record.role] == record.pairing else { return [] }
        let left = pairings.filter { $0.role == record.role && $0.state == .active }
        let next = left.count == 1 ? left.first : nil
        choices[record.role] = next?.pairing
        return [next.map { .putChoice(record.role, $0.pairing) } ?? .removeChoice(record.role)]
    }
}
