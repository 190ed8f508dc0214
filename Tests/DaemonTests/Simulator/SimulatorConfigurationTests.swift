// Signed configuration in the simulator (SES-22): applied at the primary's socket, judged by the simulated secondary
// and its app, and reported back, as between daemons.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemFiles
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

@Suite struct SimulatorConfigurationTests {
    private let directory = TemporaryDirectory()
    private let simulation: Simulation
    private let signer = ConfigurationPrivateKey.generate()
    private let app: ApplicationIdentifier

    init() throws {
        simulation = Simulation(files: try OwnedDirectory(existing: directory.path))
        app = try ApplicationIdentifier("org.example.alarm")
    }

    /// An app on the secondary that trusts the signer, or a key set, judges a configuration by all steps and answers.
    private func startApp(anchor: [UInt8]? = nil, allowsInvalidSignatures: Bool = false) throws -> Client {
        let client = try simulation.greet(.secondary)
        let keys = try anchor.map { try KeySetHistory(anchor: $0) } ?? KeySetHistory(TrustedKeySet(signer.publicKey))
        client.judgeOffers(to: app, on: simulation.scheduler, allowsInvalidSignatures: allowsInvalidSignatures) { keys }
        try client.register(
            app,
            TandemSession.Registration(
                anchor: anchor.map { KeySetText.text(of: $0) } ?? signer.publicKey.key.pem,
                allowsInvalidSignatures: allowsInvalidSignatures))
        simulation.scheduler.run()
        try #require(client.received(.registered).count == 1)
        return client
    }

