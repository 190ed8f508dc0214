// A configuration on its way to one secondary, and what became of it: a row each, so that a report that comes after a
// restart still finds what it answers. The item's identifier is the nonce that the report must repeat.

package import TandemBase
import TandemCrypto
import TandemPropertyList
package import TandemSignedConfiguration
import TandemStore

/// One configuration for one secondary.
package struct ForwardedConfiguration: Sendable, Equatable {
    /// The item, and the nonce.
    package let id: UniqueIdentifier
    package let pairing: UniqueIdentifier
    package let key: ConfigurationSlotKey
    package let version: UInt64
    package let digest: [UInt8]
    package let accepted: WallTime
    /// The last verdict that was reported, or how the item ended before it was judged; nil while nothing is known.
    package internal(set) var verdict: String?
    package internal(set) var text: String?
    package internal(set) var reported: WallTime?
    /// No other verdict follows.
    package internal(set) var isFinished = false
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
