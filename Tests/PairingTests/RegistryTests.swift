// The life of pairings after the join (PAR-10, PAR-13 to PAR-16), and their stored form.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemPropertyList
import TandemWire
import Testing

struct RegistryTests {
    private func activated(_ fixture: inout JoinFixture) throws -> UniqueIdentifier {
        let pairing = try fixture.joinWell().pairing
        _ = fixture.registry.hello(try fixture.hello(pairing), now: fixture.start)
        return pairing
    }

    @Test("PAR-10: the first hello makes a pending pairing active, and the first active one is chosen")
    func firstHello() throws {
        var fixture = try JoinFixture()
        let pairing = try fixture.joinWell().pairing
        guard
            case .accepted(let record, let changes, let superseded, false, .some) = fixture.registry.hello(
                try fixture.hello(pairing), now: fixture.start)
        else { throw JoinFixture.NotJoined() }
        #expect(record.state == .active && record.highestVersion == .first)
        #expect(changes == [.putPairing(record), .putChoice(.primary, pairing)])
        #expect(superseded.isEmpty && fixture.registry.active(as: .primary)?.pairing == pairing)
    }

    @Test("PAR-10: a second hello changes nothing")
    func secondHello() throws {
        var fixture = try JoinFixture()
        let pairing = try activated(&fixture)
        guard
            case .accepted(_, let changes, _, _, nil) = fixture.registry.hello(
                try fixture.hello(pairing), now: fixture.start)
        else { throw JoinFixture.NotJoined() }
        #expect(changes.isEmpty)
    }

    @Test("PAR-10: a pairing pending for 24 h lapses: hello is refused and it is removed")
    func lapse() throws {
        var fixture = try JoinFixture()
        let pairing = try fixture.joinWell().pairing
        let day = fixture.start + .seconds(86_401)
        #expect(fixture.registry.isPinned(fixture.secondary.pin, now: fixture.start + .seconds(86_400)))
        #expect(!fixture.registry.isPinned(fixture.secondary.pin, now: day))
        guard case .refused(.notPaired, _) = fixture.registry.hello(try fixture.hello(pairing), now: day) else {
            throw JoinFixture.NotJoined()
        }
        let changes = fixture.registry.expire(now: day)
        #expect(changes == [.removeToken(fixture.link.token), .removePairing(pairing)])
        #expect(fixture.registry.pairings.isEmpty)
    }

    @Test("SES-4: hello under another pin, role or device identifier is not-paired")
    func stranger() throws {
        var fixture = try JoinFixture()
        let pairing = try activated(&fixture)
        let hellos = [
            try fixture.hello(pairing, from: fixture.stranger), try fixture.hello(pairing, role: .primary),
            try fixture.hello(.random()),
        ]
        for hello in hellos {
            guard case .refused(.notPaired, _) = fixture.registry.hello(hello, now: fixture.start) else {
                Issue.record("accepted \(hello)")
                continue
            }
        }
    }

    @Test("SES-4: a version below the highest seen is version-lowered until the operator allows it")
    func versionLowered() throws {
        var fixture = try JoinFixture()
        let pairing = try fixture.joinWell().pairing
        let second = try #require(ProtocolVersion(2))
        _ = fixture.registry.hello(try fixture.hello(pairing, version: second), now: fixture.start)
        guard case .refused(.versionLowered, _) = fixture.registry.hello(try fixture.hello(pairing), now: fixture.start)
        else { throw JoinFixture.NotJoined() }
        _ = fixture.registry.allowVersion(.first, for: pairing)
        guard case .accepted = fixture.registry.hello(try fixture.hello(pairing), now: fixture.start) else {
            throw JoinFixture.NotJoined()
        }
    }

    @Test("PAR-14: another epoch is refused unless it is higher and comes with empty hands")
    func epochs() throws {
        var fixture = try JoinFixture()
        let pairing = try activated(&fixture)
        guard
            case .refused(.epoch, _) = fixture.registry.hello(
                try fixture.hello(pairing, epoch: 2, hasNoSequences: false), now: fixture.start),
            case .accepted(let record, _, _, true, _) = fixture.registry.hello(
                try fixture.hello(pairing, epoch: 2), now: fixture.start),
            case .refused(.epoch, _) = fixture.registry.hello(
                try fixture.hello(pairing, epoch: 1), now: fixture.start)
        else { throw JoinFixture.NotJoined() }
        #expect(record.epoch == 2)
    }

