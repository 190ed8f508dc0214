// What a hello on a pinned link means for its pairing (PAR-10, PAR-14, SES-4): it makes a pending pairing active, may
// never lower the version, and may start a new epoch only with empty hands.

package import TandemBase
package import TandemCrypto
package import TandemWire

extension PairingRegistry {
    /// What the other device said in its hello, and what TLS proved.
    package struct PeerHello: Sendable {
        package let pairing: UniqueIdentifier
        /// The pin of the TLS peer.
        package let peer: KeyIdentifier
        /// The sender's part.
        package let role: DeviceRole
        package let epoch: UInt64
        /// `received` and `sent` are empty.
        package let hasNoSequences: Bool
        /// The version agreed on.
        package let version: ProtocolVersion
        /// The sender's vendor identifier as claimed.
        package let device: UniqueIdentifier
        /// The sender's name.
        package let name: String
        package let place: Place

        /// Where in the exchange a hello stands.
        package enum Place: Sendable, Equatable {
            /// The client's, to which this device still answers; whether this device has received and sent nothing in
            /// its epoch.
            case opening(ownHasNoSequences: Bool)
            /// The server's answer to this device's own.
            case answer
        }

        package init(
            pairing: UniqueIdentifier, peer: KeyIdentifier, role: DeviceRole, epoch: UInt64, hasNoSequences: Bool,
            version: ProtocolVersion, device: UniqueIdentifier, name: String, place: Place = .answer
        ) {
            self.pairing = pairing
            self.peer = peer
            self.role = role
            self.epoch = epoch
            self.hasNoSequences = hasNoSequences
            self.version = version
            self.device = device
            self.name = name
            self.place = place
        }
    }

    /// What the hello came to.
    package enum HelloOutcome: Sendable, Equatable {
        /// Commit the changes before the answer leaves. `superseded` pairings were replaced by this one: cut their
        /// links and remove their queues. `isNewEpoch`: start with empty sequences.
        case accepted(
            PairingRecord, changes: [PairingChange], superseded: [UniqueIdentifier], isNewEpoch: Bool,
            event: PairingEvent?)
        case refused(RefusalName, event: PairingEvent)
    }

    package mutating func hello(_ hello: PeerHello, now: WallTime) -> HelloOutcome {
        guard var record = records[hello.pairing], record.peer == hello.peer, record.role == hello.role.counterpart,
            record.peerVendorIdentifier == hello.device, !record.hasLapsed(now: now)
        else { return .refused(.notPaired, event: .helloFromStranger(hello.pairing, peer: hello.peer)) }
        if let highest = record.highestVersion, hello.version < highest {
            let event = PairingEvent.versionLowered(record.pairing, from: highest, to: hello.version)
            return .refused(.versionLowered, event: event)
        }
        guard let epoch = Self.epoch(after: hello, own: record.epoch) else {
            let event = PairingEvent.epochRefused(record.pairing, own: record.epoch, peer: hello.epoch)
            return .refused(.epoch, event: event)
        }
        let isNewEpoch = hello.epoch != record.epoch
        let wasPending = record.state == .pending
        let before = record
        record.state = .active
        record.epoch = epoch
        record.highestVersion = hello.version
        if JoinLink.isName(hello.name) { record.name = hello.name }
        records[record.pairing] = record
        var changes: [PairingChange] = record == before ? [] : [.putPairing(record)]
        let superseded = wasPending ? supersede(record, &changes) : []
        if wasPending, choices[record.role] == nil { choose(record, &changes) }
        return .accepted(
            record, changes: changes, superseded: superseded, isNewEpoch: isNewEpoch,
            event: wasPending ? .activated(record.pairing, peer: record.peer) : nil)
    }

    /// The epoch in which both sides go on; nil if there is none (PAR-14). The client's hello opens: the side that
    /// answers can always settle it, with the higher epoch if that one is announced empty, else with the next one above
    /// both.
    private static func epoch(after hello: PeerHello, own: UInt64) -> UInt64? {
        guard hello.epoch != own else { return own }
        let higher = max(hello.epoch, own)
        if hello.epoch > own, hello.hasNoSequences { return higher }
        guard case .opening(let ownHasNoSequences) = hello.place else { return nil }
        if own > hello.epoch, ownHasNoSequences { return higher }
        return higher < UInt64(Int64.max) ? higher + 1 : nil
    }

    /// A device that paired again has one pairing in a role: the new one. The choice moves with it.
    private mutating func supersede(
        _ record: PairingRecord, _ changes: inout [PairingChange]
    ) -> [UniqueIdentifier] {
        let older = pairings.filter {
            $0.peer == record.peer && $0.role == record.role && $0.pairing != record.pairing
        }
        for old in older {
            if choices[old.role] == old.pairing { choose(record, &changes) }
            changes += erase(old)
        }
        return older.map(\.pairing)
    }

    private mutating func choose(_ record: PairingRecord, _ changes: inout [PairingChange]) {
        choices[record.role] = record.pairing
        changes.append(.putChoice(record.role, record.pairing))
    }
}
