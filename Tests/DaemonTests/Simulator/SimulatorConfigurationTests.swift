// Signed configuration in the simulator (SES-22): applied at the primary's socket, judged by the simulated secondary
// and its app, and reported back, as between daemons.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemFiles
import TandemPropertyList
import TandemReactor
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

    /// An app on the secondary that trusts the signer, judges a configuration by all steps and answers.
    private func startApp(allowsInvalidSignatures: Bool = false) throws -> Client {
        let client = try simulation.greet(.secondary)
        client.judgeOffers(
            to: app, trusting: signer, on: simulation.scheduler,
            allowsInvalidSignatures: allowsInvalidSignatures)
        try client.register(
            app,
            TandemSession.Registration(
                anchor: signer.publicKey.key.pem, allowsInvalidSignatures: allowsInvalidSignatures))
        simulation.scheduler.run()
        try #require(client.received(.registered).count == 1)
        return client
    }

    private func ask(
        _ command: String, _ body: PropertyListDictionary = [:], at role: DeviceRole = .primary
    ) throws -> Envelope {
        let client = try simulation.greet(role)
        try client.send(Envelope(.control, id: .random(), command: command).with(body: body))
        simulation.scheduler.run()
        return try #require(client.received(.result).last)
    }

    private func envelope(
        _ version: UInt64, for target: PairedIdentifier? = nil, with key: ConfigurationPrivateKey? = nil
    ) throws -> [UInt8] {
        let device = try ask("status").dictionaryBody()["device"]?.dataValue.flatMap { UniqueIdentifier(bytes: $0) }
        let payload = ConfigurationPayload(
            application: app, role: .secondary, target: try target ?? .vendor(#require(device)), version: version,
            transaction: .random(), issued: simulation.scheduler.wallNow.seconds - 60, values: ["volume": 80])
        return try ConfigurationSigner.sign(payload, with: [key ?? signer])
    }

    /// The verdict in the only result, or the name of the failure.
    private func verdict(_ envelope: [UInt8], at role: DeviceRole = .primary) throws -> String? {
        let answer = try ask(
            "apply", ["envelope": .data(envelope), "app": .string(app.description), "wait": 20_000], at: role)
        if answer.code != 0 { return answer.name }
        let results = try answer.dictionaryBody()["results"]?.arrayValue?.compactMap(\.dictionaryValue) ?? []
        #expect(results.count == 1)
        return results.first?["verdict"]?.stringValue
    }

    private func configurations(of role: DeviceRole) throws -> [PropertyListDictionary] {
        try ask("status", at: role).dictionaryBody()["configurations"]?.arrayValue?.compactMap(\.dictionaryValue) ?? []
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

    @Test func `CFG-17 CTL-8: trust-add trusts a key at a simulated device, and another one is a conflict`() throws {
        let body = { (key: ConfigurationPrivateKey) -> PropertyListDictionary in
            [
                "app": .string(app.description), "role": "secondary", "key": .string(key.publicKey.key.pem),
            ]
        }
        #expect(try ask("trust-add", body(signer), at: .secondary).code == 0)
        #expect(try ask("trust-add", body(.generate()), at: .secondary).name == "anchor-conflict")
    }
}
