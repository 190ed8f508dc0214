// Chains of whole daemons: key sets and revocations reach a device two hops away before any configuration, what is
// taken back above is taken back in the middle, and what was lost there is brought again.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized) struct ChainKeyTests {
    /// The primary, the secondary that carries, and `other` below it.
    private let nodes: TwoNodes
    private let target: PairedIdentifier
    private let holders: KeyHolders
    private let successor = ConfigurationPrivateKey.generate()

    init() throws {
        nodes = try TwoNodes()
        holders = KeyHolders(of: nodes.app)
        nodes.carriers = [.secondary]
        try nodes.restart(.secondary)
        try nodes.pair()
        try nodes.startOther(as: .secondary)
        try nodes.pair(nodes.secondary, nodes.other)
        target = .vendor(try nodes.device(of: nodes.secondary))
    }

    private func set(_ version: UInt64, _ signers: ConfigurationPrivateKey...) throws -> [UInt8] {
        try holders.set(version, signers)
    }

    private func anchor() throws -> [UInt8] { try set(1, nodes.signer, successor) }

    private func trust(at node: Node) throws { #expect(nodes.trust(try anchor(), at: node).code == 0) }

    /// An app at the far device that follows the chain from the anchor by these statements.
    private func startApp(_ statements: [UInt8]...) throws -> Client {
        try nodes.startApp(at: .other, from: try anchor(), statements)
    }

    private func waitForFar() { nodes.run(until: { (try? nodes.rows("far", of: nodes.primary))?.count == 1 }) }

    /// Until all that is for the far device waits in the middle.
    private func waitUntilCarried() {
        nodes.run(until: { (try? nodes.rows("queues", of: nodes.primary))?.isEmpty == true })
    }

    private func envelope(_ version: UInt64, by signer: ConfigurationPrivateKey? = nil, under keySet: UInt64 = 1) throws
        -> [UInt8]
    {
        try nodes.envelope(version, with: signer, under: keySet) { $0.target = target }
    }

    private func verdicts(_ statement: [UInt8], wait: Int64 = 20_000) -> [String?] {
        let results = nodes.results(statement, wait: wait)
        return ["the primary", "the secondary", "the other"].map { results[$0]?["verdict"]?.stringValue }
    }

    /// The version of the key set in force at the far device, and how many keys are revoked.
    private func keys() -> [UInt64?] {
        let row = nodes.trusted(by: nodes.other)
        return [row?["version"]?.unsignedValue, row?["revoked"]?.unsignedValue]
    }

    @Test("CFG-92, CTL-26: a rotation reaches the far device, and nobody waits for the carrier without the app")
    func rotation() throws {
        try trust(at: nodes.primary)
        let second = try set(2, nodes.signer, successor)
        let app = try startApp(second)
        waitForFar()
        #expect(verdicts(second, wait: 5_000) == ["applied", nil, "applied"])
        #expect(nodes.results(second, wait: 0).keys.sorted() == ["the other", "the primary"], "no row, so no failure")
        #expect(keys() == [2, 0])
        #expect(nodes.results(try envelope(1, under: 2))["the other"]?["verdict"] == "applied")
        #expect(app.offers.count == 1)
        // Another anchor in the middle follows nothing of it, and is in nobody's way.
        let other = try KeyHolders(of: nodes.app).set(1, [successor])
        #expect(nodes.trust(other, at: nodes.secondary).code == 0)
        let forSuccessor = try set(3, successor)
        let results = verdicts(forSuccessor, wait: 5_000)
        #expect(results == ["applied", nil, "applied"])
        #expect(keys() == [3, 0])
    }

    @Test("CFG-92, CFG-103: rotations and a revocation arrive at a far device that was away before the configuration")
    func whileAway() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        waitForFar()
        nodes.stop(.other)
        let (second, third) = (try set(2, nodes.signer, successor), try set(3, nodes.signer, successor))
        let taken = try holders.revocation(of: nodes.signer, under: 3)
        for statement in [second, third, taken] { #expect(verdicts(statement, wait: 100).last == .some(nil)) }
        let last = try envelope(1, by: successor, under: 3)
        #expect(nodes.results(last, wait: 100)["the other"]?["verdict"] == nil)
        waitUntilCarried()
        try nodes.restart(.secondary)
        try nodes.restart(.primary)
        try nodes.start(.other)
        let app = try startApp(second, third, taken)
        nodes.waitFor("applied", at: "the other")
        #expect(keys() == [3, 1])
        #expect(app.offers.map(\.envelope) == [last])
    }

    @Test("CFG-92: keys that the middle follows for its own app go on to its secondaries without a new link")
    func followedInTheMiddle() throws {
        for node in [nodes.secondary, nodes.other] { try trust(at: node) }
        _ = try nodes.connect(to: .secondary, .init(anchor: KeySetText.text(of: try anchor())))
        _ = try startApp()
        let next = try set(2, successor)
        #expect(nodes.ask(nodes.secondary, "apply", nodes.application(of: next)).code == 0)
        nodes.run(until: { keys() == [2, 0] })
    }

    @Test("CFG-92, CFG-103: a revocation takes out of the middle's queues what the revoked key signed")
    func revokedInTheMiddle() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        waitForFar()
        nodes.stop(.other)
        #expect(nodes.results(try envelope(1), wait: 100)["the other"]?["verdict"] == nil)
        waitUntilCarried()
        let taken = try holders.revocation(of: nodes.signer, under: 1)
        #expect(verdicts(taken, wait: 100).last == .some(nil))
        waitUntilCarried()
        try nodes.start(.other)
        let app = try startApp(taken)
        nodes.run(until: { keys() == [1, 1] })
        let next = try envelope(2, by: successor, under: 1)
        #expect(nodes.results(next)["the other"]?["verdict"] == "applied")
        #expect(app.offers.map(\.envelope) == [next])
    }

    @Test("CFG-77, CFG-103: what the operator withdraws does not come out of the middle any more") func withdrawn()
        throws
    {
        try startApp().disconnect()
        waitForFar()
        nodes.stop(.other)
        #expect(nodes.results(try envelope(1), wait: 100)["the other"]?["verdict"] == nil)
        waitUntilCarried()
        #expect(nodes.ask(nodes.primary, "configuration-withdraw", nodes.body()).code == 0)
        waitUntilCarried()
        try nodes.start(.other)
        let app = try startApp()
        let next = try envelope(2, under: 1)
        #expect(nodes.results(next)["the other"]?["verdict"] == "applied")
        #expect(app.offers.map(\.envelope) == [next])
    }

    @Test("CFG-103: links that come and go do not fill the middle's queues with the chain")
    func comingAndGoing() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        waitForFar()
        nodes.stop(.other)
        let (second, third) = (try set(2, nodes.signer, successor), try set(3, nodes.signer, successor))
        for statement in [second, third] { #expect(verdicts(statement, wait: 100).last == .some(nil)) }
        let last = try envelope(1, under: 3)
        #expect(nodes.results(last, wait: 100)["the other"]?["verdict"] == nil)
        for _ in 0..<4 {
            try nodes.restart(.primary)
            waitForFar()
            waitUntilCarried()
        }
        let queues = try nodes.rows("queues", of: nodes.secondary)
        #expect(queues.compactMap { $0["waiting"]?.integerValue }.max() == 3, "\(queues)")
        try nodes.start(.other)
        let app = try startApp(second, third)
        nodes.waitFor("applied", at: "the other")
        #expect(app.offers.map(\.envelope) == [last])
    }
}
