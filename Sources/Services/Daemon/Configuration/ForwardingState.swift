// What the forwarding half keeps: the configurations on their way, the last of each kind that arrived, and how far each
// secondary's report counter has come.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore

/// The state of the forwarding half.
struct ForwardingState {
    var entries: [UniqueIdentifier: ForwardedConfiguration] = [:]
    var counters: [UniqueIdentifier: UInt64] = [:]

    init() {}

    init(rows: (RowSpace) throws -> [Row]) throws {
        for row in try rows(.forwarded) {
            guard let entry = ForwardedConfiguration(row: try ReceiverState.fields(row)) else {
                throw CarrierRowError(.forwarded, "unreadable")
            }
            entries[entry.id] = entry
        }
        for row in try rows(.reportCounter) {
            guard let pairing = UniqueIdentifier(bytes: row.key),
                let counter = try ReceiverState.fields(row)["value"]?.unsignedValue
            else { throw CarrierRowError(.reportCounter, "unreadable") }
            counters[pairing] = counter
        }
    }

    /// Takes down how an entry stands; older finished ones of the same secondary and slot are dropped.
    mutating func update(_ entry: ForwardedConfiguration) -> [RowChange] {
        entries[entry.id] = entry
        guard entry.isFinished else { return [entry.row] }
        let older = entries.values.filter {
            $0.id != entry.id && $0.isFinished && $0.pairing == entry.pairing && $0.key == entry.key
        }
        for old in older { entries[old.id] = nil }
        return [entry.row] + older.map { .delete(.forwarded, key: $0.rowKey) }
    }

    /// Verifies a report of a secondary against what was sent to it (CFG-51).
    mutating func accept(
        _ envelope: [UInt8], from record: PairingRecord, now: WallTime
    ) throws(ReportFailure) -> (entry: ForwardedConfiguration, changes: [RowChange]) {
        guard let key = try? PublicKey(subjectPublicKeyInfo: record.reportKey), let device = record.peerVendorIdentifier
        else {
            throw .threshold
        }
        let open = entries.values.filter { $0.pairing == record.pairing && !$0.isFinished }.map(\.id)
        var verifier = ReportVerifier(
            key: ReportPublicKey(key), device: device, pairing: record.pairing, counter: counters[record.pairing] ?? 0,
            open: Set(open))
        let report = try verifier.accept(envelope)
        guard var entry = entries[report.facts.delivery.nonce], entry.digest == report.facts.digest else {
            throw .wrongNonce
        }
        entry.verdict = report.facts.verdict.name
        entry.text = report.facts.text
        entry.reported = now
        entry.isFinished = !report.facts.verdict.isProvisional
        counters[record.pairing] = verifier.counter
        let counterRow = ReceiverState.row(
            .reportCounter, record.pairing.bytes, ["value": PropertyListValue(verifier.counter)])
        return (entry, update(entry) + [counterRow])
    }

    /// Everything of a pairing that is gone.
    mutating func remove(_ pairing: UniqueIdentifier) -> [RowChange] {
        entries = entries.filter { $0.value.pairing != pairing }
        counters[pairing] = nil
        return [.deleteAll(.prefix(pairing.bytes, in: .forwarded)), .delete(.reportCounter, key: pairing.bytes)]
    }
}
