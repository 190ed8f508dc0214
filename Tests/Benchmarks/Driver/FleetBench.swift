// Fleet benchmark: the primary's part of one configuration to 1,000 secondaries, from its acceptance to their last
// report, and a verifier's part of 100 rotations.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration

/// A configuration with the reports of 1,000 secondaries, and a chain of 100 rotations, all signed once.
struct FleetBench {
    private static let secondaryCount = 1000
    private static let rotationCount = 100

    private let desired: DesiredConfiguration
    private let addressees: [ConfigurationAddressee]
    private let reporters = (0..<Self.secondaryCount).map { _ in ReportPrivateKey.generate() }
    private let chain: [[UInt8]]

    init() throws {
        let (signer, target) = (ConfigurationPrivateKey.generate(), try PairedIdentifier(text: "custom:bench"))
        let application = try ApplicationIdentifier("org.example.bench")
        let payload = ConfigurationPayload(
            application: application, role: .secondary, target: target, version: 1, transaction: .random(),
            issued: Linux.wallTime.seconds, values: ["volume": 75])
        desired = try DesiredConfiguration(
            envelope: ConfigurationSigner.sign(payload, with: [signer]), accepted: Linux.wallTime)
        addressees = (0..<Self.secondaryCount).map { _ in
            ConfigurationAddressee(pairing: .random(), device: .random(), target: { _ in target })
        }
        let (root, revoker) = (PrivateKey.generate(.ed25519), PrivateKey.generate(.ed25519))
        chain = try (0...Self.rotationCount).map { index in
            let document = KeySetDocument(
                subject: KeySubject(application: application, role: .secondary), version: UInt64(index) + 1,
                issued: Linux.wallTime.seconds,
                roles: [
                    .configuration: ([PrivateKey.generate(.ed25519).publicKey], 1), .keySet: ([root.publicKey], 1),
                    .revocation: ([revoker.publicKey], 1),
                ])
            return try KeyStatementSigner.sign(document, with: [root])
        }
    }

    func report() throws {
        let rounds = Rounds(count: 5)
        let (accepted, reports) = try answered()
        try rounds.figure("1,000 reports", over: [()]) {
            var state = accepted
            for (index, report) in reports.enumerated() {
                _ = try state.report(
                    report, from: addressees[index], device: addressees[index].device ?? .zero,
                    key: reporters[index].publicKey, at: Linux.wallTime, identifier: { .random() })
            }
        }.report()
        try rounds.figure("1,000 deliveries decided", over: [()]) { Sink.keep(try answers().count) }.report()
        try rounds.figure("100 rotations followed", over: [()]) {
            var history = try KeySetHistory(anchor: chain[0])
            if let failure = history.follow(chain) { throw failure }
        }.report()
    }

    /// The state after the acceptance, and a report of each secondary on its delivery.
    private func answered() throws -> (DesiredConfigurations, [[UInt8]]) {
        var state = DesiredConfigurations()
        let items = try state.accept(desired, for: addressees, at: Linux.wallTime, identifier: { .random() }).deliveries
        let reports = try zip(items, reporters.indices).map { item, index in
            guard let device = addressees[index].device, item.entry.pairing == addressees[index].pairing else {
                throw BenchError(text: "deliveries are not in the order of their secondaries")
            }
            let facts = ReportFacts(
                delivery: ConfigurationDelivery(pairing: item.entry.pairing, nonce: item.entry.id),
                key: item.entry.key, digest: item.entry.digest, transaction: desired.payload.transaction, version: 1,
                verdict: .applied, text: nil, good: GoodConfiguration(version: 1, digest: item.entry.digest))
            return ConfigurationReport(facts, device: device, counter: 1, time: Linux.wallTime)
                .signed(with: reporters[index])
        }
        return (state, reports)
    }

    private func answers() throws -> [ConfigurationItem] {
        var state = DesiredConfigurations()
        return try state.accept(desired, for: addressees, at: Linux.wallTime, identifier: { .random() }).deliveries
    }
}