    private func envelope(
        _ version: UInt64, for target: PairedIdentifier? = nil, with key: ConfigurationPrivateKey? = nil,
        under keySet: UInt64 = 1
    ) throws -> [UInt8] {
        let device = try simulation.ask("status").dictionaryBody()["device"]?.identifierValue
        let payload = ConfigurationPayload(
            application: app, role: .secondary, target: try target ?? .vendor(#require(device)), version: version,
            keySetVersion: keySet, transaction: .random(), issued: simulation.scheduler.wallNow.seconds - 60,
            values: ["volume": 80])
        return try ConfigurationSigner.sign(payload, with: [key ?? signer])
    }

    /// The verdict in the only result, or the name of the failure.
    private func verdict(_ envelope: [UInt8], at role: DeviceRole = .primary) throws -> String? {
        let verdicts = try verdicts(envelope, at: role)
        #expect(verdicts.count == 1)
        return verdicts.first ?? nil
    }

    /// The verdict in each result, or the name of the failure.
    private func verdicts(_ envelope: [UInt8], at role: DeviceRole = .primary) throws -> [String?] {
        let answer = try simulation.ask(
            "apply", ["envelope": .data(envelope), "app": .string(app.description), "wait": 20_000], at: role)
        if answer.code != 0 { return [answer.name] }
        return try answer.dictionaryBody().rows("results").map { $0["verdict"]?.stringValue }
    }

    private func configurations(of role: DeviceRole) throws -> [PropertyListDictionary] {
        try simulation.ask("status", at: role).dictionaryBody().rows("configurations")
    }

    @Test func `CFG-35 SES-22: a configuration for the simulated secondary is applied by its app and reported`() throws
    {
        let client = try startApp()
        #expect(try verdict(envelope(1)) == "applied")
        #expect(client.received(.configuration).count == 1)
        #expect(try configurations(of: .secondary).first?["state"]?.stringValue == "applied")
        #expect(try configurations(of: .primary).first?["lastVerdict"]?.stringValue == "applied")
        let registered = try #require(client.received(.registered).first).dictionaryBody()
        let own = try OwnedDirectory(existing: try #require(registered["directory"]?.stringValue))
        #expect(try own.names().contains("configuration.plist"), "CFG-36")
        #expect(try verdict(envelope(1)) == "equivocation")
    }

    @Test func `CFG-72 SES-22: a configuration that was there before the app is applied once the app brings its key`()
        throws
    {
        #expect(try verdict(envelope(1)) == "waiting-for-key")
        let client = try startApp()
        for _ in 0..<20 { simulation.scheduler.advance(by: .seconds(1)) }
        #expect(client.received(.configuration).count == 1)
        #expect(try configurations(of: .primary).first?["lastVerdict"]?.stringValue == "applied")
    }

    @Test func `CTL-5 CTL-8: a carried copy goes the same path at the secondary's own socket`() throws {
        _ = try startApp()
        #expect(try verdict(envelope(1, with: .generate()), at: .secondary) == "threshold")
        #expect(try verdict(envelope(1), at: .secondary) == "applied")
    }

    @Test func `CFG-31: another custom identifier of the primary's app is another target`() throws {
        _ = try startApp()
        #expect(try verdict(envelope(3)) == "applied")
        let own = try simulation.greet(.primary)
        try own.register(app, TandemSession.Registration(identifier: try CustomIdentifier("the-kitchen")))
        simulation.scheduler.run()
        #expect(try verdict(envelope(4)) == "wrong-target")
        #expect(try verdict(envelope(1, for: PairedIdentifier(text: "custom:the-kitchen"))) == "applied")
    }

    @Test func `CFG-22: a simulated device waives invalid signatures if the app does`() throws {
        _ = try startApp(allowsInvalidSignatures: true)
        #expect(try verdict(envelope(1, with: .generate())) == "applied")
        #expect(
            try configurations(of: .secondary).first?["state"]?.stringValue == "applied, invalid signature allowed")
    }

    /// A fact of the configuration that the simulated secondary has for the app.
    private func held(_ name: String) throws -> PropertyListValue? { try configurations(of: .secondary).first?[name] }

    private func reported() throws -> String? {
        try configurations(of: .primary).last?["lastVerdict"]?.stringValue
    }

    /// An app with version 1, which it has lived with.
    private func startedApp() throws -> Client {
        let client = try startApp()
        #expect(try verdict(envelope(1)) == "applied")
        simulation.scheduler.advance(by: ConfigurationLimits.trial + .seconds(20))
        #expect(try held("trial") != true)
        return client
    }

    private func expectRolledBack(from bad: [UInt8]) throws {
        #expect(try reported() == "failed")
        #expect(try held("version") == 1 && held("state") == "applied")
        #expect(try startApp().offers.isEmpty)
        #expect(try verdict(bad) == "rollback")
        #expect(try verdict(envelope(3)) == "applied")
    }

    @Test func `CFG-63 SES-22: a simulated app that dies with a value three times gets the last good one back`() throws
    {
        var client = try startedApp()
        let bad = try envelope(2)
        #expect(try verdict(bad) == "applied")
        for attempt in 1...3 {
            #expect(try held("version") == 2, "attempt \(attempt)")
            client.disconnect()
            simulation.scheduler.run()
            if attempt < 3 { client = try startApp() }
        }
        try expectRolledBack(from: bad)
    }

    @Test func `CFG-63 SES-22: a value that a simulated app says it failed with is not kept`() throws {
        let client = try startedApp()
        client.answerOffers { offer in
            OfferReply([
                "tandem.verdict": "failed", "tandem.digest": .data(SHA256.digest(offer.envelope)),
                "tandem.text": "it does not start",
            ])
        }
        let bad = try envelope(2)
        #expect(try verdict(bad) == "failed")
        client.disconnect()
        simulation.scheduler.run()
        try expectRolledBack(from: bad)
    }

    @Test func `CTL-8 CTL-24: what is desired in a simulation is listed, shown and withdrawn`() throws {
        let named: PropertyListDictionary = ["app": .string(app.description)]
        #expect(try simulation.ask("configuration-list").dictionaryBody()["desired"] == [])
        let client = try startApp()
        for version in UInt64(1)...2 { #expect(try verdict(envelope(version)) == "applied") }
        #expect(try simulation.ask("configuration-list").dictionaryBody().rows("desired").map { $0["version"] } == [2])
        let history = try simulation.ask("configuration-show", named).dictionaryBody().rows("history")
        #expect(history.map { $0["version"] } == [2, 1])
        #expect(try simulation.ask("configuration-withdraw", named).dictionaryBody()["versions"] == [2])
        #expect(try simulation.ask("configuration-withdraw", named).name == "not-found")
        #expect(try held("version") == 2 && client.offers.count == 2, "what is applied stays")
        #expect(try verdict(envelope(3)) == "applied")
    }

    @Test func `CFG-84 CFG-85 CTL-8: a key set is rotated and its new key revoked in a simulation`() throws {
        let (holders, successor) = (KeyHolders(of: app), ConfigurationPrivateKey.generate())
        let anchor = try holders.set(1, [signer])
        #expect(try simulation.ask("trust-add", holders.trust(in: anchor)).code == 0)
        let client = try startApp(anchor: anchor)
        #expect(try verdict(envelope(1)) == "applied")
        let second = try holders.set(2, [signer, successor])
        #expect(try verdicts(second) == ["applied", "applied"])
        var keys = try KeySetHistory(anchor: anchor)
        #expect(keys.follow([second]) == nil)
        client.judgeOffers(to: app, on: simulation.scheduler) { keys }
        #expect(try verdict(envelope(2, with: successor)) == "old-keyset")
        #expect(try verdict(envelope(2, with: successor, under: 2)) == "applied")
        #expect(try verdicts(holders.revocation(of: successor, under: 2)) == ["applied", "applied"])
        #expect(try held("signer") == "revoked")
        #expect(try verdict(envelope(3, with: successor, under: 2)) == "threshold")
        #expect(try verdict(envelope(3, under: 2)) == "applied")
        #expect(try held("signer") == nil)
    }

    @Test func `CFG-17 CTL-8: trust-add trusts a key at a simulated device, and another one is a conflict`() throws {
        let body = { (key: ConfigurationPrivateKey) -> PropertyListDictionary in
            [
                "app": .string(app.description), "role": "secondary", "key": .string(key.publicKey.key.pem),
            ]
        }
        #expect(try simulation.ask("trust-add", body(signer), at: .secondary).code == 0)
        #expect(try simulation.ask("trust-add", body(.generate()), at: .secondary).name == "anchor-conflict")
    }
}