    @Test("PAR-13: unpairing removes record, choice, manual trust and claims")
    func unpair() throws {
        var fixture = try JoinFixture()
        _ = fixture.registry.trust(TrustedDevice(pin: fixture.secondary.pin, role: .secondary))
        let pairing = try activated(&fixture)
        let changes = fixture.registry.unpair(pairing)
        #expect(
            changes == [
                .removePairing(pairing), .removeTrust(fixture.secondary.pin, as: .secondary), .removeChoice(.primary),
            ])
        #expect(!fixture.registry.isPinned(fixture.secondary.pin, now: fixture.start))
        #expect(fixture.registry.unpair(pairing) == [])
    }

    @Test("PAR-16: a device that joins again replaces its older pairing at the first hello, and keeps its choice")
    func again() throws {
        var fixture = try JoinFixture()
        let old = try activated(&fixture)
        _ = fixture.registry.trust(TrustedDevice(pin: fixture.secondary.pin, role: .secondary))
        let trust = JoinRequest(
            method: .trust, claim: fixture.secondary.claim, versions: ProtocolVersion.supported)
        guard case .joined(let answer, _, _) = fixture.join(trust) else { throw JoinFixture.NotJoined() }
        #expect(fixture.registry.pairings.count == 2)
        guard
            case .accepted(_, let changes, [old], _, _) = fixture.registry.hello(
                try fixture.hello(answer.pairing), now: fixture.start)
        else { throw JoinFixture.NotJoined() }
        #expect(changes.contains(.putChoice(.primary, answer.pairing)) && changes.contains(.removePairing(old)))
        #expect(fixture.registry.active(as: .primary)?.pairing == answer.pairing)
    }

    @Test("PAR-15: the operator chooses among active pairings only")
    func choose() throws {
        var fixture = try JoinFixture()
        let pairing = try fixture.joinWell().pairing
        #expect(fixture.registry.select(pairing) == nil)
        _ = fixture.registry.hello(try fixture.hello(pairing), now: fixture.start)
        #expect(fixture.registry.select(pairing) == [])
        #expect(fixture.registry.select(.random()) == nil)
    }

    /// Makes an active pairing with one more secondary, by manual trust.
    private func joined(_ seed: UInt8, _ fixture: inout JoinFixture) throws -> UniqueIdentifier {
        let device = try JoinFixture.device(seed, "panel \(seed)")
        _ = fixture.registry.trust(TrustedDevice(pin: device.pin, role: .secondary))
        let request = JoinRequest(method: .trust, claim: device.claim, versions: ProtocolVersion.supported)
        guard
            case .joined(let answer, _, _) = fixture.join(request, peer: device, after: .seconds(Int64(seed))),
            case .accepted = fixture.registry.hello(
                try fixture.hello(answer.pairing, from: device), now: fixture.start + .seconds(Int64(seed)))
        else { throw JoinFixture.NotJoined() }
        return answer.pairing
    }

    @Test("PAR-15: without the chosen one the only other takes its place; of several none does, until one is chosen")
    func chosenOneRemoved() throws {
        var fixture = try JoinFixture()
        let pairings = try [11, 12, 13].map { try joined($0, &fixture) }
        #expect(fixture.registry.active(as: .primary)?.pairing == pairings[0])
        #expect(fixture.registry.select(pairings[2]) == [.putChoice(.primary, pairings[2])])
        #expect(fixture.registry.unpair(pairings[2]).last == .removeChoice(.primary))
        #expect(fixture.registry.active(as: .primary) == nil)
        // A device that comes back is not chosen by that.
        let back = try JoinFixture.device(12, "panel 12")
        _ = fixture.registry.hello(try fixture.hello(pairings[1], from: back), now: fixture.start + .seconds(20))
        #expect(fixture.registry.active(as: .primary) == nil)
        _ = fixture.registry.select(pairings[1])
        #expect(fixture.registry.unpair(pairings[1]).last == .putChoice(.primary, pairings[0]))
        #expect(fixture.registry.unpair(pairings[0]).last == .removeChoice(.primary))
    }

    @Test("PAR-3, PAR-9: what is committed is read back as the same registry")
    func restore() throws {
        var fixture = try JoinFixture()
        var rows: [[UInt8]: PropertyListDictionary] = [:]
        func commit(_ changes: [PairingChange]) { for change in changes { rows[change.row.key] = change.row.value } }
        commit(fixture.registry.issue(fixture.link.token, secret: fixture.link.secret, expires: fixture.link.expires))
        guard case .joined(let answer, let joining, _) = fixture.join(try fixture.request()) else {
            throw JoinFixture.NotJoined()
        }
        commit(joining)
        guard
            case .accepted(_, let active, _, _, _) = fixture.registry.hello(
                try fixture.hello(answer.pairing), now: fixture.start)
        else { throw JoinFixture.NotJoined() }
        commit(active)
        commit(fixture.registry.trust(TrustedDevice(pin: fixture.stranger.pin, role: .primary, address: "a:1")))
        let restored = try PairingRegistry(rows: rows.map { PairingRow(key: $0.key, value: $0.value) })
        #expect(restored == fixture.registry)
        commit(fixture.registry.unpair(answer.pairing))
        commit(fixture.registry.expire(now: fixture.start + .seconds(9_000)))
        #expect(try PairingRegistry(rows: rows.map { PairingRow(key: $0.key, value: $0.value) }) == fixture.registry)
    }

    @Test("PAR-3: a stored row with a missing, wrong or unknown key is an error, never an empty registry")
    func badRows() throws {
        var fixture = try JoinFixture()
        let pairing = try fixture.joinWell().pairing
        let record = try #require(fixture.registry[pairing])
        let row = PairingChange.putPairing(record).row
        for (key, value) in [("peer", nil), ("peer", .data([1])), ("later", "x")] as [(String, PropertyListValue?)] {
            var damaged = record.row
            damaged[key] = value
            #expect(throws: WireError.self) { try PairingRegistry(rows: [PairingRow(key: row.key, value: damaged)]) }
        }
        #expect(throws: WireError.self) { try PairingRegistry(rows: [PairingRow(key: [99], value: record.row)]) }
        #expect(throws: WireError.self) { try PairingRegistry(rows: [PairingRow(key: [], value: record.row)]) }
    }
}
