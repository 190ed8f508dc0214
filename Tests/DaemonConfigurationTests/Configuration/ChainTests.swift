// Chains of whole daemons: a secondary that has secondaries of its own passes configurations down and reports up, and
// never makes one its own.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized) struct ChainTests {
    /// The primary, the secondary that carries, and `other` below it.
    private let nodes: TwoNodes
    private let target: PairedIdentifier

    init() throws {
        nodes = try TwoNodes()
        nodes.carriers = [.secondary, .other]
        try nodes.restart(.secondary)
        try nodes.pair()
        try nodes.startOther(as: .secondary)
        try nodes.pair(nodes.secondary, nodes.other)
        target = .vendor(try nodes.device(of: nodes.secondary))
    }

    private func envelope(
        _ version: UInt64, with key: ConfigurationPrivateKey? = nil,
        _ change: (inout ConfigurationPayload) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        try nodes.envelope(version, with: key) { payload in
            payload.target = target
            try change(&payload)
        }
    }

    /// The far secondaries that the primary knows.
    private func far(gone: Bool = false) -> [PropertyListDictionary] {
        ((try? nodes.rows("far", of: nodes.primary)) ?? []).filter { ($0["gone"] != nil) == gone }
    }

    private func waitForFar(_ count: Int = 1) { nodes.run(until: { far().count == count }) }

    @Test func `CFG-100, CFG-103, CFG-104, CTL-36: the exact bytes go down two hops, and the report is verified above`()
        throws
    {
        let between = try nodes.startApp()
        let app = try nodes.startApp(at: .other)
        waitForFar()
        #expect(far().first?["via"] == "the secondary")
        #expect(far().first?["name"] == "the other")
        #expect(far().first?["target"]?.stringValue == target.text)
        let envelope = try envelope(1)
        #expect(nodes.results(envelope)["the other"]?["verdict"] == "applied")
        #expect(app.offers.map(\.envelope) == [envelope])
        #expect(nodes.desired(of: "the other")?["via"] == "the secondary")
        #expect(nodes.desired(of: "the other")?["stale"] == nil)
        #expect(between.offers.isEmpty, "the carrier makes nothing its own")
        #expect(try nodes.rows("configurations", of: nodes.secondary).allSatisfy { $0["version"] == nil })
        #expect(try nodes.rows("desired", of: nodes.secondary).isEmpty)
    }

    @Test(
        "CTL-36, CTL-75: what an app of a far secondary does not load is a problem since the first answer that has it")
    func notLoaded() throws {
        func problem() -> PropertyListDictionary? {
            nodes.ask(nodes.primary, "health").body.rows("problems").first { $0["name"] == "not-loaded" }
        }
        let app = try nodes.startApp(at: .other)
        waitForFar()
        let envelope = try envelope(1)
        #expect(nodes.results(envelope)["the other"]?["verdict"] == "applied")
        nodes.clock.advance(by: .seconds(45))
        nodes.run(until: { (try? nodes.rows("configurations", of: nodes.other).first?["trial"] == true) == false })
        app.disconnect()
        let registration = TandemSession.Registration(
            anchor: nodes.signer.publicKey.key.pem, schema: SHA256.digest([1]))
        let fault = OfferReply(VerificationFailure(.schema, "volume: 80 is over the maximum 50"), of: envelope)
        _ = try nodes.connect(to: .other, registration) { client in
            client.judgeOffers(to: nodes.app, trusting: nodes.signer, on: nodes.clock)
            client.reloadAnswer = fault.message
        }
        nodes.run(until: { problem() != nil })
        let first = try #require(problem())
        #expect(first["pairing"] == nodes.desired(of: "the other")?["pairing"])
        #expect(first["text"]?.stringValue?.contains("apps of the other") == true, "\(first)")
        let before = try #require(first["since"]?.integerValue)
        nodes.clock.advance(by: .seconds(30))
        let after = try #require(problem()?["since"]?.integerValue)
        #expect(after - before >= 30_000, "it is the same problem")
    }

    @Test func `CTL-37, THR-129: deliveries and what is withdrawn say by which carrier they know a name`() throws {
        _ = try nodes.startApp(at: .other)
        waitForFar()
        #expect(nodes.results(try envelope(1))["the other"]?["verdict"] == "applied")
        let deliveries = try nodes.rows("configurations", of: nodes.primary).filter { $0["pairing"] != nil }
        #expect(deliveries.first { $0["state"] == "forwarded to the other" }?["via"] == "the secondary")
        let answer = nodes.ask(nodes.primary, "configuration-withdraw", nodes.body()).body
        #expect(answer["applied"]?.arrayValue?.contains("the other") == false, "a name alone is that of a near one")
        let far = answer.rows("appliedFar").first
        #expect(far?["name"] == "the other" && far?["via"] == "the secondary" && far?["pairing"] != nil)
        let question = nodes.ask(nodes.primary, "unpair", ["who": "the secondary"]).body
        #expect(question["done"] == false && question["far"] == ["the other"], "CTL-29")
    }

    @Test func `CFG-103: what is desired reaches a device that was away, across restarts of all three`() throws {
        _ = try nodes.startApp(at: .other)
        waitForFar()
        nodes.stop(.other)
        let answer = nodes.ask(nodes.primary, "apply", nodes.application(of: try envelope(1), wait: 0))
        #expect(answer.code == 0, "\(answer)")
        nodes.run(until: { (try? nodes.rows("queues", of: nodes.primary))?.isEmpty == true })
        try nodes.restart(.secondary)
        try nodes.restart(.primary)
        #expect(far().count == 1, "the statement outlives the restart")
        try nodes.start(.other)
        let app = try nodes.startApp(at: .other)
        nodes.waitFor("applied", at: "the other")
        #expect(app.offers.count == 1)
    }

    @Test func `CFG-72, CFG-102: a primary whose store was restored relies on no report of a far secondary, either`()
        throws
    {
        let app = try nodes.startApp(at: .other)
        waitForFar()
        #expect(nodes.results(try envelope(1))["the other"]?["verdict"] == "applied")
        let backup = nodes.backUp(.primary)
        try nodes.start(.primary)
        nodes.waitForLink()
        #expect(nodes.results(try envelope(2))["the other"]?["verdict"] == "applied")
        nodes.restore(backup, at: .primary)
        try nodes.start(.primary)
        // The backup says that version 1 is applied.
        nodes.waitFor("rollback", at: "the other")
        #expect(app.offers.count == 2)
    }

    @Test
    func
        `CFG-105, CTL-38, CTL-68: one paired below later gets it; unpaired there it is gone, until that row is removed`()
        throws
    {
        _ = try nodes.startApp(at: .other)
        waitForFar()
        #expect(nodes.results(try envelope(1))["the other"]?["verdict"] == "applied")
        try nodes.start(.last)
        let app = try nodes.startApp(at: .last)
        try nodes.pair(nodes.secondary, nodes.last)
        nodes.waitFor("applied", at: "the last")
        #expect(app.offers.count == 1)
        try nodes.unpair(nodes.last)
        #expect(nodes.ask(nodes.secondary, "unpair", ["who": "the last", "yes": true]).code == 0)
        waitForFar(1)
        #expect(nodes.desired(of: "the last") == nil)
        #expect(far(gone: true).map { $0["name"] } == ["the last"])
        #expect(far(gone: true).map { $0["via"] } == ["the secondary"])
        let device = try #require(far(gone: true).first?["device"])
        let question = nodes.ask(nodes.primary, "far-remove", ["device": device])
        #expect(question.body["done"] == false && question.body["far"]?.arrayValue?.count == 1, "CTL-29")
        #expect(far(gone: true).count == 1)
        #expect(nodes.ask(nodes.primary, "far-remove", ["device": device, "yes": true]).body["done"] == true)
        #expect(far(gone: true).isEmpty)
        try nodes.restart(.primary)
        #expect(far(gone: true).isEmpty && far().count == 1)
        #expect(nodes.ask(nodes.primary, "far-remove", ["device": device]).name == "not-found")
        let stated = try #require(far().first?["device"])
        #expect(nodes.ask(nodes.primary, "far-remove", ["device": stated, "yes": true]).name == "not-found")
    }

    @Test func `CFG-101, CFG-103: a chain of two carriers`() throws {
        try nodes.start(.last)
        let app = try nodes.startApp(at: .last)
        try nodes.pair(nodes.other, nodes.last)
        waitForFar()
        #expect(far().first?["name"] == "the last", "the one between only carries")
        let below = PairedIdentifier.vendor(try nodes.device(of: nodes.other))
        let envelope = try nodes.envelope(1) { $0.target = below }
        let results = nodes.results(envelope)
        #expect(results["the last"]?["verdict"] == "applied")
        #expect(results.count == 1, "the others have another target")
        #expect(app.offers.map(\.envelope) == [envelope])
    }

    @Test func `CFG-106: a carrier that sends something else down gets nothing applied, the next valid one applies`()
        throws
    {
        let app = try nodes.startApp(at: .other)
        waitForFar()
        let first = try envelope(1)
        #expect(nodes.results(first)["the other"]?["verdict"] == "applied")
        let second = try envelope(2)
        #expect(nodes.results(second)["the other"]?["verdict"] == "applied")
        // A carrier is the primary of the device below it and can send it anything.
        #expect(nodes.verdict(try envelope(6, with: .generate()), at: nodes.secondary) == "threshold")
        #expect(nodes.verdict(first, at: nodes.secondary) == "rollback", "a replay of the older version")
        let third = try envelope(3)
        #expect(nodes.results(third)["the other"]?["verdict"] == "applied")
        #expect(app.offers.map(\.envelope) == [first, second, third])
        #expect(nodes.desired(of: "the other")?["reported"] == 3)
    }

    /// Bytes that a carrier may send down in place of the top's version `number`.
    private func exchanges(_ number: UInt64, under old: [UInt8]) throws -> [(Rejection, [UInt8])] {
        let now = nodes.clock.wallNow.seconds
        let other = try ApplicationIdentifier("org.example.other")
        return [
            (.oversize, [UInt8](repeating: 0, count: ConfigurationLimits.envelope + 1)), (.malformed, [1, 2, 3]),
            (.shape, try PropertyListWriter.write(["v": 1] as PropertyListDictionary)),
            (.threshold, try envelope(number, with: .generate())),
            (.wrongRole, try envelope(number) { $0.role = .primary }),
            (.wrongApplication, try envelope(number) { $0.application = other }),
            (.wrongTarget, try envelope(number) { $0.target = .vendor(.random()) }),
            (.oldKeySet, try envelope(number) { $0.keySetVersion = 2 }), (.rollback, old),
            (.expired, try envelope(number) { ($0.issued, $0.expires) = (now - 100, now - 50) }),
            (.future, try envelope(number) { $0.notBefore = now + 400_000 }),
        ]
    }

    @Test func `CFG-51, CFG-106: bytes that a hijacked carrier exchanges have their name below, and are nothing above`()
        throws
    {
        let app = try nodes.startApp(at: .other)
        waitForFar()
        let old = try envelope(1)
        #expect(nodes.results(old)["the other"]?["verdict"] == "applied")
        #expect(nodes.results(try envelope(2))["the other"]?["verdict"] == "applied")
        let carrier = try HijackedCarrier(of: nodes)
        var version: UInt64 = 2
        for (rejection, bytes) in try exchanges(20, under: old) {
            // Of early failures one is reported in a minute (CFG-52).
            nodes.clock.advance(by: .seconds(60))
            version += 1
            carrier.instead = bytes
            let refusals = refusedReports
            let answer = nodes.ask(nodes.primary, "apply", nodes.application(of: try envelope(version), wait: 0))
            #expect(answer.code == 0, "\(answer)")
            let facts = try carrier.report(on: bytes).facts
            #expect(facts.verdict == .rejected(rejection) && facts.good?.version == 2, "\(rejection)")
            // Its word is about other bytes than those that the top has sent.
            nodes.run(until: { refusedReports == refusals + 1 })
            #expect(nodes.desired(of: "the other")?["verdict"] == nil, "\(rejection)")
            #expect(nodes.desired(of: "the other")?["stale"] != nil && nodes.desired(of: "the other")?["reported"] == 2)
        }
        #expect(app.offers.count == 2)
        carrier.instead = nil
        let next = try envelope(version + 1)
        #expect(nodes.results(next)["the other"]?["verdict"] == "applied")
        #expect(app.offers.last?.envelope == next)
    }

    private var refusedReports: Int {
        nodes.notes.count { "\($0)".contains("report refused") && "\($0)".contains("wrong-nonce") }
    }

    @Test func `CFG-105: without secondaries below it a device announces nothing`() throws {
        #expect(nodes.ask(nodes.secondary, "unpair", ["who": "the other", "yes": true]).code == 0)
        _ = try nodes.startApp(at: .other)
        let answer = nodes.ask(nodes.primary, "apply", nodes.application(of: try envelope(1)))
        #expect(answer.name == "wrong-target")
        #expect(far().isEmpty)
    }
}
