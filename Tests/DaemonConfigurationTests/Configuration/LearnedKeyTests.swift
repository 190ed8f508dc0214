// A secondary that learns its key late, or again: nothing that its primary knew of before counts (CFG-72), and all keys
// come to it before any configuration.

import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized) struct LearnedKeyTests {
    private let nodes: TwoNodes
    private let holders: KeyHolders
    private let successor = ConfigurationPrivateKey.generate()
    /// The anchor of both daemons and of the app: both signers count.
    private let anchor: [UInt8]
    private let second: [UInt8]

    init() throws {
        nodes = try TwoNodes()
        holders = KeyHolders(of: nodes.app)
        anchor = try holders.set(1, [nodes.signer, successor])
        second = try holders.set(2, [successor])
        try nodes.pair()
        #expect(nodes.trust(anchor, at: nodes.primary).code == 0)
    }

    /// The verdict of the secondary on a key set or a revocation.
    private func verdict(_ statement: [UInt8], wait: Int64 = 20_000) -> String? {
        nodes.results(statement, wait: wait)["the secondary"]?["verdict"]?.stringValue
    }

    private var keySetVersion: UInt64? { nodes.keySetVersion(of: nodes.secondary) }

    @Test("CFG-92, CFG-95: a configuration follows the last step of a chain that starts again once there is a key")
    func aChainThatStartsAgain() throws {
        #expect(verdict(second) == "waiting-for-key")
        let third = try holders.set(3, [successor])
        _ = verdict(third, wait: 100)
        let last = try nodes.envelope(1, with: successor, under: 3)
        _ = nodes.verdict(last, wait: 100)
        let app = try nodes.startApp(from: anchor, [second, third])
        nodes.run(until: { nodes.reported() == "applied" })
        #expect(app.offers.map(\.envelope) == [last] && keySetVersion == 3)
    }

    @Test("CFG-72, CFG-92, CTL-33: a secondary whose key was removed gets all keys again, and no revoked one counts")
    func aRemovedKey() throws {
        let app = try nodes.startApp(from: anchor)
        let taken = try holders.revocation(of: nodes.signer, under: 1)
        #expect(verdict(taken) == "applied" && verdict(second) == "applied")
        app.disconnect()
        #expect(nodes.endTrust().code == 0)
        nodes.run(until: { verdict(second, wait: 0) == "waiting-for-key" })
        _ = try nodes.startApp(from: anchor, [taken, second])
        nodes.run(until: { keySetVersion == 2 && verdict(second, wait: 0) == "applied" })
        #expect(nodes.verdict(try nodes.envelope(1, with: nodes.signer, under: 2), at: nodes.secondary) == "threshold")
    }

    @Test("CFG-72: a secondary whose key was removed while there was no link gets all keys again")
    func aKeyRemovedWithoutALink() throws {
        try nodes.startApp(from: anchor).disconnect()
        #expect(verdict(second) == "applied")
        nodes.stop(.primary)
        #expect(nodes.endTrust().code == 0)
        _ = try nodes.startApp(from: anchor, [second])
        try nodes.start(.primary)
        nodes.run(until: { keySetVersion == 2 })
    }

    @Test("SES-16, CFG-72: a key that is older than the app's first registration is announced, and so is its end")
    func aKeyBeforeTheApp() throws {
        #expect(nodes.trust(anchor, at: nodes.secondary).code == 0)
        try nodes.startApp(from: anchor).disconnect()
        #expect(verdict(second) == "applied")
        #expect(nodes.endTrust().code == 0)
        nodes.run(until: { verdict(second, wait: 0) == "waiting-for-key" })
    }
}
