// Rows of the desired state: each change of the machine as rows of the store, and the machine as its rows restore it. A
// row that does not read is a damaged or newer store: refused by name.

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore

extension DesiredConfigurations {
    /// - Parameter rows: the rows of a key space.
    init(rows: (RowSpace) throws -> [Row]) throws {
        self.init()
        for row in try rows(.desired) { restore(try DesiredConfiguration(try row.fields())) }
        for row in try rows(.desiredHistory) {
            guard let key = ConfigurationSlotKey(bytes: row.key),
                let lines = try row.fields()["lines"]?.arrayValue
            else { throw ConfigurationRowError(.desiredHistory, "unreadable") }
            restore(try lines.map { try AcceptedConfiguration($0.dictionaryValue ?? [:]) }, of: key)
        }
        for row in try rows(.secondaryState) {
            guard let pairing = UniqueIdentifier(bytes: Array(row.key.prefix(16))),
                let key = ConfigurationSlotKey(bytes: Array(row.key.dropFirst(16)))
            else { throw ConfigurationRowError(.secondaryState, "its key names no pairing and slot") }
            restore(try SecondaryState(try row.fields()), of: key, at: pairing)
        }
        // After the states, of which they are parts.
        for row in try rows(.forwarded) { restore(try ForwardedConfiguration(try row.fields())) }
        for row in try rows(.reportCounter) {
            guard let pairing = UniqueIdentifier(bytes: row.key), let counter = ReportCounter(try row.fields()) else {
                throw ConfigurationRowError(.reportCounter, "unreadable")
            }
            restore(counter, of: pairing)
        }
    }
}

extension DesiredTransition {
    var rows: [RowChange] { changes.flatMap(\.rows) }
}

extension DesiredChange {
    fileprivate var rows: [RowChange] {
        switch self {
        case .desired(let desired):
            [.set(.desired, key: Self.key(desired.key, desired.version), to: desired.dictionary)]
        case .dropped(let key, let version): [.delete(.desired, key: Self.key(key, version))]
        case .history(let key, let lines):
            [.set(.desiredHistory, key: key.bytes, to: ["lines": .array(lines.map { .dictionary($0.dictionary) })])]
        case .forwarded(let entry): [.set(.forwarded, key: entry.rowKey, to: entry.dictionary)]
        case .forgotten(let entry): [.delete(.forwarded, key: entry.rowKey)]
        case .state(let pairing, let key, let state):
            [.set(.secondaryState, key: pairing.bytes + key.bytes, to: state.dictionary)]
        case .counter(let pairing, let counter):
            [.set(.reportCounter, key: pairing.bytes, to: counter.dictionary)]
        case .unpaired(let pairing):
            [
                .deleteAll(.prefix(pairing.bytes, in: .forwarded)),
                .deleteAll(.prefix(pairing.bytes, in: .secondaryState)), .delete(.reportCounter, key: pairing.bytes),
            ]
        }
    }

    /// No text of the slot contains NUL, so that the version cannot run into them.
    private static func key(_ key: ConfigurationSlotKey, _ version: UInt64) -> [UInt8] {
        key.bytes + [0] + version.bigEndianBytes
    }
}

extension ForwardedConfiguration {
    fileprivate var rowKey: [UInt8] { pairing.bytes + id.bytes }
}

extension RowSpace {
    static let forwarded = RowSpace(rawValue: 40)
    /// The last accepted report counters of each pairing.
    static let reportCounter = RowSpace(rawValue: 41)
    /// The last envelopes that the operator applied, for each slot.
    static let desiredHistory = RowSpace(rawValue: 46)
    /// The state of each secondary by its reports, for each slot.
    static let secondaryState = RowSpace(rawValue: 47)
    static let desired = RowSpace(rawValue: 48)
}
