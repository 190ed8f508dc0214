// Key sets from the operator at the primary to the secondary: rotations and revocations arrive, also after an absence
// and before any configuration, each device follows them from its own anchor, and a restart or a new pairing forgets
// nothing.

import Glibc
import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized) struct KeySetTests {
    private let nodes: TwoNodes
    private let holders: KeyHolders
    private let successor = ConfigurationPrivateKey.generate()

    init() throws {
        nodes = try TwoNodes(paired: true)
        holders = KeyHolders(of: nodes.app)
    }

    /// A set of this version with these signers of configuration.
    private func set(_ version: UInt64, _ signers: ConfigurationPrivateKey...) throws -> [UInt8] {
        try holders.set(version, signers)
    }

    /// The anchor of both daemons and of the app: both signers count.
    private func anchor() throws -> [UInt8] { try set(1, nodes.signer, successor) }

    private func trust(at node: Node) throws { #expect(nodes.trust(try anchor(), at: node).code == 0) }

    /// An app at the secondary that judges what it is offered from the anchor and these statements.
    private func startApp(_ statements: [UInt8]...) throws -> Client {
        try nodes.startApp(from: try anchor(), statements)
    }

    private func verdicts(_ statement: [UInt8], wait: Int64 = 20_000) -> [String?] {
        let results = nodes.results(statement, wait: wait)
        return ["the primary", "the secondary"].map { results[$0]?["verdict"]?.stringValue }
    }

    @Test("CFG-84, CFG-92, CTL-26: a rotation reaches the secondary, and configurations go on under the new set")
    func aRotationReachesTheSecondary() throws {
        try trust(at: nodes.primary)
        let app = try startApp()
        #expect(nodes.verdict(try nodes.envelope(7, with: nodes.signer, under: 1)) == "applied")
        let second = try set(2, successor)
        #expect(verdicts(second) == ["applied", "applied"])
        #expect(verdicts(second) == ["applied", "applied"], "the same bytes change nothing")
        #expect(try nodes.held()?["version"] == 7, "what is active stays")
        #expect(nodes.verdict(try nodes.envelope(8, with: nodes.signer, under: 1)) == "threshold")
        #expect(nodes.verdict(try nodes.envelope(8, with: successor, under: 1)) == "old-keyset")
        var history = try KeySetHistory(anchor: try anchor())
        #expect(try history.take(second) == .rotated(version: 2))
        app.judgeOffers(to: nodes.app, on: nodes.clock) { history }
        #expect(nodes.verdict(try nodes.envelope(8, with: successor, under: 2)) == "applied")
        try nodes.restart(.secondary)
        try nodes.restart(.primary)
        nodes.waitForLink()
        #expect(nodes.keySetVersion(of: nodes.primary) == 2 && nodes.keySetVersion(of: nodes.secondary) == 2)
        let again = try startApp(second)
        #expect(nodes.verdict(try nodes.envelope(8, with: successor, under: 2)) == "equivocation", "the mark stays")
        #expect(nodes.verdict(try nodes.envelope(9, with: successor, under: 2)) == "applied")
        #expect(again.offers.count == 1)
    }

    @Test("CTL-33: an anchor is replaced by itself once a key set has followed it, and by its own bare key")
    func whatFollowedAnAnchorIsReplaced() throws {
        let anchor = try set(1, nodes.signer)
        _ = try nodes.startApp(from: anchor)
        var body = holders.trust(in: anchor)
        let bare = nodes.signer.publicKey.key
        func replace(yes: Bool = true) -> PropertyListDictionary {
            body["yes"] = .boolean(yes)
            return nodes.ask(nodes.primary, "trust-replace", body).body
        }
        #expect(nodes.ask(nodes.primary, "trust-add", body).code == 0)
        #expect(replace()["done"] == false, "nothing has followed it")
        for key in [KeySetText.text(of: anchor), bare.pem] {
            #expect(nodes.results(try set(2, successor))["the primary"]?["verdict"] == "applied")
            body["key"] = .string(key)
            let asked = replace(yes: false)
            #expect(asked["done"] == false && asked["former"] == .data(successor.publicKey.identifier.bytes))
            #expect(nodes.keySetVersion(of: nodes.primary) == 2)
            let done = replace()
            #expect(done["done"] == true && done["keyid"] == .data(bare.identifier.bytes), "\(key)")
            #expect(nodes.keySetVersion(of: nodes.primary) == 1)
        }
        #expect(replace()["done"] == false)
    }

    @Test("CTL-27: a bare key and a key set of the same version are told apart in the list of trusted keys")
    func bareKeysAreToldFromKeySets() throws {
        try trust(at: nodes.primary)
        #expect(nodes.trust(nodes.signer.publicKey.key.pem, at: nodes.secondary).code == 0)
        for (node, kind): (Node, PropertyListValue) in [(nodes.primary, "key-set"), (nodes.secondary, "bare-key")] {
            #expect(nodes.trusted(by: node)?["kind"] == kind && nodes.trusted(by: node)?["version"] == 1)
        }
    }

    @Test("CTL-26: a change of keys is followed by its ordinal, and applied once")
    func aChangeOfKeysIsFollowed() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        try nodes.startSender().disconnect()
        let second = try set(2, successor)
        nodes.stop(.secondary)
        let first = nodes.ask(nodes.primary, "apply", nodes.application(of: second, wait: 0))
        let ordinal = try #require(first.body["ordinal"])
        func states(_ answer: ControlAnswer) -> [String?] {
            answer.body.rows("results").map { $0["state"]?.stringValue }
        }
        #expect(states(first) == ["reported", "queued"])
        var body = nodes.application(of: second, wait: 60_000)
        (body["follow"], body["after"]) = (true, ordinal)
        var answer: ControlAnswer?
        nodes.begin(nodes.primary, "apply", body) { answer = $0 }
        try nodes.start(.secondary)
        nodes.run(until: { answer != nil })
        #expect(answer?.body["ordinal"] != ordinal)
        while let last = answer, states(last).contains("queued") {
            body["after"] = last.body["ordinal"]
            answer = nodes.ask(nodes.primary, "apply", body)
        }
        #expect(answer.map(states) == ["reported", "reported"])
    }

    @Test("CTL-26: a change of keys at a secondary has no ordinal, also where it is followed: nothing is missing")
    func aSecondaryFollowsAlone() throws {
        try trust(at: nodes.secondary)
        var body = nodes.application(of: try set(2, successor), wait: 0)
        for isFollowing in [false, true] {
            body["follow"] = .boolean(isFollowing)
            let answer = nodes.ask(nodes.secondary, "apply", body)
            #expect(answer.code == 0 && answer.body["ordinal"] == nil, "\(answer.body)")
            #expect(answer.body.rows("results").map { $0["verdict"]?.stringValue } == ["applied"])
        }
    }

    @Test("CFG-92: a secondary that was away gets each rotation in order, and then the configuration")
    func twoRotationsWhileAway() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        nodes.stop(.secondary)
        let (second, third) = (try set(2, successor), try set(3, successor))
        #expect(verdicts(second, wait: 100) == ["applied", nil])
        #expect(verdicts(third, wait: 100) == ["applied", nil])
        let last = try nodes.envelope(1, with: successor, under: 3)
        #expect(nodes.verdict(last, wait: 100) == nil)
        try nodes.start(.secondary)
        nodes.waitForLink()
        let app = try startApp(second, third)
        nodes.run(until: { nodes.reported() == "applied" })
        #expect(nodes.keySetVersion(of: nodes.secondary) == 3)
        #expect(app.offers.map(\.envelope) == [last])
    }

    @Test("CFG-92, LIM-111: a secondary that was away for 100 rotations gets all in order, and then the configuration")
    func aHundredRotationsWhileAway() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        nodes.stop(.secondary)
        let versions = UInt64(2)...101
        let signers = versions.map { _ in ConfigurationPrivateKey.generate() }
        let steps = try zip(versions, signers).map { try set($0, $1) }
        for step in steps { #expect(verdicts(step, wait: 0) == ["applied", nil]) }
        let last = try #require(signers.last)
        let envelope = try nodes.envelope(1, with: last, under: versions.upperBound)
        #expect(nodes.verdict(envelope, wait: 0) == nil)
        try nodes.start(.secondary)
        nodes.run(until: { nodes.keySetVersion(of: nodes.secondary) == versions.upperBound })
        nodes.run(until: { (try? nodes.writtenChain().count) == steps.count + 1 })
        #expect(try nodes.writtenChain() == [try #require(nodes.writtenChain().first)] + steps)
        let app = try nodes.startApp(from: try anchor(), steps)
        nodes.run(until: { nodes.reported() == "applied" })
        #expect(app.offers.map(\.envelope) == [envelope])
        #expect(!nodes.hasNoted("key statement refused"))
    }

    @Test("CFG-23, CFG-85: a revocation is in force at each linked secondary within 5 seconds")
    func aRevocationAtEachLinkedSecondary() throws {
        try trust(at: nodes.primary)
        try nodes.startOther(as: .secondary)
        try nodes.pair(nodes.primary, nodes.other)
        try nodes.start(.last)
        try nodes.pair(nodes.primary, nodes.last)
        let secondaries: [TwoNodes.Place] = [.secondary, .other, .last]
        let apps = try secondaries.map { try nodes.startApp(at: $0, from: try anchor()) }
        let names = secondaries.map { "the \($0)" }
        let first = nodes.results(try nodes.envelope(1, with: nodes.signer, under: 1))
        #expect(names.map { first[$0]?["verdict"] } == ["applied", "applied", "applied"])
        let taken = try holders.revocation(of: nodes.signer, under: 1)
        let begun = nodes.clock.now
        #expect(nodes.ask(nodes.primary, "apply", nodes.application(of: taken, wait: 0)).code == 0)
        let devices = [nodes.secondary, nodes.other, nodes.last]
        nodes.run(until: {
            devices.allSatisfy { (try? nodes.rows("configurations", of: $0).first?["signer"]) == "revoked" }
        })
        let second = try nodes.envelope(2, with: nodes.signer, under: 1)
        for device in devices { #expect(nodes.verdict(second, at: device) == "threshold") }
        #expect(nodes.clock.now.since(begun) < .seconds(5))
        let next = nodes.results(try nodes.envelope(2, with: successor, under: 1))
        #expect(names.map { next[$0]?["verdict"] } == ["applied", "applied", "applied"])
        #expect(apps.allSatisfy { $0.offers.count == 2 })
    }

    @Test("CFG-23, CFG-85, CTL-27: a revocation counts on a live link at once, and what is active is marked")
    func aRevocationOnALiveLink() throws {
        try trust(at: nodes.primary)
        let app = try startApp()
        #expect(nodes.verdict(try nodes.envelope(1, with: nodes.signer, under: 1)) == "applied")
        #expect(try nodes.held()?["signer"] == nil)
        let taken = try holders.revocation(of: nodes.signer, under: 1)
        #expect(verdicts(taken) == ["applied", "applied"])
        #expect(try nodes.held()?["signer"] == "revoked")
        nodes.run(until: { app.reloads > 0 })
        #expect(nodes.verdict(try nodes.envelope(2, with: nodes.signer, under: 1)) == "threshold")
        #expect(nodes.verdict(try nodes.envelope(2, with: nodes.signer, under: 1), at: nodes.secondary) == "threshold")
        #expect(nodes.verdict(try nodes.envelope(2, with: successor, under: 1)) == "applied")
        #expect(try nodes.held()?["signer"] == nil)
    }

    @Test(
        "CTL-33: the end of the trust in a key set says first how many revocations are forgotten; a primary brings them"
    )
    func forgottenRevocations() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        #expect(verdicts(try holders.revocation(of: nodes.signer, under: 1)) == ["applied", "applied"])
        let identifier = nodes.signer.publicKey.identifier.bytes
        #expect(nodes.trusted(by: nodes.secondary)?["revokedKeys"] == .array([.data(identifier)]), "CTL-27")
        var body = nodes.body(["role": "secondary"])
        let told = nodes.ask(nodes.secondary, "trust-remove", body)
        #expect(told.body["done"] == false && told.body["revoked"] == 1 && told.body["former"] != nil)
        body["yes"] = true
        nodes.stop(.primary)
        let done = nodes.ask(nodes.secondary, "trust-remove", body)
        #expect(done.body["done"] == true && done.body["revoked"] == 1)
        try startApp().disconnect()
        func revoked() -> PropertyListValue? { nodes.trusted(by: nodes.secondary)?["revoked"] }
        #expect(revoked() == 0)
        try nodes.start(.primary)
        nodes.run(until: { revoked() == 1 })
    }

    @Test("CFG-92: a device that returns hears of a revocation before any configuration by the revoked key")
    func aReturningDeviceHearsOfTheRevocationFirst() throws {
        try trust(at: nodes.primary)
        let before = try startApp()
        #expect(nodes.verdict(try nodes.envelope(1, with: nodes.signer, under: 1)) == "applied")
        before.disconnect()
        nodes.stop(.secondary)
        #expect(nodes.verdict(try nodes.envelope(2, with: nodes.signer, under: 1), wait: 100) == nil)
        let taken = try holders.revocation(of: nodes.signer, under: 1)
        #expect(verdicts(taken, wait: 100) == ["applied", nil])
        try nodes.start(.secondary)
        nodes.waitForLink()
        let app = try startApp(taken)
        nodes.run(until: { (try? nodes.held()?["signer"]) == "revoked" })
        #expect(app.offers.isEmpty)
        #expect(try nodes.held()?["version"] == 1)
        #expect(nodes.verdict(try nodes.envelope(2, with: successor, under: 1)) == "applied")
    }

    @Test("CFG-91: what waits for its app when its key is revoked is refused then, and reported")
    func whatWaitsIsRefused() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        #expect(nodes.verdict(try nodes.envelope(1, with: nodes.signer, under: 1)) == "waiting-for-app")
        #expect(verdicts(try holders.revocation(of: nodes.signer, under: 1)) == ["applied", "applied"])
        nodes.run(until: { nodes.reported() == "threshold" })
        #expect(try nodes.held() == nil, "nothing waits, and nothing was active")
        let app = try startApp()
        #expect(nodes.verdict(try nodes.envelope(1, with: successor, under: 1)) == "applied")
        #expect(app.offers.count == 1)
    }

    @Test("CFG-89: a withdrawn configuration ends in the running app, and its version does not come back")
    func aWithdrawnConfigurationEnds() throws {
        try trust(at: nodes.primary)
        let app = try startApp()
        let bytes = try nodes.envelope(1, with: nodes.signer, under: 1)
        #expect(nodes.verdict(bytes) == "applied")
        #expect(
            verdicts(try holders.revocation(of: nodes.signer, under: 1, withdraws: true)) == ["applied", "applied"])
        nodes.run(until: { app.reloads > 0 })
        #expect(try nodes.held()?["state"] == "none")
        #expect(
            nodes.verdict(try nodes.envelope(1, with: successor, under: 1)) == "equivocation", "CFG-30: the mark stays")
    }

    @Test("CFG-92: a secondary paired later, and one paired again, gets the chain")
    func aSecondaryPairedLaterGetsTheChain() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        try nodes.unpair(nodes.secondary)
        try nodes.unpair(nodes.primary)
        #expect(nodes.results(try set(2, successor)).keys.sorted() == ["the primary"])
        try nodes.pair()
        nodes.run(until: { nodes.keySetVersion(of: nodes.secondary) == 2 })
        try nodes.unpair(nodes.secondary)
        try nodes.unpair(nodes.primary)
        try nodes.pair()
        #expect(verdicts(try set(3, successor)) == ["applied", "applied"])
        #expect(nodes.keySetVersion(of: nodes.secondary) == 3)
    }

    @Test("CFG-92, CFG-95: a secondary that learns its anchor later gets the chain then")
    func aSecondaryWithoutAnAnchorGetsTheChainLater() throws {
        try trust(at: nodes.primary)
        #expect(verdicts(try set(2, successor), wait: 2_000) == ["applied", "waiting-for-key"])
        let lines = nodes.notes.filter { "\($0.message)".hasPrefix("key statement re") }
        #expect(lines.count >= 2 && lines.allSatisfy { "\($0)".contains("waiting-for-key") })
        #expect(!lines.contains { $0.level == .warning }, "nothing is wrong")
        _ = try startApp()
        nodes.run(until: { nodes.keySetVersion(of: nodes.secondary) == 2 })
    }

    @Test("CFG-84, CFG-85: a statement that does not follow is refused by name and changes nothing anywhere")
    func aStatementThatDoesNotFollowIsRefused() throws {
        #expect(nodes.verdict(try set(2, successor)) == "no-key", "the primary has no anchor")
        try trust(at: nodes.primary)
        _ = try startApp()
        let stranger = PrivateKey.generate(.ed25519)
        let forged = try KeyStatementSigner.sign(
            RevocationDocument(
                subject: holders.subject, keySetVersion: 1, issued: 0, revoked: [nodes.signer.publicKey.identifier],
                withdraws: true), with: [stranger])
        let refusals: [(String, [UInt8])] = [
            ("keyset-gap", try set(3, successor)), ("equivocation", try set(1, successor)), ("threshold", forged),
            ("old-keyset", try holders.revocation(of: nodes.signer, under: 2)),
            ("keyset-illegal", try holders.revocation(of: ConfigurationPrivateKey(holders.root), under: 1)),
        ]
        for (name, statement) in refusals {
            #expect(nodes.verdict(statement) == name)
            #expect(nodes.verdict(statement, at: nodes.secondary) == name)
        }
        #expect(nodes.keySetVersion(of: nodes.primary) == 1 && nodes.keySetVersion(of: nodes.secondary) == 1)
        #expect(nodes.verdict(try nodes.envelope(1, with: nodes.signer, under: 1)) == "applied")
    }

    @Test("CFG-93: a crash before the chain was written costs nothing: the start writes it")
    func aStartWritesTheChain() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        let second = try set(2, successor)
        #expect(verdicts(second) == ["applied", "applied"])
        nodes.run(until: { (try? nodes.writtenChain().count) == 2 })
        let chain = [try #require(nodes.writtenChain().first), second]
        #expect(try nodes.writtenChain() == chain)
        nodes.stop(.secondary)
        try #require(unlink("\(nodes.folder)/\(KeySetChainFile.name)") == 0)
        try nodes.start(.secondary)
        #expect(try nodes.writtenChain() == chain)
    }

    @Test("CFG-93: no configuration is written before the chain that it rests on, and both once that can be written")
    func noConfigurationWithoutItsChain() throws {
        try trust(at: nodes.primary)
        let app = try startApp()
        #expect(nodes.verdict(try nodes.envelope(1, with: nodes.signer, under: 1)) == "applied")
        #expect(verdicts(try set(2, nodes.signer, successor)) == ["applied", "applied"])
        nodes.run(until: { (try? nodes.writtenChain().count) == 2 })
        app.disconnect()
        nodes.stop(.secondary)
        let (chain, active) = ("\(nodes.folder)/\(KeySetChainFile.name)", "\(nodes.folder)/configuration.plist")
        // A directory in the file's place: the chain cannot be written.
        try #require(unlink(chain) == 0 && unlink(active) == 0 && mkdir(chain, 0o700) == 0)
        try nodes.start(.secondary)
        #expect(nodes.hasNoted("key sets not written") && access(active, F_OK) != 0)
        try #require(rmdir(chain) == 0)
        nodes.run(until: { access(active, F_OK) == 0 })
        #expect(try nodes.writtenChain().count == 2)
    }

    private func problems() -> [PropertyListValue] {
        nodes.ask(nodes.primary, "health").body.rows("problems").compactMap { $0["name"] }
    }

    @Test("CTL-12, CTL-74: the primary shows the key set that a secondary has reported, and the one that it refuses")
    func theKeysOfASecondary() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        func row() throws -> PropertyListDictionary? { try nodes.rows("keys", of: nodes.primary).first }
        #expect(try row() == nil, "nothing has followed the anchor")
        #expect(verdicts(try set(2, successor)) == ["applied", "applied"])
        let good = try #require(try row())
        #expect(good["name"] == "the secondary" && good["version"] == 2 && good["waiting"] == 0)
        #expect(good["verdict"] == nil && !problems().contains("refused-keys"))
        #expect(nodes.verdict(try set(3, nodes.signer), at: nodes.secondary) == "applied", "a fork by hand")
        #expect(verdicts(try set(3, successor)) == ["applied", "equivocation"])
        let refused = try #require(try row())
        #expect(refused["version"] == 2 && refused["waiting"] == 1 && refused["verdict"] == "equivocation")
        #expect(problems().contains("refused-keys"))
    }

    @Test("CTL-12, CFG-74: health names a secondary whose app has a bare key and cannot follow a key set")
    func aBareKeyRefusesAKeySet() throws {
        try nodes.startApp().disconnect()
        #expect(nodes.trust(try set(1, nodes.signer), at: nodes.primary).code == 0)
        #expect(!problems().contains("refused-keys"))
        #expect(verdicts(try set(2, successor)) == ["applied", "no-key"])
        #expect(problems().contains("refused-keys"))
    }

    @Test(
        "CTL-12, CTL-27, LIM-147: the list of keys and health say that the key set in force expires soon, and that it has"
    )
    func expiry() throws {
        let end = nodes.clock.wallNow.seconds + 60
        let first = try holders.set(1, [nodes.signer], expires: end)
        #expect(nodes.trust(first, at: nodes.primary).code == 0)
        let anchor = try #require(nodes.trusted(by: nodes.primary))
        #expect(anchor["expires"] == .integer(WallTime(seconds: end).milliseconds) && anchor["expired"] == nil)
        let health = nodes.ask(nodes.primary, "health").body
        let warning = health.rows("problems").first { $0["name"] == "expiring-keys" }?["text"]?.stringValue
        #expect(warning?.contains("\(nodes.app) (secondary) at \(WallTime(seconds: end))") == true)
        #expect(health["state"] == "degraded" && !problems().contains("expired-keys"))
        nodes.clock.setWallClock(WallTime(seconds: end))
        #expect(nodes.trusted(by: nodes.primary)?["expired"] == true)
        #expect(problems().contains("expired-keys") && !problems().contains("expiring-keys"))
    }

    @Test("CFG-93, LIM-112: the steps of a burst go to the app's directory together")
    func aBurstIsWrittenOnce() throws {
        try trust(at: nodes.primary)
        let app = try startApp()
        #expect(nodes.verdict(try nodes.envelope(1, with: nodes.signer, under: 1)) == "applied")
        let before = (app.reloads, try nodes.writtenChain())
        let steps = try (2...6).map { try set(UInt64($0), successor) }
        for step in steps { nodes.begin(nodes.primary, "apply", nodes.application(of: step, wait: 0)) { _ in } }
        nodes.run(until: { app.reloads > before.0 })
        #expect(try nodes.writtenChain() == before.1 + steps)
        #expect(app.reloads == before.0 + 1)
    }

    @Test("CFG-36, CFG-93: an app that has never registered gets its directory and its files when it does")
    func filesWaitForTheirUser() throws {
        try trust(at: nodes.primary)
        try trust(at: nodes.secondary)
        let second = try set(2, successor)
        #expect(verdicts(second) == ["applied", "applied"])
        #expect(nodes.verdict(try nodes.envelope(1, with: successor, under: 2)) == "waiting-for-app")
        #expect(access(nodes.folder, F_OK) != 0, "of whichever user it were made, it could be the wrong one")
        _ = try startApp(second)
        nodes.run(until: { nodes.reported() == "applied" })
        #expect(try nodes.writtenChain().count == 2)
        #expect(access("\(nodes.folder)/configuration.plist", F_OK) == 0)
    }

    @Test("CFG-52, CFG-92: the chain of a hijacked primary is refused whole, and reported once a minute")
    func theChainOfAHijackedPrimary() throws {
        let app = try startApp()
        let thief = PrivateKey.generate(.ed25519)
        let roles: [KeyRoleName: (keys: [PublicKey], threshold: Int)] = [
            .configuration: ([thief.publicKey], 1), .keySet: ([thief.publicKey], 1),
            .revocation: ([thief.publicKey], 1),
        ]
        let forged = try (UInt64(1)...8).map { version in
            try KeyStatementSigner.sign(
                KeySetDocument(subject: holders.subject, version: version, issued: 0, roles: roles), with: [thief])
        }
        #expect(nodes.trust(forged[0], at: nodes.primary).code == 0)
        for statement in forged.dropFirst() { #expect(verdicts(statement, wait: 100).first == "applied") }
        nodes.run(until: { nodes.hasNoted("key statement refused") })
        nodes.clock.advance(by: .seconds(5))
        nodes.run(until: { true })
        #expect(nodes.notes.count { "\($0.message)" == "key statement reported" } == 1)
        #expect(nodes.keySetVersion(of: nodes.secondary) == 1)
        #expect(try nodes.writtenChain() == [try #require(nodes.writtenChain().first)])
        #expect(nodes.verdict(try nodes.envelope(1, with: nodes.signer, under: 1), at: nodes.secondary) == "applied")
        #expect(app.reloads == 0)
    }

    @Test("CFG-17: an app whose anchor is a later set of the chain is no conflict")
    func aLaterAnchorIsNoConflict() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        let second = try set(2, successor)
        #expect(verdicts(second) == ["applied", "applied"])
        #expect(nodes.trust(second, at: nodes.secondary).code == 0)
        #expect(nodes.keySetVersion(of: nodes.secondary) == 2)
        let other = try set(2, nodes.signer)
        #expect(nodes.trust(other, at: nodes.secondary).name == "anchor-conflict")
    }

    @Test("CFG-17: an app with a bare key changes to a key set with that key, keeps its values, and rotates")
    func aBareKeyBecomesAKeySet() throws {
        let bare = try nodes.startApp()
        #expect(nodes.trust(nodes.signer.publicKey.key.pem, at: nodes.primary).code == 0)
        #expect(nodes.verdict(try nodes.envelope(7, with: nodes.signer, under: 1)) == "applied")
        bare.disconnect()
        let (first, second) = (try set(1, nodes.signer), try set(2, successor))
        #expect(nodes.verdict(second) == "no-key", "a bare key cannot rotate")
        for other in [try set(2, nodes.signer), try set(1, nodes.signer, successor), try set(1, successor)] {
            #expect(nodes.trust(other, at: nodes.primary).name == "anchor-conflict")
        }
        #expect(nodes.trust(first, at: nodes.primary).code == 0)
        let app = try nodes.startApp(from: first)
        #expect(try nodes.held()?["version"] == 7)
        #expect(nodes.notes.count { "\($0.message)".hasPrefix("alarm: anchor-conflict") } == 3, "none is the app's")
        let other = try nodes.envelope(7, with: nodes.signer)
        #expect(nodes.verdict(other, at: nodes.secondary) == "equivocation", "the mark stays")
        #expect(verdicts(second) == ["applied", "applied"])
        try nodes.restart(.secondary)
        nodes.waitForLink()
        #expect(nodes.keySetVersion(of: nodes.secondary) == 2)
        let bareKey = nodes.trust(nodes.signer.publicKey.key.pem, at: nodes.secondary)
        #expect(bareKey.code == 0, "the bare key is no conflict")
        #expect(nodes.keySetVersion(of: nodes.secondary) == 2 && app.offers.isEmpty)
    }

    @Test("CFG-17, CFG-74: an anchor that can verify nothing is named, not stored, and gives way to the right one")
    func anUnusableAnchorIsNotStored() throws {
        let foreign = KeySetDocument(
            subject: KeySubject(application: nodes.app, role: .primary), version: 1, issued: 1_790_000_000,
            roles: [
                .configuration: ([nodes.signer.key.publicKey], 1), .keySet: ([holders.root.publicKey], 1),
                .revocation: ([holders.revoker.publicKey], 1),
            ])
        let unusable = [
            "no key", KeySetText.text(of: try KeyStatementSigner.sign(foreign, with: [holders.revoker])),
            KeySetText.text(of: try KeyStatementSigner.sign(foreign, with: [holders.root])),
        ]
        for (index, text) in unusable.enumerated() {
            try nodes.connect(to: .secondary, TandemSession.Registration(anchor: text)).disconnect()
            nodes.run(until: {
                nodes.notes.count { "\($0.message)" == "an app's configuration key is refused" } == index + 1
            })
        }
        #expect(nodes.ask(nodes.secondary, "trust-list").body["anchors"] == [])
        #expect(nodes.verdict(try nodes.envelope(1, with: nodes.signer, under: 1)) == "no-key")
        try nodes.restart(.secondary)
        nodes.waitForLink()
        _ = try nodes.startApp()
        nodes.run(until: { nodes.reported() == "applied" })
    }

    @Test("CFG-17, CTL-27: a key set with two configuration keys is an anchor after a restart, too")
    func aSetOfTwoKeysIsAnAnchorAfterARestart() throws {
        try startApp().disconnect()
        try nodes.restart(.secondary)
        let shown = nodes.ask(nodes.secondary, "status").body["applications"]?.arrayValue?.first?.dictionaryValue
        #expect(shown?["anchor"]?.dataValue?.count == 32)
    }

    @Test("CFG-90, CFG-95: a secondary whose anchor is a later set passes over the chain before it")
    func aLaterAnchorPassesOverTheChain() throws {
        try trust(at: nodes.primary)
        let (second, third, fourth) = (
            try set(2, nodes.signer, successor), try set(3, successor), try set(4, successor)
        )
        let later = TandemSession.Registration(anchor: KeySetText.text(of: third))
        try nodes.connect(to: .secondary, later).disconnect()
        for statement in [second, try holders.revocation(of: nodes.signer, under: 2), third, fourth] {
            #expect(verdicts(statement) == ["applied", "applied"])
        }
        #expect(nodes.keySetVersion(of: nodes.secondary) == 4)
        #expect(!nodes.hasNoted("key statement refused"))
    }

    @Test("CFG-87: a revocation stays in force through unpairing, joining again and restarts")
    func aRevocationSurvivesUnpairing() throws {
        try trust(at: nodes.primary)
        try startApp().disconnect()
        #expect(verdicts(try holders.revocation(of: nodes.signer, under: 1)) == ["applied", "applied"])
        try nodes.unpair(nodes.secondary)
        try nodes.unpair(nodes.primary)
        try nodes.restart(.secondary)
        try nodes.pair()
        #expect(nodes.verdict(try nodes.envelope(1, with: nodes.signer, under: 1), at: nodes.secondary) == "threshold")
    }
}
