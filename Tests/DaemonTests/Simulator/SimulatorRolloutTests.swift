// Staged rollouts and lifetimes in the simulator (SES-22): its two secondaries get a configuration one after the other,
// and what is over reverts, as between daemons.

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

@Suite struct SimulatorRolloutTests {
    private let directory = TemporaryDirectory()
    private let simulation: Simulation
    private let signer = ConfigurationPrivateKey.generate()
    private let app: ApplicationIdentifier

    init() throws {
        simulation = Simulation(secondaries: 2, files: try OwnedDirectory(existing: directory.path))
        app = try ApplicationIdentifier("org.example.alarm")
    }

    /// An app on one of the secondaries that judges what it is offered by all steps.
    private func startApp(at number: Int) throws -> Client {
        let client = try simulation.greet(.secondary, number)
        client.judgeOffers(to: app, trusting: signer, on: simulation.scheduler)
        try client.register(app, TandemSession.Registration(anchor: signer.publicKey.key.pem))
        simulation.scheduler.run()
        try #require(client.received(.registered).count == 1)
        return client
    }

    private func envelope(
        _ version: UInt64, _ change: (inout ConfigurationPayload) -> Void = { _ in }
    ) throws -> [UInt8] {
        let device = try simulation.ask("status").dictionaryBody()["device"]?.identifierValue
        var payload = ConfigurationPayload(
            application: app, role: .secondary, target: .vendor(try #require(device)), version: version,
            transaction: .random(), issued: simulation.scheduler.wallNow.seconds - 60, values: ["volume": 80])
        change(&payload)
        return try ConfigurationSigner.sign(payload, with: [signer])
    }

    /// The verdict or state of each secondary, after a moment.
    private func apply(_ envelope: [UInt8], _ stage: PropertyListDictionary = [:]) throws -> [String: String] {
        var body: PropertyListDictionary = [
            "envelope": .data(envelope), "app": .string(app.description), "wait": 500,
        ]
        for (key, value) in stage { body[key] = value }
        let answer = try simulation.ask("apply", body)
        #expect(answer.code == 0, "\(answer)")
        let results = try answer.dictionaryBody().rows("results")
        return Dictionary(
            results.map { ($0["name"]?.stringValue ?? "", ($0["verdict"] ?? $0["state"])?.stringValue ?? "") }
        ) { first, _ in first }
    }

    private func rollout() throws -> String? {
        try simulation.ask("configuration-list").dictionaryBody().rows("desired").last?["rollout"]?.stringValue
    }

    @Test func `CFG-79, SES-22: a rollout in a simulation goes on when the first app has lived with it`() throws {
        let (first, other) = (try startApp(at: 1), try startApp(at: 2))
        #expect(try apply(envelope(1), ["first": 1]) == ["secondary": "applied", "secondary-2": "held-back"])
        #expect(try rollout() == "waiting for the first" && other.offers.isEmpty)
        simulation.scheduler.advance(by: ConfigurationLimits.trial + .seconds(20))
        #expect(first.offers.count == 1 && other.offers.count == 1)
        #expect(try rollout() == nil)
    }

    @Test func `CFG-79, SES-22: a rejection by the first stops a rollout in a simulation`() throws {
        let (first, other) = (try startApp(at: 1), try startApp(at: 2))
        first.answerOffers { OfferReply(VerificationFailure(.schema, "too loud"), of: $0.envelope) }
        let envelope = try envelope(1)
        #expect(try apply(envelope, ["only": ["secondary"]]) == ["secondary": "schema", "secondary-2": "stopped"])
        #expect(try rollout() == "stopped: schema")
        simulation.scheduler.advance(by: .seconds(120))
        #expect(other.offers.isEmpty)
        #expect(try apply(envelope) == ["secondary": "schema", "secondary-2": "applied"])
    }

    @Test func `CFG-63, CFG-79, SES-22: in a simulation, a value that kills the first app never gets to the other one`()
        throws
    {
        var (first, other) = (try startApp(at: 1), try startApp(at: 2))
        #expect(try apply(envelope(1), ["first": 1])["secondary"] == "applied")
        for attempt in 1...3 {
            first.disconnect()
            simulation.scheduler.run()
            if attempt < 3 { first = try startApp(at: 1) }
        }
        #expect(try rollout() == "stopped: failed")
        other.disconnect()
        simulation.scheduler.run()
        other = try startApp(at: 2)
        simulation.scheduler.advance(by: .seconds(120))
        #expect(other.offers.isEmpty)
        _ = try startApp(at: 1)
        #expect(try apply(envelope(2)) == ["secondary": "applied", "secondary-2": "applied"])
    }

    @Test func `CFG-34, SES-22: a lifetime ends in a simulation, and only a higher version applies after it`() throws {
        let apps = [try startApp(at: 1), try startApp(at: 2)]
        let brief = try envelope(1) { $0.lifetime = 60 }
        #expect(try Set(apply(brief).values) == ["applied"])
        simulation.scheduler.advance(by: .seconds(45))
        #expect(apps.allSatisfy { $0.reloads == 0 })
        simulation.scheduler.advance(by: .seconds(30))
        #expect(apps.allSatisfy { $0.reloads == 1 })
        #expect(try Set(apply(brief).values) == ["rollback"])
        #expect(try Set(apply(envelope(2)).values) == ["applied"])
    }
}
