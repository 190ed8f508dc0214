// Signed configuration from the operator at the primary to the app at the secondary and back: applied, waiting, refused
// by name, and kept over restarts.

import Glibc
import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized) struct ApplyPathTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes(paired: true) }

    @Test func aConfigurationIsAppliedByTheAppAndReportedAndTheSameBytesAgainChangeNothing() throws {
        let app = try nodes.startApp()
        let envelope = try nodes.envelope(1)
        #expect(nodes.verdict(envelope) == "applied")
        #expect(app.offers.map { $0.envelope } == [envelope], "CFG-5: the exact bytes")
        #expect(nodes.verdict(envelope) == "applied")
        #expect(app.offers.count == 1, "CFG-30 a: already applied, nobody is asked again")
        #expect(try nodes.held()?["version"] == 1)
    }

    @Test func withoutItsAppItWaitsAndIsAppliedOnceWhenTheAppComes() throws {
        try nodes.startApp().disconnect()
        #expect(nodes.verdict(try nodes.envelope(1)) == "waiting-for-app")
        try nodes.restart(.secondary)
        try nodes.restart(.primary)
        nodes.waitForLink()
        let app = try nodes.startApp()
        nodes.run(until: { nodes.reported() == "applied" })
        #expect(app.offers.count == 1)
        #expect(try nodes.held()?["state"] == "applied")
    }

    @Test func eachRefusalAtTheSecondaryHasItsNameAndChangesNothing() throws {
        let app = try nodes.startApp()
        let good = try nodes.envelope(5)
        #expect(nodes.verdict(good) == "applied")
        let now = nodes.clock.wallNow.seconds
        let refusals: [(String, [UInt8])] = [
            ("threshold", try nodes.envelope(6, with: .generate())), ("rollback", try nodes.envelope(4)),
            ("equivocation", try nodes.envelope(5) { $0.values = ["volume": 81] }),
            ("expired", try nodes.envelope(6) { ($0.issued, $0.expires) = (now - 100, now - 50) }),
            ("future", try nodes.envelope(6) { $0.notBefore = now + 4000 }),
            ("old-keyset", try nodes.envelope(6) { $0.keySetVersion = 2 }),
        ]
        for (name, envelope) in refusals {
            #expect(nodes.verdict(envelope) == name)
            #expect(app.offers.count == 1, "\(name): the app never sees it")
            #expect(try nodes.held()?["version"] == 5, "\(name)")
        }
        app.answerOffers { OfferReply(VerificationFailure(.schema, "volume: too loud"), of: $0.envelope) }
        #expect(nodes.verdict(try nodes.envelope(6)) == "schema")
        #expect(try nodes.held()?["version"] == 5)
        #expect(nodes.verdict(good) == "applied", "it is still active")
    }

    @Test("CFG-71: the primary refuses early what no secondary needs to see") func early() throws {
        let app = try nodes.startApp()
        let good = try nodes.envelope(1)
        let elsewhere = try ApplicationIdentifier("org.example.other")
        let another = try PairedIdentifier(text: "custom:elsewhere")
        #expect(nodes.trust(nodes.signer.publicKey.key.pem, at: nodes.primary).code == 0)
        var tampered = good
        if let index = tampered.indices.last(where: { $0 < good.count / 2 }) { tampered[index] ^= 1 }
        let refusals: [(Set<String>, [UInt8])] = [
            (["threshold"], try nodes.envelope(1, with: .generate())),
            (["wrong-app"], try nodes.envelope(1) { $0.application = elsewhere }),
            (["wrong-target"], try nodes.envelope(1) { $0.target = another }),
            (["wrong-target"], try nodes.envelope(1) { $0.only = [.random()] }),
            (["malformed"], [1, 2, 3]), (["oversize"], [UInt8](repeating: 0, count: 65_537)),
            (["threshold", "malformed", "shape", "payload-malformed", "wrong-type"], tampered),
        ]
        for (names, envelope) in refusals {
            let verdict = try #require(nodes.verdict(envelope))
            #expect(names.contains(verdict), "\(verdict) is none of \(names)")
        }
        #expect(app.offers.isEmpty)
        #expect(try nodes.rows("configurations", of: nodes.primary).isEmpty, "nothing was forwarded")
        #expect(nodes.verdict(good) == "applied")
    }

    @Test func unpairingClosesTheMark() throws {
        let app = try nodes.startApp()
        let third = try nodes.envelope(3)
        #expect(nodes.verdict(third) == "applied")
        try nodes.unpair(nodes.secondary)
        nodes.run(until: { app.reloads > 0 })
        try nodes.unpair(nodes.primary)
        try nodes.pair()
        #expect(nodes.verdict(third) == "rollback", "CFG-31")
        #expect(nodes.verdict(try nodes.envelope(4)) == "applied")
    }

    @Test("CFG-31: an answer that comes when the pairing has ended counts for nothing, and the next pairing applies")
    func anAnswerAfterThePairing() throws {
        let app = try nodes.startApp()
        app.answerOffers { _ in nil }
        #expect(nodes.verdict(try nodes.envelope(3), wait: 1) == nil)
        nodes.run(until: { !app.offers.isEmpty })
        try nodes.unpair(nodes.secondary)
        nodes.run(until: { app.reloads > 0 })
        let asked = try #require(app.received(.configuration).first)
        let answer = Envelope(.reply, app: asked.app, pairing: asked.pairing, id: asked.id)
        let late = OfferReply(
            judging: try #require(app.offers.first), for: nodes.app, as: .secondary,
            by: KeySetHistory(TrustedKeySet(nodes.signer.publicKey)), now: nodes.clock.wallNow)
        #expect(late.message["tandem.verdict"] == "applied")
        try app.send(answer.with(body: late.message))
        nodes.clock.advance(by: .seconds(60))
        nodes.run(until: { true })
        #expect(try nodes.held().map { $0["state"] == "none" } ?? true)
        #expect(app.refusal == nil && app.offers.count == 1)
        try nodes.unpair(nodes.primary)
        app.judgeOffers(to: nodes.app, trusting: nodes.signer, on: nodes.clock)
        try nodes.pair()
        #expect(nodes.verdict(try nodes.envelope(4)) == "applied")
        #expect(try nodes.held()?["version"] == 4 && nodes.held()?["state"] == "applied")
    }

    /// How far a configuration has come when a daemon starts again.
    enum Stage: CaseIterable { case accepted, offered, answered }

    @Test(
        "CFG-35: whichever daemon starts again in the middle, all agree within two seconds of their clock",
        arguments: [[TwoNodes.Place.primary], [.secondary], [.primary, .secondary]], Stage.allCases)
    func agreementAfterARestart(places: [TwoNodes.Place], stage: Stage) throws {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        if stage == .offered { app.answerOffers { _ in nil } }
        nodes.begin(nodes.primary, "apply", nodes.application(of: try nodes.envelope(2), wait: 1)) { _ in }
        if stage != .accepted { nodes.run(until: { app.offers.count == 2 }) }
        for place in places { nodes.stop(place) }
        let began = nodes.clock.now
        for place in places { try nodes.start(place) }
        if !places.contains(.secondary) { app.disconnect() }
        _ = try nodes.startApp()
        nodes.run(until: {
            let row = (try? nodes.rows("desired", of: nodes.primary))?.first
            return (try? nodes.held()?["version"]) == 2 && row?["reported"] == 2 && row?["verdict"] == "applied"
        })
        #expect(nodes.clock.now.since(began) <= .seconds(2), "\(nodes.clock.now.since(began))")
    }

    @Test("CFG-12, CFG-31: an empty configuration is one like any other, and another primary's changes nothing")
    func anEmptyConfiguration() throws {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        let elsewhere = try PairedIdentifier(text: "custom:elsewhere")
        let foreign = try nodes.envelope(2) { ($0.values, $0.target) = ([:], elsewhere) }
        for node in [nodes.primary, nodes.secondary] { #expect(nodes.verdict(foreign, at: node) == "wrong-target") }
        #expect(try nodes.held()?["version"] == 1 && app.offers.count == 1 && app.reloads == 0)
        let empty = try nodes.envelope(2) { $0.values = [:] }
        #expect(nodes.verdict(empty) == "applied")
        #expect(app.offers.map(\.envelope).last == empty)
        #expect(try nodes.held()?["version"] == 2 && nodes.held()?["state"] == "applied")
    }

    @Test func `CFG-35, CFG-63: without its file nothing is active or reported, and no such failure burns a version`()
        throws
    {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        // A directory in the file's place: the disk does not take the new one.
        let path = "\(nodes.folder)/configuration.plist"
        try #require(rename(path, path + ".aside") == 0 && mkdir(path, 0o700) == 0)
        let next = try nodes.envelope(2)
        #expect(nodes.verdict(next, wait: 500) == "waiting-for-app")
        #expect(nodes.hasNoted("configuration file not written"))
        #expect(try nodes.held()?["version"] == 1)
        app.disconnect()
        for _ in 0..<3 {
            let app = try nodes.startApp()
            nodes.run(until: { !app.offers.isEmpty })
            app.disconnect()
        }
        try #require(rmdir(path) == 0 && rename(path + ".aside", path) == 0)
        let again = try nodes.startApp()
        nodes.run(until: { (try? nodes.held()?["version"]) == 2 })
        #expect(nodes.verdict(next) == "applied")
        #expect(again.offers.map(\.envelope) == [next])
    }

    @Test func anotherKeyIsAConflictAndStaysWithoutEffect() throws {
        _ = try nodes.startApp()
        let other = ConfigurationPrivateKey.generate()
        #expect(nodes.trust(other.publicKey.key.pem, at: nodes.secondary).name == "anchor-conflict", "CFG-17")
        #expect(nodes.verdict(try nodes.envelope(1, with: other)) == "threshold")
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
    }

    @Test func aCarriedCopyGoesTheSamePathAtTheSecondaryItself() throws {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1, with: .generate()), at: nodes.secondary) == "threshold")
        #expect(nodes.verdict(try nodes.envelope(1), at: nodes.secondary) == "applied", "CTL-5")
        #expect(app.offers.count == 1)
    }

    @Test("CFG-43: a restart while the app thinks costs nothing: it is asked again and the verdict arrives")
    func aRestartWhileTheAppThinksCostsNothing() throws {
        let silent = try nodes.startApp()
        silent.answerOffers { _ in nil }
        let envelope = try nodes.envelope(1)
        var answer: ControlAnswer?
        nodes.begin(nodes.primary, "apply", nodes.application(of: envelope)) { answer = $0 }
        nodes.run(until: { !silent.offers.isEmpty })
        try nodes.restart(.secondary)
        let app = try nodes.startApp()
        nodes.run(until: { answer != nil })
        let result = answer?.body.rows("results").first
        #expect(["applied", "waiting-for-app"].contains(result?["verdict"]?.stringValue))
        nodes.run(until: { nodes.reported() == "applied" })
        #expect(app.offers.map { $0.envelope } == [envelope])
        #expect(try nodes.held()?["state"] == "applied")
    }

    @Test("CFG-31: under another name of the primary a configuration for the old one is refused, and each has its own")
    func anotherIdentifierIsAnotherTarget() throws {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(3)) == "applied")
        let named = TandemSession.Registration(identifier: try CustomIdentifier("the-kitchen"))
        _ = try nodes.connect(to: .primary, named)
        nodes.run(until: { app.reloads > 0 })
        #expect(nodes.verdict(try nodes.envelope(4)) == "wrong-target")
        let kitchen = try PairedIdentifier(text: "custom:the-kitchen")
        #expect(nodes.verdict(try nodes.envelope(1) { $0.target = kitchen }) == "applied", "a mark of its own")
    }

    @Test(
        "CTL-76: an app's file that cannot be written is a problem of health, with path and error, until it is written")
    func unwritableFile() throws {
        func problem() -> String? {
            nodes.ask(nodes.secondary, "health").body.rows("problems").first { $0["name"] == "app-files" }?["text"]?
                .stringValue
        }
        _ = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        #expect(problem() == nil)
        let path = "\(nodes.folder)/configuration.plist"
        // A directory cannot be replaced by a file.
        try #require(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        #expect(nodes.verdict(try nodes.envelope(2), wait: 500) == "waiting-for-app")
        let text = try #require(problem())
        #expect(text.contains("\(nodes.app): ") && text.contains("configuration.plist") && text.contains("EISDIR"))
        #expect(nodes.ask(nodes.secondary, "health").body["state"] == "degraded")
        try #require(rmdir(path) == 0)
        nodes.run(until: { problem() == nil })
        #expect(access(path, F_OK) == 0)
    }

    @Test("CFG-31: what was targeted at a name that the primary's app has no more is deactivated at once")
    func formerIdentifier() throws {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(3)) == "applied")
        let target = try #require(try nodes.held()?["target"])
        func state() throws -> PropertyListValue? {
            try nodes.rows("configurations", of: nodes.secondary).first { $0["target"] == target }?["state"]
        }
        #expect(try state() == "applied")
        _ = try nodes.connect(to: .primary, TandemSession.Registration(identifier: try CustomIdentifier("the-kitchen")))
        nodes.run(until: { app.reloads > 0 })
        nodes.run(until: { (try? state()) == "none" })
    }
}
