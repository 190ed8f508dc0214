// Desired-state benchmark: a primary with 1,000 secondaries and 20 apps reads the rows of its desired state after a
// restart, and compares every secondary with it as their links come up.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration

/// Rows of 1,000 secondaries x 20 apps, of which all have what is desired.
struct DesiredBench {
    private static let secondaryCount = 1000
    private static let applicationCount = 20

    private let desired: [DesiredConfiguration]
    private let addressees: [ConfigurationAddressee]
    private let rows: [(addressee: Int, key: ConfigurationSlotKey, bytes: [UInt8])]

    init() throws {
        let (key, target) = (ConfigurationPrivateKey.generate(), try PairedIdentifier(text: "custom:bench"))
        let now = Linux.wallTime
        desired = try (0..<Self.applicationCount).map { number in
            let payload = ConfigurationPayload(
                application: try ApplicationIdentifier("org.example.bench\(number)"), role: .secondary, target: target,
                version: 1, transaction: .random(), issued: now.seconds, values: ["volume": 75])
            return try DesiredConfiguration(envelope: ConfigurationSigner.sign(payload, with: [key]), accepted: now)
        }
        addressees = (0..<Self.secondaryCount).map { _ in
            ConfigurationAddressee(pairing: .random(), device: .random(), target: { _ in target })
        }
        var rows: [(addressee: Int, key: ConfigurationSlotKey, bytes: [UInt8])] = []
        for index in addressees.indices {
            for one in desired {
                let row: PropertyListDictionary = [
                    "v": 1, "history": .array([]), "refusals": .array([]), "goodVersion": 1,
                    "goodDigest": .data(one.digest), "applied": .data(one.digest),
                ]
                rows.append((index, one.key, try PropertyListWriter.write(row)))
            }
        }
        self.rows = rows
    }

    func report() throws {
        let rounds = Rounds(count: 5)
        try rounds.figure("desired state of 1,000 x 20, read", over: [()]) { Sink.keep(try restored()) }.report()
        var state = try restored()
        try rounds.figure("desired state of 1,000 x 20, compared", over: [()]) {
            for addressee in addressees {
                let transition = state.linked(
                    addressee, isUnderWay: { _ in false }, at: Linux.wallTime, identifier: { .random() })
                guard transition.deliveries.isEmpty else { throw BenchError(text: "a secondary lacks something") }
            }
        }.report()
    }

    private func restored() throws -> DesiredConfigurations {
        var state = DesiredConfigurations()
        for one in desired { state.restore(try DesiredConfiguration(one.dictionary)) }
        for row in rows {
            let fields = try PropertyListReader.readDictionary(row.bytes)
            state.restore(try SecondaryState(fields), of: row.key, at: addressees[row.addressee].pairing)
        }
        return state
    }
}
