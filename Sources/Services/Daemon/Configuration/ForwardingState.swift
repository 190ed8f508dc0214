// State of the forwarding half: the configurations on their way with their results, the last finished one of each kind,
// and the last report counter of each secondary.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore

/// The state of the forwarding half.
struct ForwardingState {
    private(set) var entries: [UniqueIdentifier: ForwardedConfiguration] = [:]
    private var counters: [UniqueIdentifier: UInt64] = [:]

    init() {}

    init(rows: (RowSpace) throws -> [Row]) throws {
        for row in try rows(.forwarded) {
            guard let entry = ForwardedConfiguration(row: try ReceiverState.fields(row)) else {
                throw ConfigurationRowError(.forwarded, "unreadable")
            }
            entries[entry.id] = entry
        }
        for row in try rows(.reportCounter) {
            guard let pairing = UniqueIdentifier(bytes: row.key),
                let counter = try ReceiverState.fields(row)["value"]?.unsignedValue
            else { throw ConfigurationRowError(.reportCounter, "unreadable") }
            counters[pairing] = counter
        }
    }

    /// Records an entry; older finished ones of the same secondary and slot are dropped.
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
        _ envelope: [UInt8], from peer: ConfigurationPeer, now: WallTime
    ) throws(ReportFailure) -> (entry: ForwardedConfiguration, changes: [RowChange]) {
        guard let key = try? PublicKey(subjectPublicKeyInfo: peer.reportKey), let device = peer.device
        else {
            throw .threshold
        }
        let open = entries.values.filter { $0.pairing == peer.pairing && !$0.isFinished }.map(\.id)
        var verifier = ReportVerifier(
            key: ReportPublicKey(key), device: device, pairing: peer.pairing, counter: counters[peer.pairing] ?? 0,
            open: Set(open))
        let report = try verifier.accept(envelope)
        guard var entry = entries[report.facts.delivery.nonce], entry.digest == report.facts.digest else {
            throw .wrongNonce
        }
        entry.verdict = report.facts.verdict.name
        entry.text = report.facts.text
        entry.reported = now
        entry.isFinished = !report.facts.verdict.isProvisional
        counters[peer.pairing] = verifier.counter
        let counterRow = ReceiverState.row(
            .reportCounter, peer.pairing.bytes, ["value": PropertyListValue(verifier.counter)])
        return (entry, update(entry) + [counterRow])
    }

    /// The entry ends with a verdict of this device, unless a report has finished it.
    mutating func end(_ id: UniqueIdentifier, _ verdict: String, _ text: String?) -> [RowChange] {
        guard var entry = entries[id], !entry.isFinished else { return [] }
        (entry.verdict, entry.text, entry.isFinished) = (verdict, text, true)
        return update(entry)
    }

    /// The pairing is gone.
    mutating func remove(_ pairing: UniqueIdentifier) -> [RowChange] {
        entries = entries.filter { $0.value.pairing != pairing }
        counters[pairing] = nil
        return [.deleteAll(.prefix(pairing.bytes, in: .forwarded)), .delete(.reportCounter, key: pairing.bytes)]
    }
}

/// A configuration on its way to one secondary, and its result. One row each, so that a report that comes after a
/// restart still finds its configuration. The item's identifier is the nonce that the report must repeat.
struct ForwardedConfiguration: Sendable, Equatable {
    /// The item, and the nonce.
    let id: UniqueIdentifier
    let pairing: UniqueIdentifier
    let key: ConfigurationSlotKey
    let version: UInt64
    let digest: [UInt8]
    let accepted: WallTime
    /// The last verdict that was reported, or how the item ended before it was judged; nil while nothing is known.
    fileprivate(set) var verdict: String?
    fileprivate(set) var text: String?
    fileprivate(set) var reported: WallTime?
    /// No other verdict follows.
    fileprivate(set) var isFinished = false
}

extension ForwardedConfiguration {
    var rowKey: [UInt8] { pairing.bytes + id.bytes }

    var row: RowChange {
        var row: PropertyListDictionary = [
            "id": .data(id.bytes), "pairing": .data(pairing.bytes), "app": .string(key.application.description),
            "role": .string(key.role.rawValue), "target": .string(key.target.text),
            "version": PropertyListValue(version), "digest": .data(digest), "accepted": .integer(accepted.milliseconds),
            "finished": .boolean(isFinished),
        ]
        row["verdict"] = verdict.map { .string($0) }
        row["text"] = text.map { .string($0) }
        row["reported"] = reported.map { .integer($0.milliseconds) }
        return ReceiverState.row(.forwarded, rowKey, row)
    }

    init?(row: PropertyListDictionary) {
        guard let id = row["id"]?.dataValue.flatMap({ UniqueIdentifier(bytes: $0) }),
            let pairing = row["pairing"]?.dataValue.flatMap({ UniqueIdentifier(bytes: $0) }),
            let app = row["app"]?.stringValue.flatMap({ try? ApplicationIdentifier($0) }),
            let role = row["role"]?.stringValue.flatMap({ DeviceRole(rawValue: $0) }),
            let target = row["target"]?.stringValue.flatMap({ try? PairedIdentifier(text: $0) }),
            let version = row["version"]?.unsignedValue, let digest = row["digest"]?.dataValue,
            let accepted = row["accepted"]?.integerValue, let isFinished = row["finished"]?.booleanValue
        else { return nil }
        self.init(
            id: id, pairing: pairing, key: ConfigurationSlotKey(application: app, role: role, target: target),
            version: version, digest: digest, accepted: WallTime(milliseconds: accepted),
            verdict: row["verdict"]?.stringValue, text: row["text"]?.stringValue,
            reported: row["reported"]?.integerValue.map { WallTime(milliseconds: $0) }, isFinished: isFinished)
    }
}
