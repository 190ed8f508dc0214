// A bad value never keeps an app down: between two daemons, an app that does not live with a configuration gets the
// last good one back, its version never returns, and the primary hears which and why.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemFiles
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized) struct TrialTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes(paired: true) }

    private func state() throws -> String? { try nodes.held()?["state"]?.stringValue }

    private func isOnTrial() throws -> Bool { try nodes.held()?["trial"] == true }

    private func version() throws -> PropertyListValue? { try nodes.held()?["version"] }

    /// The app's own directory at the secondary, as its library opens it.
    private func directory(_ app: Client) throws -> OwnedDirectory {
        let body = try #require(app.received(.registered).last).dictionaryBody()
        return try OwnedDirectory(existing: try #require(body["directory"]?.stringValue))
    }

    private func pass(_ app: Client) {
        nodes.clock.advance(by: .seconds(45))
        nodes.run(until: { (try? isOnTrial()) == false })
    }

    private func waitForDisconnection() {
        nodes.run(until: { (try? nodes.rows("applications", of: nodes.secondary).first?["connected"]) == false })
    }

    /// A secondary with version 1, which is good.
    private func startedApp() throws -> Client {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        pass(app)
        return app
    }

    @Test func `CFG-61, CFG-67: an app that lives with it proves it good, and the primary hears of both`() throws {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        #expect(try isOnTrial() && state() == "applied")
        let files = try directory(app)
        #expect(try Set(files.names()).isSuperset(of: ["configuration.plist", "trial.plist"]), "CFG-64")
        pass(app)
        #expect(try !files.names().contains("trial.plist"))
        nodes.run(until: { reports() == ["applied", "applied"] })
        #expect(try version() == 1)
    }

    /// The verdicts that the primary has noted, in their order.
    private func reports() -> [String] {
        nodes.notes.filter { "\($0.message)" == "configuration reported" }.compactMap { note in
            note.line(at: nodes.clock.wallNow).firstMatch(of: /verdict=([a-z-]+)/).map { String($0.1) }
        }
    }

    @Test func `CFG-62, CFG-63: an app that dies with an applied one three times gets the last good one back`() throws {
        var app = try startedApp()
        let bad = try nodes.envelope(2)
        #expect(nodes.verdict(bad) == "applied")
        for attempt in 1...3 {
            #expect(try version() == 2 && isOnTrial(), "attempt \(attempt)")
            app.disconnect()
            if attempt < 3 { app = try nodes.startApp() }
        }
        nodes.run(until: { (try? version()) == 1 })
        nodes.run(until: { nodes.reported() == "failed" })
        #expect(try !isOnTrial() && state() == "applied" && nodes.held()?["lastVerdict"] == "failed")
        let next = try nodes.startApp()
        #expect(next.offers.isEmpty)
        #expect(nodes.verdict(bad) == "rollback")
        #expect(nodes.verdict(try nodes.envelope(2) { $0.values = ["volume": 1] }) == "equivocation")
        #expect(nodes.verdict(try nodes.envelope(3)) == "applied")
    }

    /// The last verdicts that two primaries know.
    private func verdictsAtBoth() -> [String?] {
        [nodes.primary, nodes.other].map { node in
            (try? nodes.rows("configurations", of: node))?.last?["lastVerdict"]?.stringValue
        }
    }

    @Test func `CFG-25, CFG-32, CFG-61: two primaries that deliver one configuration hear each verdict and its end`()
        throws
    {
        try nodes.startOther(as: .primary)
        try nodes.pair(nodes.other, nodes.secondary)
        var app = try nodes.startApp()
        for place in [TwoNodes.Place.primary, .other] {
            try nodes.connect(to: place, .init(identifier: CustomIdentifier("the-kitchen"))).disconnect()
        }
        let kitchen = try PairedIdentifier(text: "custom:the-kitchen")
        nodes.run(until: {
            let targets = try? app.states(now: nodes.clock.now).last?.pairings.map(\.target)
            return targets == [kitchen, kitchen]
        })
        app.disconnect()
        waitForDisconnection()
        let envelope = try nodes.envelope(1) { $0.target = kitchen }
        for node in [nodes.primary, nodes.other] {
            #expect(nodes.verdict(envelope, at: node) == "waiting-for-app")
        }
        #expect(verdictsAtBoth() == ["waiting-for-app", "waiting-for-app"])
        app = try nodes.startApp()
        nodes.run(until: { verdictsAtBoth() == ["applied", "applied"] })
        #expect(try isOnTrial())
        for attempt in 1...3 {
            app.disconnect()
            if attempt < 3 { app = try nodes.startApp() }
        }
        nodes.run(until: { verdictsAtBoth() == ["failed", "failed"] })
    }

    @Test func `CFG-62, CFG-63: an app that dies over an offer three times gets no fourth one`() throws {
        var app = try startedApp()
        let bad = try nodes.envelope(2)
        var answer: ControlAnswer?
        nodes.begin(nodes.primary, "apply", nodes.application(of: bad, wait: 1)) { answer = $0 }
        for attempt in 1...3 {
            let dying = app
            dying.answerOffers { _ in nil }
            nodes.run(until: { dying.offers.last?.envelope == bad })
            dying.disconnect()
            if attempt < 3 { app = try nodes.connect(to: .secondary) { $0.answerOffers { _ in nil } } }
        }
        nodes.run(until: { answer != nil && nodes.reported() == "failed" })
        #expect(try version() == 1 && state() == "applied")
        #expect(try nodes.startApp().offers.isEmpty)
    }

    @Test func `CFG-43, CFG-63: an app that hangs over an offer is asked again, and given up with its reason`() throws {
        let app = try startedApp()
        app.answerOffers { _ in nil }
        #expect(nodes.verdict(try nodes.envelope(2), wait: 1) == nil)
        for _ in 0..<15 {
            nodes.clock.advance(by: .seconds(10))
            nodes.run(until: { true })
        }
        nodes.run(until: { nodes.reported() == "failed" })
        #expect(app.offers.count == 4, "one was good, and three times this one")
        #expect(try version() == 1)
    }

    @Test func `CFG-61, CFG-63: a restart of the daemon forgets neither the attempts nor the last good one`() throws {
        try startedApp().disconnect()
        #expect(nodes.verdict(try nodes.envelope(2)) == "waiting-for-app")
        for attempt in 1...3 {
            let app = try nodes.startApp()
            nodes.run(until: { (try? isOnTrial()) == true })
            #expect(try version() == 2)
            app.disconnect()
            waitForDisconnection()
            if attempt == 3 { nodes.run(until: { (try? version()) == 1 }) }
            try nodes.restart(.secondary)
        }
        nodes.waitForLink()
        nodes.run(until: { nodes.reported() == "failed" })
        #expect(try version() == 1)
    }

    @Test func `CFG-62: the end of the daemon itself fails no last attempt and no last offer`() throws {
        var app = try startedApp()
        let applied = try nodes.envelope(2)
        #expect(nodes.verdict(applied) == "applied")
        for _ in 1...2 {
            app.disconnect()
            waitForDisconnection()
            app = try nodes.startApp()
        }
        var attempts = LoadAttempts()
        for _ in 1...ConfigurationLimits.attempts { attempts.count(SHA256.digest(applied), known: 0) }
        try directory(app).replace(
            ConfigurationFile.attempts, with: try PropertyListWriter.write(attempts.dictionary))
        try nodes.restart(.secondary)
        #expect(try version() == 2 && isOnTrial())
        nodes.waitForLink()
        // And over an offer.
        app = try nodes.startApp()
        pass(app)
        let offered = try nodes.envelope(3)
        app.answerOffers { _ in nil }
        #expect(nodes.verdict(offered, wait: 1) == nil)
        nodes.run(until: { app.offers.last?.envelope == offered })
        for _ in 1...2 {
            app.disconnect()
            waitForDisconnection()
            app = try nodes.connect(to: .secondary) { $0.answerOffers { _ in nil } }
            nodes.run(until: { app.offers.last?.envelope == offered })
        }
        try nodes.restart(.secondary)
        nodes.waitForLink()
        #expect(try state() == "waiting for app" && nodes.reported() != "failed")
    }

    @Test func `CFG-62, CFG-65: what the library counted while the daemon was away rolls back at the registration`()
        throws
    {
        let app = try startedApp()
        let bad = try nodes.envelope(2)
        #expect(nodes.verdict(bad) == "applied")
        let files = try directory(app)
        var attempts = LoadAttempts()
        for _ in 0...ConfigurationLimits.attempts { attempts.count(SHA256.digest(bad), known: 0) }
        app.disconnect()
        waitForDisconnection()
        try files.replace(ConfigurationFile.attempts, with: try PropertyListWriter.write(attempts.dictionary))
        let next = try nodes.startApp()
        nodes.run(until: { nodes.reported() == "failed" && next.reloads == 1 })
        #expect(try version() == 1)
    }

    @Test func `CFG-61, CFG-65: an app that says it is well has proved it`() throws {
        let app = try startedApp()
        let good = try nodes.envelope(2)
        #expect(nodes.verdict(good) == "applied")
        var attempts = LoadAttempts()
        attempts.confirm(SHA256.digest(good))
        try directory(app).replace(
            ConfigurationFile.attempts, with: try PropertyListWriter.write(attempts.dictionary))
        app.disconnect()
        nodes.run(until: { (try? isOnTrial()) == false })
        #expect(try version() == 2)
    }

    @Test func `CFG-61: an app that ends its session in order has not failed`() throws {
        let app = try startedApp()
        #expect(nodes.verdict(try nodes.envelope(2)) == "applied")
        try app.send(Envelope(.bye))
        nodes.run(until: { (try? isOnTrial()) == false })
        #expect(try version() == 2)
    }

    private func startWaivingApp() throws -> Client {
        nodes.allowsInvalidSignatures = true
        try nodes.restart(.secondary)
        nodes.waitForLink()
        return try nodes.connect(
            to: .secondary, .init(anchor: nodes.signer.publicKey.key.pem, allowsInvalidSignatures: true)
        ) { client in
            client.judgeOffers(
                to: nodes.app, trusting: nodes.signer, on: nodes.clock, allowsInvalidSignatures: true)
        }
    }

    @Test func `CFG-22: a daemon that starts without the permission ends what was applied by it, and says so`() throws {
        let app = try startWaivingApp()
        #expect(nodes.verdict(try nodes.envelope(1, with: .generate())) == "applied")
        let files = try directory(app)
        #expect(try files.names().contains("waived.plist"))
        nodes.allowsInvalidSignatures = false
        try nodes.restart(.secondary)
        nodes.run(until: { nodes.notes.contains { "\($0)".contains("which this daemon no longer allows") } })
        #expect(try !files.names().contains("waived.plist") && nodes.held()?["waived"] != true)
    }

    @Test func `CFG-22, CFG-67: a waived signature is told to the primary and shown in both statuses`() throws {
        _ = try startWaivingApp()
        #expect(try nodes.rows("applications", of: nodes.secondary).first?["waives"] == true, "before there is any")
        let foreign = try nodes.envelope(1, with: .generate())
        let result = try #require(nodes.results(foreign)["the secondary"])
        #expect(result["verdict"] == "applied")
        #expect(result["text"]?.stringValue?.contains("invalid signature") == true, "\(result)")
        #expect(try nodes.held()?["waived"] == true)
        #expect(try state() == "applied, invalid signature allowed" && isOnTrial())
        let row = try #require(try nodes.rows("configurations", of: nodes.primary).last)
        #expect(row["text"]?.stringValue?.contains("invalid signature") == true, "\(row)")
        let judged = try #require(nodes.notes.last { "\($0.message)" == "configuration judged" })
        #expect(judged.level == .warning && "\(judged)".contains("INVALID"), "\(judged)")
    }
}
