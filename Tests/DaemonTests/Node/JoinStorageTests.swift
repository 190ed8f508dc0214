// Joins at a primary whose disk takes nothing: the joining device learns that it may try again, and nothing else.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemPairing
import TandemReactor
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct JoinStorageTests {
    private let scheduler = ManualScheduler()
    private let store = UnwillingStore()
    private let service: PairingService
    private let own = JoinStorageTests.device("gateway")
    private let panel = JoinStorageTests.device("panel")
    private let link: JoinLink
    private let exporter = [UInt8](repeating: 5, count: 32)

    init() throws {
        var registry = PairingRegistry(sealedUnder: LinkedDevice.tokenKey)
        let token = try #require(JoinTokenIdentifier(bytes: SecureRandom.bytes(16)))
        link = try JoinLink(
            address: TestNetwork.address, token: token, secret: SecretBytes(randomCount: 16), primary: own.pin,
            expires: scheduler.wallNow + .seconds(900))
        _ = registry.issue(link)
        let rows = LoopStore(store, on: scheduler)
        service = PairingService(
            CommittedState(registry, in: rows), own: own, vendor: .random(),
            installed: CommittedState(
                try InstalledApplications(rows: [], leaving: [], path: "disk", role: .primary), in: rows),
            scheduler: scheduler, log: { _ in })
    }

    private static func device(_ name: String) -> PairingRegistry.OwnDevice {
        PairingRegistry.OwnDevice(
            pin: DevicePrivateKey.generate().publicKey.identifier, claim: JoinClaim(name: name, reportKey: [1]))
    }

    private func join(exporter: [UInt8]? = nil) throws -> JoinVerdict {
        let attempt = JoinAttempt(credential: .link(link), own: panel, exporter: exporter ?? self.exporter)
        let request = try attempt.request(peer: own.pin)
        var verdict: JoinVerdict?
        scheduler.start { [service, panel, exporter = self.exporter] in
            verdict = await service.judge(request, peer: panel.pin, exporter: exporter)
        }
        scheduler.run()
        return try #require(verdict)
    }

    @Test("PAR-9: a join that a full disk does not take is refused as 'stopping', and its link is good afterwards")
    func fullDisk() throws {
        store.isFull = true
        #expect(try join() == .refused(.stopping))
        #expect(service.all.isEmpty)
        store.isFull = false
        guard case .joined(let answer) = try join() else { throw Unexpected("the link is good") }
        #expect(service[answer.pairing]?.peer == panel.pin)
    }

    @Test("PAR-8, PAR-9: a wrong proof is 'join-refused' on a full disk, too, as an unknown token is")
    func wrongProof() throws {
        store.isFull = true
        #expect(try join(exporter: [UInt8](repeating: 6, count: 32)) == .refused(.joinRefused))
    }
}
