// The pairings of a device (PAR-3 to PAR-15): issued tokens, trusted pins, pairings, the active pairing of each role,
// and the custom identifiers of primaries' apps. One machine, because its rules cross these tables. Each transition
// returns the changes to commit before anything of it may be seen outside.

package import TandemBase
package import TandemCrypto
package import TandemWire

/// The pairings of one device with their tokens, trusted pins and claims.
package struct PairingRegistry: Sendable, Equatable {
    package private(set) var tokens: TokenLedger
    package private(set) var trusted = TrustList()
    private var claims = CustomIdentifierClaims()
    private var records: [UniqueIdentifier: PairingRecord] = [:]
    /// The active pairing of each role (PAR-15).
    private var choices: [DeviceRole: UniqueIdentifier] = [:]

    /// A registry without a pairing.
    /// - Parameter key: seals the secrets of join links in their rows.
    package init(sealedUnder key: SealingKey) { tokens = TokenLedger(sealedUnder: key) }

    package subscript(pairing: UniqueIdentifier) -> PairingRecord? { records[pairing] }

    /// All pairings in the order of their creation.
    package var pairings: [PairingRecord] {
        records.values.sorted { ($0.created, $0.pairing) < ($1.created, $1.pairing) }
    }

    /// The pairing that the default session is bound to when this device has the role.
    package func active(as role: DeviceRole) -> PairingRecord? { choices[role].flatMap { records[$0] } }

    /// Whether a TLS peer with this pin may say hello at all: it has a pairing here that has not lapsed.
    package func isPinned(_ pin: KeyIdentifier, now: WallTime) -> Bool {
        records.values.contains { $0.peer == pin && !$0.hasLapsed(now: now) }
    }

    /// Whether a stranger with this pin may send `join` by manual trust.
    package func isTrusted(_ pin: KeyIdentifier, as role: DeviceRole) -> Bool {
        trusted.device(pin, as: role) != nil
    }

    /// The claim of a primary's app on a custom identifier; ``PairedTargets`` says what follows from it.
    package func claim(of app: ApplicationIdentifier, in pairing: UniqueIdentifier) -> IdentifierClaim? {
        claims.claim(pairing, app)
    }

    /// Whether the identifier that a primary's app declares has no effect, because the pairing has no room for the
    /// claims of further apps (PAR-18).
    package func leavesOut(
        _ identifier: CustomIdentifier?, of app: ApplicationIdentifier, in pairing: UniqueIdentifier
    ) -> Bool {
        identifier != nil && claims.claim(pairing, app) == nil && !claims.hasRoom(in: pairing)
    }

    package var claimedApplications: Set<ApplicationIdentifier> { claims.applications }
}

extension PairingRegistry {
    /// Reads the stored rows at start. An unreadable row is an error: the store is refused, never emptied.
    /// - Parameter key: seals the secrets of join links in their rows. A row that it does not open is removed at the
    ///   next expiry.
    package init(rows: some Sequence<PairingRow>, sealedUnder key: SealingKey) throws(WireError) {
        self.init(sealedUnder: key)
        var (devices, named) = ([TrustedDevice](), [IdentifierClaim]())
        for row in rows {
            guard let first = row.key.first, let table = PairingRow.Table(rawValue: first), let value = row.value else {
                throw WireError.invalidValue(key: "row", expected: "a row of a known table")
            }
            switch table {
            case .token: try tokens.restore(value, keyed: row.key.dropFirst())
            case .pairing:
                let record = try PairingRecord(row: value)
                records[record.pairing] = record
            case .trust: devices.append(try TrustedDevice(row: value))
            case .choice: choices[try BodyFields(value).role("role")] = try BodyFields(value).identifier("pairing")
            case .claim: named.append(try IdentifierClaim(row: value))
            }
        }
        trusted = TrustList(devices: devices)
        claims = CustomIdentifierClaims(claims: named)
    }
}

/// Joins: the primary's side (PAR-5 to PAR-9, PAR-11), and the record that the secondary's side ends with.
extension PairingRegistry {
    /// This device as the other end of a join sees it.
    package struct OwnDevice: Sendable {
        package let pin: KeyIdentifier
        package let claim: JoinClaim

        package init(pin: KeyIdentifier, claim: JoinClaim) {
            self.pin = pin
            self.claim = claim
        }
    }

