// Rows and reports of the receiving half that outlast what they are about.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore
import Testing

@testable import TandemDaemon

@Suite struct LateReportTests {
    private let key: ConfigurationSlotKey
    private let device = UniqueIdentifier.random()

    init() throws {
        key = ConfigurationSlotKey(
            application: try ApplicationIdentifier("org.example.alarm"), role: .secondary,
            target: try PairedIdentifier(text: "custom:hw-1"))
    }

    @Test("CFG-50, CFG-52: a failure that was held back names what is active when its report is made")
    func activeConfiguration() throws {
        var state = ReceiverState(device: device)
        let (signer, start) = (ReportPrivateKey.generate(), MonotonicTime(nanoseconds: 1_000_000_000))
        let wall = WallTime(seconds: 1_800_000_000)
        for _ in 0..<2 {
            let facts = ReportFacts(
                delivery: ConfigurationDelivery(pairing: .random(), nonce: .random()), key: key,
                digest: SHA256.digest([]), transaction: nil, version: nil, verdict: .rejected(.threshold), text: nil,
                good: nil)
            for _ in 0..<2 {
                _ = state.owe(facts, signer: signer, now: ClockReading(monotonic: start, wall: wall))
            }
        }
        #expect(state.owed.count == 2 && state.holdsFailures)
        let payload = ConfigurationPayload(
            application: key.application, role: .secondary, target: key.target, version: 7, transaction: .random(),
            issued: wall.seconds - 60, values: ["volume": 80])
        let envelope = try ConfigurationSigner.sign(payload, with: [ConfigurationPrivateKey.generate()])
        let record = try ConfigurationRecord(key: key, device: device, envelope: envelope)
        state.keep(
            ConfigurationSlot(
                key: key, device: device, active: ActiveConfiguration(record, applied: wall, isWaived: false)))
        _ = state.oweHeldFailures(
            signer: signer, now: ClockReading(monotonic: start + EarlyFailureGate.interval, wall: wall))
        let late = try state.owed.dropFirst(2).map { try #require(try UnverifiedEnvelope($0.envelope).claimedFields) }
        #expect(late.count == 2 && late.allSatisfy { $0["goodVer"] == 7 })
    }

    @Test("CFG-50: reports that were owed at the daemon's end are owed in the order in which they were made")
    func orderOfReports() throws {
        var state = ReceiverState(device: device)
        let (signer, pairing) = (ReportPrivateKey.generate(), UniqueIdentifier.random())
        let now = ClockReading(monotonic: MonotonicTime(nanoseconds: 1), wall: WallTime(seconds: 1_800_000_000))
        let rows = (0..<12).flatMap { _ in
            let facts = ReportFacts(
                delivery: ConfigurationDelivery(pairing: pairing, nonce: .random()), key: key,
                digest: SHA256.digest([]), transaction: nil, version: nil, verdict: .waitingForApplication, text: nil,
                good: nil)
            return state.owe(facts, signer: signer, now: now)
        }
        let restored = try ReceiverState(device: device) { space in
            rows.compactMap { change in
                guard case .put(space, let key, let value) = change else { return nil }
                return Row(space: space, key: key, value: value)
            }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
        }
        #expect(restored.owed.count == 12 && restored.owed == state.owed)
    }

    @Test("CFG-114: a row about the loading of a configuration that has no slot is deleted")
    func orphans() throws {
        let row: PropertyListDictionary = [
            "v": 1, "digest": .data(SHA256.digest([])), "pairing": .data(device.bytes), "nonce": .data(device.bytes),
        ]
        let bytes = try PropertyListWriter.write(row)
        var state = try ReceiverState(device: device) { space in
            space == .loadReports ? [Row(space: space, key: key.bytes, value: bytes)] : []
        }
        let changes = state.dropOrphans()
        guard changes.count == 1, case .delete(.loadReports, let deleted) = changes[0] else {
            Issue.record("one row is deleted: \(changes)")
            return
        }
        #expect(deleted == key.bytes && state.dropOrphans().isEmpty)
    }
}
