// The key spaces of the carrier's rows in the store, 33 to 48, and the keys in them. A slot's key is its texts with NUL
// between them: none of them can hold one.

import TandemBase
import TandemSignedConfiguration
import TandemStore

extension RowSpace {
    static let mark = RowSpace(rawValue: 33)
    static let staged = RowSpace(rawValue: 34)
    static let active = RowSpace(rawValue: 35)
    static let waived = RowSpace(rawValue: 36)
    static let anchor = RowSpace(rawValue: 37)
    /// What the device as a whole keeps: clock floor and report counter.
    static let carrierDevice = RowSpace(rawValue: 38)
    /// Signed reports that the queue has not accepted yet.
    static let owedReport = RowSpace(rawValue: 39)
    static let forwarded = RowSpace(rawValue: 40)
    /// The last accepted report counter of each pairing.
    static let reportCounter = RowSpace(rawValue: 41)
}

extension ConfigurationSlotKey {
    /// The key of the slot's rows.
    var bytes: [UInt8] {
        Array(application.description.utf8) + [0] + Array(role.rawValue.utf8) + [0] + Array(target.text.utf8)
    }

    init?(bytes: [UInt8]) {
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard parts.count == 3, let application = try? ApplicationIdentifier(parts[0]),
            let role = DeviceRole(rawValue: parts[1]), let target = try? PairedIdentifier(text: parts[2])
        else { return nil }
        self.init(application: application, role: role, target: target)
    }
}