    /// The facts of the connection, and the identifier for a new pairing.
    package struct JoinCircumstances: Sendable {
        /// The pin of the TLS peer.
        package let peer: KeyIdentifier
        /// The TLS exporter's value of this connection.
        package let exporter: [UInt8]
        /// A fresh random identifier.
        package let newPairing: UniqueIdentifier
        package let now: WallTime

        package init(peer: KeyIdentifier, exporter: [UInt8], newPairing: UniqueIdentifier, now: WallTime) {
            self.peer = peer
            self.exporter = exporter
            self.newPairing = newPairing
            self.now = now
        }
    }

    package enum JoinOutcome: Sendable, Equatable {
        /// Commit the changes, then send the answer, then log the event.
        case joined(JoinAnswer, changes: [PairingChange], event: PairingEvent)
        /// Commit the changes, then refuse with `join-refused` and nothing else, and log the event.
        case refused(changes: [PairingChange], event: PairingEvent)
    }

    /// Issues the token of a new link.
    package mutating func issue(_ link: JoinLink) -> [PairingChange] { tokens.issue(link) }

    /// Takes an unused link back; nil if there is none of this token (PAR-23).
    package mutating func cancel(_ identifier: JoinTokenIdentifier) -> [PairingChange]? { tokens.cancel(identifier) }

    /// Judges a `join` that arrived at this device, the primary.
    package mutating func join(
        _ request: JoinRequest, own: OwnDevice, at circumstances: JoinCircumstances
    ) -> JoinOutcome {
        guard circumstances.peer != own.pin else { return refusal(.ownKey, circumstances) }
        return switch request.method {
        case .token(let identifier, let proof):
            joinByToken(request, identifier, proof, own: own, at: circumstances)
        case .trust: joinByTrust(request, own: own, at: circumstances)
        }
    }

    /// Adds the record of a join that this device made as the secondary. A primary cannot overwrite another's pairing
    /// by choosing its identifier; its own active one goes on, with the new address, name and report key (PAR-16).
    package mutating func joined(_ record: PairingRecord) throws(JoinAnswerError) -> [PairingChange] {
        guard let old = records[record.pairing] else { return put(record) }
        guard old.peer == record.peer, old.role == record.role else { throw .pairingTaken }
        return put(old.state == .active ? old.joinedAgain(as: record) : record)
    }

    /// The pairings that a new one with the same device ends when it becomes active (PAR-16).
    package func replaced(by record: PairingRecord) -> [PairingRecord] {
        pairings.filter { $0.peer == record.peer && $0.role == record.role && $0.pairing != record.pairing }
    }

    private mutating func put(_ record: PairingRecord) -> [PairingChange] {
        guard records.updateValue(record, forKey: record.pairing) != record else { return [] }
        return [.putPairing(record)]
    }

    private mutating func joinByToken(
        _ request: JoinRequest, _ identifier: JoinTokenIdentifier, _ proof: [UInt8], own: OwnDevice,
        at circumstances: JoinCircumstances
    ) -> JoinOutcome {
        let transcript = JoinTranscript(
            exporter: circumstances.exporter, primary: own.pin, secondary: circumstances.peer, token: identifier)
        let known = known(circumstances)
        let (verdict, used) = tokens.attempt(
            identifier, proof: proof, message: transcript.secondaryMessage(request.claim), by: circumstances.peer,
            pairing: known?.pairing ?? circumstances.newPairing, now: circumstances.now)
        switch verdict {
        case .refused(let cause): return refusal(cause, circumstances, used)
        case .repeated(let pairing):
            guard let record = records[pairing], record.peer == circumstances.peer else {
                return refusal(.pairingGone, circumstances)
            }
            // The device's last word on itself counts: it signs its reports with that key (PAR-16).
            let joined = record.joinedAgain(
                as: PairingRecord(
                    pairing: pairing, role: .primary, peer: circumstances.peer, claim: request.claim,
                    created: record.created))
            let answer = answer(joined, own, transcript, secret: tokens[identifier]?.secret)
            return .joined(answer, changes: put(joined), event: .joinRepeated(pairing, peer: circumstances.peer))
        case .accepted:
            let (record, changes, event) = pair(request, known, circumstances)
            let answer = answer(record, own, transcript, secret: tokens[identifier]?.secret)
            return .joined(answer, changes: used + changes, event: event)
        }
    }

