// Rows of a chain of keys: each step is one row, and the chain outlives restarts, another anchor and the form in which
// earlier releases stored it.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore
import TandemTestSupport
import Testing

@testable import TandemDaemon

@Suite struct ChainRowTests {
    private let holders: KeyHolders
    private let signer = ConfigurationPrivateKey.generate()
    private let device = UniqueIdentifier.random()
    private var subject: KeySubject { holders.subject }

    init() throws { holders = KeyHolders(of: try ApplicationIdentifier("org.example.alarm")) }

    private func set(_ version: UInt64) throws -> [UInt8] { try holders.set(version, [signer]) }

    /// Takes changes over as a store does.
    private func commit(_ changes: [RowChange], to rows: inout [RowSpace: [[UInt8]: [UInt8]]]) {
        for change in changes {
            switch change {
            case .put(let space, let key, let value): rows[space, default: [:]][key] = value
            case .delete(let space, let key): rows[space]?[key] = nil
            default: Issue.record("in one commit: \(change)")
            }
        }
    }

    private func restored(_ rows: [RowSpace: [[UInt8]: [UInt8]]]) throws -> ReceiverState {
        try ReceiverState(device: device) { space in
            (rows[space] ?? [:]).sorted { $0.key.lexicographicallyPrecedes($1.key) }
                .map { Row(space: space, key: $0.key, value: $0.value) }
        }
    }

    @Test("CFG-83: each step of a chain is a row of its own, and the rows restore the chain in its order")
    func eachStepIsARow() throws {
        var (state, rows) = (ReceiverState(device: device), [RowSpace: [[UInt8]: [UInt8]]]())
        let text = KeySetText.text(of: try set(1))
        commit(state.learn(text, for: subject, from: .application).changes, to: &rows)
        for version in UInt64(2)...300 {
            let step = try set(version)
            let changes = try state.follow(step, of: subject, isCarried: false)
            guard changes.count == 1, case .put(.chainStep, _, let value) = changes[0]
            else { throw Unexpected("one row: \(changes)") }
            #expect(value.count < step.count + 64)
            commit(changes, to: &rows)
        }
        let again = try restored(rows)
        #expect(again.anchors[subject] == state.anchors[subject] && again.anchors[subject]?.version == 300)
        let mark = state.anchors[subject]?.mark
        commit(state.untrust(subject), to: &rows)
        #expect(rows[.anchor]?.isEmpty == true && rows[.chainStep]?.isEmpty == true)
        commit(state.learn(text, for: subject, from: .application).changes, to: &rows)
        let learned = try restored(rows).anchors[subject]
        #expect(learned?.version == 1, "nothing of the former chain is left")
        #expect(learned?.mark == state.anchors[subject]?.mark && learned?.mark != mark, "SES-16")
    }

    @Test("CFG-83, CFG-98: a chain in the row of its anchor, as an earlier release stored it, goes on from there")
    func anEarlierRowGoesOn() throws {
        let row: PropertyListDictionary = [
            "app": .string(subject.application.description), "role": "secondary", "source": "application",
            "pem": .string(KeySetText.text(of: try set(1))), "steps": [.data(try set(2)), .data(try set(3))],
        ]
        var rows = [RowSpace.anchor: [subject.bytes: try PropertyListWriter.write(row)]]
        var state = try restored(rows)
        #expect(state.anchors[subject]?.version == 3)
        commit(try state.follow(try set(4), of: subject, isCarried: false), to: &rows)
        #expect(try restored(rows).anchors == state.anchors && state.anchors[subject]?.version == 4)
        rows[.chainStep]?[subject.bytes + [0, 0, 0, 0, 9]] = try PropertyListWriter.write(
            ["envelope": .data(try set(9))] as PropertyListDictionary)
        #expect(throws: (any Error).self, "a row that does not follow is a damaged store") { try restored(rows) }
    }
}
