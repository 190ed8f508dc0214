// Fleet benchmark: one configuration to 1,000 secondaries that verify it, from its acceptance to the last report, the
// primary's part of that, and a verifier's part of 100 rotations. All in one thread, without disks and links.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemReactor
import TandemSettings
import TandemSignedConfiguration

/// A configuration with the reports of 1,000 secondaries, and a chain of 100 rotations, all signed once.
struct FleetBench {
    private static let secondaryCount = 1000
    private static let rotationCount = 100

    /// The schema of the app at each secondary.
    private static let schema = SettingsSchema([
        SettingDeclaration(
            name: "volume", type: .integer, editor: .slider, summary: "", bounds: .integer(0...100),
            initialValue: .integer(7))
    ])

    private let desired: DesiredConfiguration
    /// The keys that each secondary trusts.
    private let keys: KeySetHistory
    private let addressees: [ConfigurationAddressee]
    private let reporters = (0..<Self.secondaryCount).map { _ in ReportPrivateKey.generate() }
    private let chain: [[UInt8]]

    init() throws {
        let (signer, target) = (ConfigurationPrivateKey.generate(), try PairedIdentifier(text: "custom:bench"))
        keys = KeySetHistory(TrustedKeySet(signer.publicKey))
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
        try rounds.figure("1,000 secondaries verify, to the last report", over: [()]) {
            var (state, items) = try accepted()
            for index in items.indices { try take(try report(on: items[index], at: index), of: index, in: &state) }
        }.report()
        let (taken, items) = try accepted()
        let reports = try items.indices.map { try report(on: items[$0], at: $0) }
        try rounds.figure("1,000 reports", over: [()]) {
            var state = taken
            for index in reports.indices { try take(reports[index], of: index, in: &state) }
        }.report()
        try rounds.figure("1,000 deliveries decided", over: [()]) {
            Sink.keep(try accepted().items.count)
        }.report()
        try rounds.figure("100 rotations followed", over: [()]) {
            var history = try KeySetHistory(anchor: chain[0])
            if let failure = history.follow(chain) { throw failure }
        }.report()
    }

    /// The primary's state after the acceptance, and its deliveries in the order of the secondaries.
    private func accepted() throws -> (state: DesiredConfigurations, items: [ConfigurationItem]) {
        var state = DesiredConfigurations()
        let items = try state.accept(
            desired, for: addressees, hasLeft: { _ in false }, at: Linux.wallTime, identifier: { .random() }
        ).deliveries
        guard items.map(\.entry.pairing) == addressees.map(\.pairing) else {
            throw BenchError(text: "deliveries are not in the order of their secondaries")
        }
        return (state, items)
    }

    /// The signed report of one secondary: its daemon verifies and stages, its app's library verifies and judges the
    /// values, and the daemon signs what came of it.
    private func report(on item: ConfigurationItem, at index: Int) throws -> [UInt8] {
        let (key, device, now) = (item.entry.key, addressees[index].device ?? .zero, Linux.wallTime)
        var context = VerificationContext(
            profile: .full, application: key.application, role: key.role, anchor: .trusted(keys),
            target: key.target, device: device, now: now)
        var slot = ConfigurationSlot(key: key, device: device)
        _ = slot.applicationConnected(.registered)
        let delivery = ConfigurationDelivery(pairing: item.entry.pairing, nonce: item.entry.id)
        guard case .offer(let offer)? = slot.received(item.envelope, by: delivery, in: context).effects.first else {
            throw BenchError(text: "a secondary did not offer the configuration to its app")
        }
        context.profile = .full
        let applicable = try ApplicableConfiguration(verifying: offer.envelope, in: context)
        Sink.keep(try Self.schema.payload(applicable.payload.values))
        let transition = slot.answered(OfferReply(applied: applicable.verified), now: now)
        for case .report(let facts) in transition.changes {
            return ConfigurationReport(facts, device: device, counter: 1, time: now).signed(with: reporters[index])
        }
        throw BenchError(text: "a secondary did not report")
    }

    /// The primary verifies a report and notes it.
    private func take(_ report: [UInt8], of index: Int, in state: inout DesiredConfigurations) throws {
        let entry = try state.report(
            report, from: addressees[index], device: addressees[index].device ?? .zero,
            key: reporters[index].publicKey, at: Linux.wallTime, identifier: { .random() }
        ).entry
        guard entry.verdict == "applied" else { throw BenchError(text: "a secondary reported \(entry.verdict ?? "-")") }
    }
}
