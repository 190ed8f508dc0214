// The life of pairings after the join (PAR-10, PAR-13 to PAR-16), and their stored form.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemPropertyList
import TandemWire
import Testing

final class RegistryTests {
    private var fixture: JoinFixture

    init() throws { fixture = try JoinFixture() }

    private func activated() throws -> UniqueIdentifier {
        let pairing = try fixture.joinWell().pairing
        _ = fixture.greet(try fixture.hello(pairing))
        return pairing
    }

    @Test("PAR-10: the first hello makes a pending pairing active, and the first active one is chosen")
    func firstHello() throws {
        let pairing = try fixture.joinWell().pairing
        let outcome = try fixture.greet(try fixture.hello(pairing)).accepted()
        #expect(outcome.record.state == .active && outcome.record.highestVersion == .first)
        #expect(outcome.changes == [.putPairing(outcome.record), .putChoice(.primary, pairing)])
        #expect(outcome.superseded.isEmpty && !outcome.isNewEpoch && outcome.event != nil)
        #expect(fixture.registry.active(as: .primary)?.pairing == pairing)
    }

    @Test("PAR-10: a second hello changes nothing")
    func secondHello() throws {
        let pairing = try activated()
        let outcome = try fixture.greet(try fixture.hello(pairing)).accepted()
        #expect(outcome.changes.isEmpty && outcome.event == nil)
    }

    @Test("PAR-10: a pairing pending for 24 h lapses: hello is refused and it is removed")
    func lapse() throws {
        let pairing = try fixture.joinWell().pairing
        let day = fixture.start + .seconds(86_401)
        #expect(fixture.registry.isPinned(fixture.secondary.pin, now: fixture.start + .seconds(86_400)))
        #expect(!fixture.registry.isPinned(fixture.secondary.pin, now: day))
        let hello = try fixture.hello(pairing)
        #expect(fixture.greet(hello, at: day).refusal == .notPaired)
        let changes = fixture.registry.expire(now: day)
        #expect(changes == [.removeToken(fixture.link.token), .removePairing(pairing)])
        #expect(fixture.registry.pairings.isEmpty)
    }

    @Test(
        "PAR-10: a pairing joined before the clock was set, or while it was ahead, does not lapse: it counts anew",
        arguments: [WallTime(seconds: 100), WallTime(seconds: 4_070_908_800)])
    func clockSet(created: WallTime) throws {
        let pending = PairingRecord(
            pairing: .random(), role: .primary, peer: fixture.secondary.pin, claim: fixture.secondary.claim,
            created: created)
        var registry = try PairingRegistry(
            rows: [PairingChange.putPairing(pending).row], sealedUnder: JoinFixture.tokenKey)
        #expect(registry.isPinned(fixture.secondary.pin, now: fixture.start))
        var greeted = registry
        _ = try greeted.hello(try fixture.hello(pending.pairing), now: fixture.start).accepted()
        let changes = registry.expire(now: fixture.start)
        let dated = try #require(registry[pending.pairing])
        #expect(changes == [.putPairing(dated)] && dated.created == fixture.start)
        #expect(registry.expire(now: fixture.start + .seconds(86_399)).isEmpty)
        #expect(registry.expire(now: fixture.start + .seconds(86_400)) == [.removePairing(pending.pairing)])
    }

    @Test("PAR-10: a pairing lapses after 24 h by a clock that was never set, and an active one has no age")
    func clockNeverSet() throws {
        let pending = PairingRecord(
            pairing: .random(), role: .primary, peer: fixture.stranger.pin, claim: fixture.stranger.claim,
            created: WallTime(seconds: 100))
        var registry = try PairingRegistry(
            rows: [PairingChange.putPairing(pending).row], sealedUnder: JoinFixture.tokenKey)
        #expect(registry.expire(now: WallTime(seconds: 86_499)).isEmpty)
        #expect(registry.expire(now: WallTime(seconds: 86_500)) == [.removePairing(pending.pairing)])
        let pairing = try activated()
        let before = fixture.registry[pairing]
        #expect(fixture.registry.expire(now: fixture.start + .seconds(-90)).isEmpty)
        #expect(fixture.registry[pairing] == before)
    }