    private mutating func joinByTrust(
        _ request: JoinRequest, own: OwnDevice, at circumstances: JoinCircumstances
    ) -> JoinOutcome {
        guard isTrusted(circumstances.peer, as: .secondary) else { return refusal(.untrustedPin, circumstances) }
        let (record, changes, event) = pair(request, known(circumstances), circumstances)
        let answer = JoinAnswer(pairing: record.pairing, epoch: record.epoch, claim: own.claim, proof: nil)
        return .joined(answer, changes: changes, event: event)
    }

    /// The pairing that the joining device has here already: an active one before one that is pending.
    private func known(_ circumstances: JoinCircumstances) -> PairingRecord? {
        let all = pairings.filter {
            $0.peer == circumstances.peer && $0.role == .primary && !$0.hasLapsed(now: circumstances.now)
        }
        return all.first { $0.state == .active } ?? all.last
    }

    /// Pairs this device with the joining one. A device that is known keeps its pairing, and so its queues and
    /// configuration (PAR-16).
    private mutating func pair(
        _ request: JoinRequest, _ known: PairingRecord?, _ circumstances: JoinCircumstances
    ) -> (PairingRecord, changes: [PairingChange], event: PairingEvent) {
        let fresh = PairingRecord(
            pairing: known?.pairing ?? circumstances.newPairing, role: .primary, peer: circumstances.peer,
            claim: request.claim, created: circumstances.now)
        guard let known else { return (fresh, put(fresh), .joined(fresh.pairing, peer: fresh.peer)) }
        let record = known.state == .active ? known.joinedAgain(as: fresh) : fresh
        return (record, put(record), .joinRepeated(record.pairing, peer: record.peer))
    }

    private func answer(
        _ record: PairingRecord, _ own: OwnDevice, _ transcript: JoinTranscript, secret: SecretBytes?
    ) -> JoinAnswer {
        let proof = secret.map {
            HMACSHA256.code(for: transcript.primaryMessage(own.claim, pairing: record.pairing), key: $0)
        }
        return JoinAnswer(pairing: record.pairing, epoch: record.epoch, claim: own.claim, proof: proof)
    }

    private func refusal(
        _ cause: JoinRefusalCause, _ circumstances: JoinCircumstances, _ changes: [PairingChange] = []
    ) -> JoinOutcome {
        .refused(changes: changes, event: .joinRefused(cause, peer: circumstances.peer))
    }
}

/// The `hello` on a pinned link (PAR-10, PAR-14, SES-4): it activates a pending pairing, never lowers the version, and
/// starts a new epoch only for a side without sequences.
extension PairingRegistry {
    /// The other device's hello, and what TLS proved.
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
        package let name: String
        /// Its `received` contradicts this device's queues: one of the two stores was restored (DEL-10).
        package let contradictsQueues: Bool
        package let phase: Phase

        /// Where in the exchange a hello stands.
        package enum Phase: Sendable, Equatable {
            /// The client's, to which this device still answers; whether this device has received and sent nothing in
            /// its epoch.
            case opening(ownHasNoSequences: Bool)
            /// The server's answer to this device's own.
            case answer
        }

