// Two devices, a link between them and the steps of a join, so that each test shows only what it changes.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemWire
import Testing

struct JoinFixture {
    let start = WallTime(seconds: 1_800_000_000)
    let exporter = [UInt8](repeating: 0xE1, count: 32)
    let primary: PairingRegistry.OwnDevice
    let secondary: PairingRegistry.OwnDevice
    let stranger: PairingRegistry.OwnDevice
    let link: JoinLink
    var registry = JoinFixture.emptyRegistry

    static var emptyRegistry: PairingRegistry { PairingRegistry(sealedUnder: tokenKey) }
    /// Seals the rows of tokens.
    static let tokenKey = SealingKey.random(SecretBytes(randomCount: SealedBytes.keyCount))

    init() throws {
        primary = try Self.device(1, "gateway")
        secondary = try Self.device(2, "panel")
        stranger = try Self.device(3, "stranger")
        let token = try #require(JoinTokenIdentifier(bytes: [UInt8](repeating: 7, count: 16)))
        let secret = SecretBytes(copying: [UInt8](repeating: 9, count: 16))
        link = try JoinLink(
            address: "gateway.example:4747", token: token, secret: secret, primary: primary.pin,
            expires: start + JoinPolicy.life, name: "gateway")
        _ = registry.issue(link)
    }

    static func device(_ seed: UInt8, _ name: String) throws -> PairingRegistry.OwnDevice {
        let pin = try #require(KeyIdentifier(bytes: [UInt8](repeating: seed, count: 32)))
        return PairingRegistry.OwnDevice(
            pin: pin, claim: JoinClaim(name: name, reportKey: [UInt8](repeating: seed, count: 44)))
    }

    func attempt(
        by device: PairingRegistry.OwnDevice? = nil, exporter: [UInt8]? = nil, link: JoinLink? = nil
    ) -> JoinAttempt {
        JoinAttempt(
            credential: .link(link ?? self.link), own: device ?? secondary, exporter: exporter ?? self.exporter)
    }

    func request(by device: PairingRegistry.OwnDevice? = nil, exporter: [UInt8]? = nil) throws -> JoinRequest {
        try attempt(by: device, exporter: exporter).request(peer: primary.pin)
    }

    func circumstances(
        peer: PairingRegistry.OwnDevice? = nil, exporter: [UInt8]? = nil, after: Duration = .seconds(1)
    ) -> PairingRegistry.JoinCircumstances {
        PairingRegistry.JoinCircumstances(
            peer: (peer ?? secondary).pin, exporter: exporter ?? self.exporter, newPairing: .random(),
            now: start + after)
    }

    mutating func join(
        _ request: JoinRequest, peer: PairingRegistry.OwnDevice? = nil, exporter: [UInt8]? = nil,
        after: Duration = .seconds(1)
    ) -> PairingRegistry.JoinOutcome {
        registry.join(request, own: primary, at: circumstances(peer: peer, exporter: exporter, after: after))
    }

    /// Joins as it should be and returns the answer.
    mutating func joinWell() throws -> JoinAnswer { try join(try request()).joined().answer }

    func hello(
        _ pairing: UniqueIdentifier, from device: PairingRegistry.OwnDevice? = nil, role: DeviceRole = .secondary,
        epoch: UInt64 = 1, hasNoSequences: Bool = true, version: ProtocolVersion = .first,
        contradictsQueues: Bool = false, phase: PairingRegistry.PeerHello.Phase = .answer
    ) throws -> PairingRegistry.PeerHello {
        let device = device ?? secondary
        return PairingRegistry.PeerHello(
            pairing: pairing, peer: device.pin, role: role, epoch: epoch, hasNoSequences: hasNoSequences,
            version: version, device: try #require(device.pin.derivedIdentifier), name: device.claim.name,
            contradictsQueues: contradictsQueues, phase: phase)
    }

    /// Gives a hello to the primary.
    mutating func greet(
        _ hello: PairingRegistry.PeerHello, at now: WallTime? = nil
    ) -> PairingRegistry.HelloOutcome { registry.hello(hello, now: now ?? start) }

    struct NotJoined: Error {}
}

extension PairingRegistry.JoinOutcome {
    /// The answer and the changes of a join that goes well.
    func joined() throws -> (answer: JoinAnswer, changes: [PairingChange]) {
        guard case .joined(let answer, let changes, _) = self else { throw JoinFixture.NotJoined() }
        return (answer, changes)
    }

    /// The cause, if this is the one answer that every refused join gets.
    var cause: JoinRefusalCause? {
        guard case .refused(_, .joinRefused(let cause, _)) = self else { return nil }
        return cause
    }
}

/// A hello that was accepted.
struct AcceptedHello {
    let record: PairingRecord
    let changes: [PairingChange]
    let superseded: [UniqueIdentifier]
    let isNewEpoch: Bool
    let event: PairingEvent?
}

extension PairingRegistry.HelloOutcome {
    func accepted() throws -> AcceptedHello {
        guard case .accepted(let record, let changes, let superseded, let isNewEpoch, let event) = self else {
            throw JoinFixture.NotJoined()
        }
        return AcceptedHello(
            record: record, changes: changes, superseded: superseded, isNewEpoch: isNewEpoch, event: event)
    }

    /// The name of the refusal; nil for any other outcome.
    var refusal: RefusalName? { if case .refused(let name, _) = self { name } else { nil } }
}