    @Test("SES-4: hello under another pin, role or device identifier is not-paired")
    func stranger() throws {
        let pairing = try activated()
        let hellos = [
            try fixture.hello(pairing, from: fixture.stranger), try fixture.hello(pairing, role: .primary),
            try fixture.hello(.random()),
        ]
        for hello in hellos { #expect(fixture.greet(hello).refusal == .notPaired, "\(hello)") }
    }

    @Test("SES-4: a version below the highest seen is version-lowered until the operator allows it")
    func versionLowered() throws {
        let pairing = try fixture.joinWell().pairing
        let second = try #require(ProtocolVersion(2))
        _ = fixture.greet(try fixture.hello(pairing, version: second))
        let hello = try fixture.hello(pairing)
        #expect(fixture.greet(hello).refusal == .versionLowered)
        _ = try fixture.registry.allowVersion(.first, for: pairing)
        _ = try fixture.greet(hello).accepted()
    }

    @Test("SES-4: no version is allowed that a device has not spoken, so that it is not locked out")
    func versionNeverSeen() throws {
        let pairing = try fixture.joinWell().pairing
        let ninth = try #require(ProtocolVersion(9))
        let early = #expect(throws: VersionNeverSeen.self) { try fixture.registry.allowVersion(.first, for: pairing) }
        #expect(early?.highest == nil)
        _ = fixture.greet(try fixture.hello(pairing))
        let error = #expect(throws: VersionNeverSeen.self) { try fixture.registry.allowVersion(ninth, for: pairing) }
        #expect(error?.highest == .first && error?.description.contains("is above 1") == true)
        #expect(try fixture.registry.allowVersion(ninth, for: .random()) == nil)
        _ = try fixture.greet(try fixture.hello(pairing)).accepted()
    }

    @Test("PAR-14: another epoch is refused unless it is higher and comes with empty hands")
    func epochs() throws {
        let pairing = try activated()
        let full = fixture.greet(try fixture.hello(pairing, epoch: 2, hasNoSequences: false))
        let next = try fixture.greet(try fixture.hello(pairing, epoch: 2)).accepted()
        let former = fixture.greet(try fixture.hello(pairing, epoch: 1))
        #expect(full.refusal == .epoch && former.refusal == .epoch)
        #expect(next.record.epoch == 2 && next.isNewEpoch)
    }

    @Test("PAR-14, DEL-10: sides that have sequences in two epochs have a restored store, and begin the next epoch")
    func restoredToAnEarlierEpoch() throws {
        let pairing = try activated()
        _ = try fixture.greet(try fixture.hello(pairing, epoch: 2)).accepted()
        let restored = try fixture.hello(
            pairing, epoch: 1, hasNoSequences: false, phase: .opening(ownHasNoSequences: false))
        let next = try fixture.greet(restored).accepted()
        #expect(next.record.epoch == 3 && next.isNewEpoch && next.event == .epochBegun(pairing))
        let late = try fixture.hello(pairing, epoch: 1, phase: .opening(ownHasNoSequences: true))
        let announced = try fixture.greet(late).accepted()
        #expect(announced.record.epoch == 3 && announced.isNewEpoch && announced.event == nil)
    }

    @Test("PAR-14, LIM-133: the last epoch of a pairing goes on, and no store can be restored in it")
    func lastEpoch() throws {
        let pairing = try activated()
        let last = Limits.lastEpoch
        let first = try fixture.greet(try fixture.hello(pairing, epoch: last)).accepted()
        let second = try fixture.greet(try fixture.hello(pairing, epoch: last, hasNoSequences: false)).accepted()
        let record = first.record
        #expect(record.epoch == last && first.isNewEpoch && second.changes.isEmpty && !second.isNewEpoch)
        #expect(try PairingRecord(row: record.row) == record)
        for phase in [.opening(ownHasNoSequences: true), .answer] as [PairingRegistry.PeerHello.Phase] {
            let hello = try fixture.hello(
                pairing, epoch: last, hasNoSequences: false, contradictsQueues: true, phase: phase)
            guard case .refused(.epoch, .epochRefused) = fixture.greet(hello) else {
                throw JoinFixture.NotJoined()
            }
        }
        #expect(fixture.registry.beginEpoch(pairing).isEmpty)
        #expect(fixture.registry[pairing] == record)
    }

    @Test("PAR-9, LIM-133: an answer or a record with an epoch out of range does not read")
    func epochsOutOfRange() throws {
        let answer = try fixture.joinWell()
        let record = try #require(fixture.registry[answer.pairing])
        for epoch in [0, 4_294_967_296, Int64.max] {
            var (body, row) = (answer.body, record.row)
            body["epoch"] = .integer(epoch)
            row["epoch"] = .integer(epoch)
            #expect(throws: WireError.self) { try JoinAnswer(body: body) }
            #expect(throws: WireError.self) { try PairingRecord(row: row) }
        }
    }

    @Test("PAR-13: unpairing removes record, choice, manual trust, claims, and the link that the pairing was made by")
    func unpair() throws {
        _ = fixture.registry.trust(TrustedDevice(pin: fixture.secondary.pin, role: .secondary))
        let pairing = try activated()
        let other = try JoinLink(
            to: fixture.primary, at: "gateway.example:4747",
            token: try #require(JoinTokenIdentifier(bytes: [UInt8](repeating: 8, count: 16))),
            secret: SecretBytes(randomCount: 16), life: JoinPolicy.life, now: fixture.start)
        _ = fixture.registry.issue(other)
        let changes = fixture.registry.unpair(pairing)
        #expect(
            changes == [
                .removePairing(pairing), .removeToken(fixture.link.token),
                .removeTrust(fixture.secondary.pin, as: .secondary), .removeChoice(.primary),
            ])
        #expect(fixture.registry.tokens.current(now: fixture.start).map(\.identifier) == [other.token])
        #expect(!fixture.registry.isPinned(fixture.secondary.pin, now: fixture.start))
        #expect(fixture.registry.unpair(pairing) == [])
    }