        package init(
            pairing: UniqueIdentifier, peer: KeyIdentifier, role: DeviceRole, epoch: UInt64, hasNoSequences: Bool,
            version: ProtocolVersion, device: UniqueIdentifier, name: String, contradictsQueues: Bool = false,
            phase: Phase = .answer
        ) {
            self.pairing = pairing
            self.peer = peer
            self.role = role
            self.epoch = epoch
            self.hasNoSequences = hasNoSequences
            self.version = version
            self.device = device
            self.name = name
            self.contradictsQueues = contradictsQueues
            self.phase = phase
        }
    }

    package enum HelloOutcome: Sendable, Equatable {
        /// Commit the changes before the answer leaves. `superseded` pairings were replaced by this one: cut their
        /// links and remove their queues. `isNewEpoch`: start with empty sequences.
        case accepted(
            PairingRecord, changes: [PairingChange], superseded: [UniqueIdentifier], isNewEpoch: Bool,
            event: PairingEvent?)
        case refused(RefusalName, event: PairingEvent)
        /// The server's answer contradicts this device's queues. Commit the changes, then refuse it with `epoch`: this
        /// device announces the new epoch when it dials again (PAR-14).
        case restored(PairingRecord, changes: [PairingChange], event: PairingEvent)
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
            let own = record.epoch
            // No epoch follows the last one: a store that was restored then needs a new pairing.
            guard hello.epoch == own, own < Limits.lastEpoch else {
                return .refused(.epoch, event: .epochRefused(record.pairing, own: own, peer: hello.epoch))
            }
            let changes = beginEpoch(record.pairing)
            return .restored(records[record.pairing] ?? record, changes: changes, event: .epochBegun(record.pairing))
        }
        // Neither side has announced it: the stores contradict each other.
        let isRestored = epoch > max(hello.epoch, record.epoch)
        let isNewEpoch = hello.epoch != record.epoch || isRestored
        let wasPending = record.state == .pending
        let before = record
        record.state = .active
        record.epoch = epoch
        record.highestVersion = hello.version
        if hello.name.isText(within: JoinLink.maximumNameLength) { record.name = hello.name }
        records[record.pairing] = record
        var changes: [PairingChange] = record == before ? [] : [.putPairing(record)]
        let superseded = wasPending ? supersede(record, &changes) : []
        if wasPending, choices[record.role] == nil { changes += choose(record) }
        return .accepted(
            record, changes: changes, superseded: superseded, isNewEpoch: isNewEpoch,
            event: wasPending
                ? .activated(record.pairing, peer: record.peer) : isRestored ? .epochBegun(record.pairing) : nil)
    }

    /// The epoch in which both sides continue; nil if there is none (PAR-14). The side that answers the client's hello
    /// can choose one: the higher epoch if that side announced no sequences, else the next one above both, if there is
    /// one.
    private static func epoch(after hello: PeerHello, own: UInt64) -> UInt64? {
        if hello.epoch == own, !hello.contradictsQueues { return own }
        let higher = max(hello.epoch, own)
        if hello.epoch > own, hello.hasNoSequences { return higher }
        guard case .opening(let ownHasNoSequences) = hello.phase else { return nil }
        if own > hello.epoch, ownHasNoSequences { return higher }
        return higher < Limits.lastEpoch ? higher + 1 : nil
    }

    /// A device has one pairing in a role: the new one, if its peer did not know the old one. Choice and claims move.
    private mutating func supersede(_ record: PairingRecord, _ changes: inout [PairingChange]) -> [UniqueIdentifier] {
        let older = replaced(by: record)
        for old in older {
            if choices[old.role] == old.pairing { changes += choose(record) }
            // It is the same device: what its apps are called does not change with its pairing.
            changes += claims.copy(from: old.pairing, to: record.pairing).map { .putClaim($0) }
            changes += erase(old)
        }
        return older.map(\.pairing)
    }

    private mutating func choose(_ record: PairingRecord) -> [PairingChange] {
        choices[record.role] = record.pairing
        return [.putChoice(record.role, record.pairing)]
    }
}

/// An operator allows a version that the device has never spoken (SES-4).
package struct VersionNeverSeen: Error, Sendable, Equatable, CustomStringConvertible {
    package let version: ProtocolVersion
    /// nil: none has been seen yet, and so none is refused.
    package let highest: ProtocolVersion?

    package var description: String {
        guard let highest else { return "the device has spoken no version yet, so none is refused" }
        return "version \(version.number) is above \(highest.number), the highest that the device has spoken; "
            + "only versions up to that one can be allowed"
    }
}

/// The end of pairings, and the operator's changes (PAR-10, PAR-13, PAR-15).
extension PairingRegistry {
    /// Removes a pairing at once, and the manual trust in its peer, which would otherwise let the peer join again. The
    /// caller cuts the link with `bye` `unpaired` and deletes the pairing's data.
    package mutating func unpair(_ pairing: UniqueIdentifier) -> [PairingChange] {
        guard let record = records[pairing] else { return [] }
        var changes = erase(record)
        if trusted.remove(record.peer, as: record.role.counterpart) {
            changes.append(.removeTrust(record.peer, as: record.role.counterpart))
        }
        return changes + chooseAfterRemoval(of: record)
    }

    /// Removes expired tokens and those that cannot be opened (PAR-5), and pairings that stayed pending for too long.
    /// The time of one that was joined under another clock begins now (PAR-10).
    package mutating func expire(now: WallTime) -> [PairingChange] {
        var changes = tokens.expire(now: now)
        for record in pairings where record.hasLapsed(now: now) { changes += erase(record) }
        for var record in pairings where record.hasImpossibleAge(now: now) {
            record.created = now
            changes += put(record)
        }
        return changes
    }

    /// Binds the default session of the pairing's role to it; nil if there is no such active pairing.
    package mutating func select(_ pairing: UniqueIdentifier) -> [PairingChange]? {
        guard let record = records[pairing], record.state == .active else { return nil }
        return choices[record.role] == pairing ? [] : choose(record)
    }

    /// Allows a version below the highest one seen; nil if there is no such pairing. A version that was never seen
    /// would refuse the ones that the device does speak.
    package mutating func allowVersion(
        _ version: ProtocolVersion, for pairing: UniqueIdentifier
    ) throws(VersionNeverSeen) -> [PairingChange]? {
        guard var record = records[pairing] else { return nil }
        guard let highest = record.highestVersion, version <= highest else {
            throw VersionNeverSeen(version: version, highest: record.highestVersion)
        }
        record.highestVersion = version
        return put(record)
    }

    /// Changes where this secondary dials its primary; nil if there is no such pairing, or this device is its primary.
    package mutating func setAddress(_ address: String, of pairing: UniqueIdentifier) -> [PairingChange]? {
        guard var record = records[pairing], record.role == .secondary else { return nil }
        record.address = address
        return put(record)
    }

    package mutating func trust(_ device: TrustedDevice) -> [PairingChange] {
        trusted.add(device)
        return [.putTrust(device)]
    }

    /// Trusts a device by its fingerprint no longer; nil if it was not trusted. Its pairing, if there is one, stays.
    package mutating func untrust(_ pin: KeyIdentifier, as role: DeviceRole) -> [PairingChange]? {
        trusted.remove(pin, as: role) ? [.removeTrust(pin, as: role)] : nil
    }

    /// Starts a new epoch: this device's store is older than what the peer has seen.
    package mutating func beginEpoch(_ pairing: UniqueIdentifier) -> [PairingChange] {
        guard var record = records[pairing], record.epoch < Limits.lastEpoch else { return [] }
        record.epoch += 1
        return put(record)
    }

    /// A primary's app declared a custom identifier over the pairing's link; nil: its operator has taken it back.
    package mutating func declared(
        _ identifier: CustomIdentifier?, for app: ApplicationIdentifier, pairing: UniqueIdentifier
    ) -> (changes: [PairingChange], event: PairingEvent?) {
        guard records[pairing]?.role == .secondary else { return ([], nil) }
        switch claims.declared(identifier, for: app, pairing: pairing) {
        case .unchanged: return ([], nil)
        case .changed(let claim): return ([.putClaim(claim)], nil)
        case .offered(let claim): return ([.putClaim(claim)], .identifierChanged(claim))
        case .leftOut: return ([], .identifierLeftOut(pairing, app))
        }
    }

    /// The operator accepts a changed identifier; nil if none waits.
    package mutating func acceptIdentifier(
        of app: ApplicationIdentifier, pairing: UniqueIdentifier
    ) -> (claim: IdentifierClaim, changes: [PairingChange])? {
        claims.accept(app, pairing: pairing).map { ($0, [.putClaim($0)]) }
    }

    private mutating func erase(_ record: PairingRecord) -> [PairingChange] {
        records[record.pairing] = nil
        let apps = claims.remove(pairing: record.pairing)
        let spent = tokens.remove(of: record.pairing)
        return [.removePairing(record.pairing)] + spent + apps.map { .removeClaim(record.pairing, $0) }
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