    @Test("PAR-16: a device that joins again keeps its pairing, by trust as by link, with its new name and report key")
    func again() throws {
        let old = try activated()
        _ = fixture.registry.trust(TrustedDevice(pin: fixture.secondary.pin, role: .secondary))
        let claim = JoinClaim(name: "panel 2", reportKey: [UInt8](repeating: 8, count: 44))
        let trust = JoinRequest(method: .trust, claim: claim, versions: ProtocolVersion.supported)
        guard case .joined(let answer, let changes, .joinRepeated) = fixture.join(trust) else {
            throw JoinFixture.NotJoined()
        }
        let record = try #require(fixture.registry[old])
        #expect(answer.pairing == old && changes == [.putPairing(record)])
        #expect(record.state == .active && record.name == "panel 2" && record.reportKey == claim.reportKey)
        let greeted = try fixture.greet(try fixture.hello(old)).accepted()
        #expect(greeted.superseded.isEmpty && !greeted.isNewEpoch && greeted.event == nil)
        #expect(fixture.registry.pairings.count == 1 && fixture.registry.active(as: .primary)?.pairing == old)
    }

    @Test("PAR-16: a secondary goes on with its pairing; a new one of the same primary takes its place and its claims")
    func secondaryAgain() throws {
        let first = try fixture.attempt().accept(try fixture.joinWell(), now: fixture.start)
        var secondary = JoinFixture.emptyRegistry
        _ = try secondary.joined(first)
        let hello = { [self] (pairing: UniqueIdentifier) in
            try fixture.hello(pairing, from: fixture.primary, role: .primary)
        }
        _ = secondary.hello(try hello(first.pairing), now: fixture.start)
        let app = try ApplicationIdentifier("org.example.app")
        _ = secondary.declared(try CustomIdentifier("the-kitchen"), for: app, pairing: first.pairing)
        let moved = PairingRecord(
            pairing: first.pairing, role: .secondary, peer: first.peer, claim: fixture.primary.claim,
            created: fixture.start + .seconds(9), address: "moved:1")
        let target = PairedTargets(secondary, vendor: .zero, ownClaim: { _ in nil }).target(
            of: app, through: first.pairing)
        _ = try secondary.joined(moved)
        #expect(secondary[first.pairing]?.state == .active && secondary[first.pairing]?.address == "moved:1")
        #expect(
            PairedTargets(secondary, vendor: .zero, ownClaim: { _ in nil }).target(of: app, through: first.pairing)
                == target)
        let other = PairingRecord(
            pairing: .random(), role: .secondary, peer: first.peer, claim: fixture.primary.claim, created: fixture.start
        )
        #expect(secondary.replaced(by: other).map(\.pairing) == [first.pairing])
        _ = try secondary.joined(other)
        let outcome = try secondary.hello(try hello(other.pairing), now: fixture.start).accepted()
        #expect(outcome.superseded == [first.pairing])
        #expect(outcome.changes.contains(.putChoice(.secondary, other.pairing)))
        #expect(
            PairedTargets(secondary, vendor: .zero, ownClaim: { _ in nil }).target(of: app, through: other.pairing)
                == target)
    }

    @Test("PAR-14, DEL-36: a hello that contradicts the queues begins an epoch before the answer; an answer is refused")
    func restoredStore() throws {
        let pairing = try activated()
        func hello(_ phase: PairingRegistry.PeerHello.Phase) throws -> PairingRegistry.PeerHello {
            try fixture.hello(
                pairing, epoch: try #require(fixture.registry[pairing]).epoch, hasNoSequences: false,
                contradictsQueues: true, phase: phase)
        }
        guard
            case .accepted(let record, let changes, _, true, .epochBegun(pairing)) = fixture.greet(
                try hello(.opening(ownHasNoSequences: false))),
            case .restored(let next, let rows, .epochBegun(pairing)) = fixture.greet(try hello(.answer))
        else { throw JoinFixture.NotJoined() }
        #expect(record.epoch == 2 && changes == [.putPairing(record)])
        #expect(next.epoch == 3 && rows == [.putPairing(next)] && fixture.registry[pairing] == next)
    }

    @Test("PAR-19: the address of a primary is the secondary's to change")
    func address() throws {
        let answer = try fixture.joinWell()
        let pairing = answer.pairing
        #expect(fixture.registry.setAddress("a:1", of: pairing) == nil)
        var secondary = JoinFixture.emptyRegistry
        _ = try secondary.joined(try fixture.attempt().accept(answer, now: fixture.start))
        #expect(secondary.setAddress("moved:1", of: pairing)?.count == 1)
        #expect(secondary[pairing]?.address == "moved:1" && secondary.setAddress("moved:1", of: pairing) == [])
        #expect(secondary.setAddress("moved:1", of: .random()) == nil)
    }

    @Test("PAR-15: the operator chooses among active pairings only")
    func choose() throws {
        let pairing = try fixture.joinWell().pairing
        #expect(fixture.registry.select(pairing) == nil)
        _ = fixture.greet(try fixture.hello(pairing))
        #expect(fixture.registry.select(pairing) == [])
        #expect(fixture.registry.select(.random()) == nil)
    }

    /// Makes an active pairing with one more secondary, by manual trust.
    private func joined(_ seed: UInt8) throws -> UniqueIdentifier {
        let device = try JoinFixture.device(seed, "panel \(seed)")
        _ = fixture.registry.trust(TrustedDevice(pin: device.pin, role: .secondary))
        let request = JoinRequest(method: .trust, claim: device.claim, versions: ProtocolVersion.supported)
        let pairing = try fixture.join(request, peer: device, after: .seconds(Int64(seed))).joined().answer.pairing
        let hello = try fixture.hello(pairing, from: device)
        _ = try fixture.greet(hello, at: fixture.start + .seconds(Int64(seed))).accepted()
        return pairing
    }

    @Test("PAR-15: without the chosen one the only other takes its place; of several none does, until one is chosen")
    func chosenOneRemoved() throws {
        let pairings = try [11, 12, 13].map { try joined($0) }
        #expect(fixture.registry.active(as: .primary)?.pairing == pairings[0])
        #expect(fixture.registry.select(pairings[2]) == [.putChoice(.primary, pairings[2])])
        #expect(fixture.registry.unpair(pairings[2]).last == .removeChoice(.primary))
        #expect(fixture.registry.active(as: .primary) == nil)
        // A device that comes back is not chosen by that.
        let back = try JoinFixture.device(12, "panel 12")
        _ = fixture.greet(try fixture.hello(pairings[1], from: back), at: fixture.start + .seconds(20))
        #expect(fixture.registry.active(as: .primary) == nil)
        _ = fixture.registry.select(pairings[1])
        #expect(fixture.registry.unpair(pairings[1]).last == .putChoice(.primary, pairings[0]))
        #expect(fixture.registry.unpair(pairings[0]).last == .removeChoice(.primary))
    }

    @Test("PAR-3, PAR-9: what is committed is read back as the same registry")
    func restore() throws {
        var rows: [[UInt8]: PropertyListDictionary] = [:]
        func commit(_ changes: [PairingChange]) { for change in changes { rows[change.row.key] = change.row.value } }
        commit(fixture.registry.issue(fixture.link))
        let (answer, joining) = try fixture.join(try fixture.request()).joined()
        commit(joining)
        commit(try fixture.greet(try fixture.hello(answer.pairing)).accepted().changes)
        commit(fixture.registry.trust(TrustedDevice(pin: fixture.stranger.pin, role: .primary, address: "a:1")))
        func restored() throws -> PairingRegistry {
            try PairingRegistry(
                rows: rows.map { PairingRow(key: $0.key, value: $0.value) }, sealedUnder: JoinFixture.tokenKey)
        }
        #expect(try restored() == fixture.registry)
        commit(fixture.registry.unpair(answer.pairing))
        commit(fixture.registry.expire(now: fixture.start + .seconds(9_000)))
        #expect(try restored() == fixture.registry)
    }

    private static var randomKey: SealingKey { .random(SecretBytes(randomCount: SealedBytes.keyCount)) }

    @Test("PAR-5: the secret of a link is sealed in its row, and a row of another device's key opens no link")
    func sealedSecrets() throws {
        let (key, other) = (Self.randomKey, Self.randomKey)
        var registry = PairingRegistry(sealedUnder: key)
        let (link, secret) = (fixture.link, fixture.link.secret.exposed)
        var rows = registry.issue(link).map(\.row)
        #expect(rows.count == 1)
        let bytes = try PropertyListWriter.write(try #require(rows[0].value))
        #expect(bytes.firstRange(of: secret) == nil)
        #expect(try PairingRegistry(rows: rows, sealedUnder: key) == registry)
        #expect(try PairingRegistry(rows: rows, sealedUnder: other).tokens[link.token] == nil)
        // One token's secret is none of another's.
        var row = try #require(rows[0].value)
        row["token"] = .data([UInt8](repeating: 99, count: 16))
        let exchanged = [PairingRow(key: rows[0].key, value: row)]
        #expect(try PairingRegistry(rows: exchanged, sealedUnder: key).tokens[link.token] == nil)
        // A row of an earlier release: it is sealed when it is written again.
        row = try #require(rows[0].value)
        (row["sealed"], row["secret"]) = (nil, .data(secret))
        var read = try PairingRegistry(rows: [PairingRow(key: rows[0].key, value: row)], sealedUnder: key)
        #expect(read.tokens[link.token]?.secret == link.secret)
        rows = read.tokens[link.token].map { [PairingChange.putToken($0).row] } ?? []
        read = try PairingRegistry(rows: rows, sealedUnder: key)
        #expect(read.tokens[link.token]?.secret == link.secret && rows[0].value?["secret"] == nil)
    }

    @Test("PAR-5: a token that cannot be opened ends as an expired one: its row is removed at the first expiry")
    func unopenedToken() throws {
        let rows = [PairingChange.putToken(try #require(fixture.registry.tokens[fixture.link.token])).row]
        var read = try PairingRegistry(rows: rows, sealedUnder: Self.randomKey)
        #expect(read.expire(now: fixture.start) == [.removeToken(fixture.link.token)])
        #expect(read.expire(now: fixture.start) == [] && read.tokens == TokenLedger(sealedUnder: JoinFixture.tokenKey))
        #expect(throws: WireError.self) {
            try PairingRegistry(
                rows: rows.map { PairingRow(key: Array($0.key.prefix(9)), value: $0.value) },
                sealedUnder: JoinFixture.tokenKey)
        }
    }

    @Test("PAR-3: a stored row with a missing, wrong or unknown key is an error, never an empty registry")
    func badRows() throws {
        let pairing = try fixture.joinWell().pairing
        let record = try #require(fixture.registry[pairing])
        let row = PairingChange.putPairing(record).row
        func read(_ key: [UInt8], _ value: PropertyListDictionary) throws {
            _ = try PairingRegistry(rows: [PairingRow(key: key, value: value)], sealedUnder: JoinFixture.tokenKey)
        }
        for (key, value) in [("peer", nil), ("peer", .data([1])), ("later", "x")] as [(String, PropertyListValue?)] {
            var damaged = record.row
            damaged[key] = value
            #expect(throws: WireError.self) { try read(row.key, damaged) }
        }
        #expect(throws: WireError.self) { try read([99], record.row) }
        #expect(throws: WireError.self) { try read([], record.row) }
    }

    @Test("PAR-22: manual trust in a device can be taken back, and its pairing stays")
    func untrust() throws {
        let pairing = try fixture.joinWell().pairing
        let pin = try #require(fixture.registry[pairing]).peer
        #expect(fixture.registry.untrust(pin, as: .secondary) == nil)
        _ = fixture.registry.trust(TrustedDevice(pin: pin, role: .secondary))
        #expect(fixture.registry.isTrusted(pin, as: .secondary))
        #expect(fixture.registry.untrust(pin, as: .primary) == nil)
        #expect(fixture.registry.untrust(pin, as: .secondary) == [.removeTrust(pin, as: .secondary)])
        #expect(!fixture.registry.isTrusted(pin, as: .secondary) && fixture.registry[pairing] != nil)
    }
}
