// Reading the receiving half's state back at start. A row that does not read is a damaged or newer store: refused by
// name.

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore

/// A row of the carrier's that cannot be read.
package struct CarrierRowError: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ space: RowSpace, _ detail: String) { description = "configuration row (\(space.rawValue)): \(detail)" }
}

extension ReceiverState {
    /// - Parameter rows: the rows of a key space.
    init(device: UniqueIdentifier, rows: (RowSpace) throws -> [Row]) throws {
        self.init(device: device)
        try restoreSlots(rows)
        for row in try rows(.anchor) {
            guard let anchor = KnownAnchor(row: try Self.fields(row)) else {
                throw CarrierRowError(.anchor, "unreadable")
            }
            anchors.restore(anchor)
        }
        for row in try rows(.owedReport) {
            guard let report = OwedReport(row: try Self.fields(row)) else {
                throw CarrierRowError(.owedReport, "unreadable")
            }
            owed.append(report)
        }
        for row in try rows(.carrierDevice) {
            let value = try Self.fields(row)["value"]
            if row.key == Self.clockFloorKey, let floor = value?.integerValue {
                clockFloor = WallTime(milliseconds: floor)
            }
            if row.key == Self.reportCounterKey, let counter = value?.unsignedValue { reportCounter = counter }
        }
    }

    private mutating func restoreSlots(_ rows: (RowSpace) throws -> [Row]) throws {
        var marks: [ConfigurationSlotKey: VersionMark] = [:]
        var staged: [ConfigurationSlotKey: StagedConfiguration] = [:]
        var active: [ConfigurationSlotKey: ActiveConfiguration] = [:]
        var waived: [ConfigurationSlotKey: ActiveConfiguration] = [:]
        for row in try rows(.mark) { marks[try Self.key(row)] = try VersionMark(try Self.fields(row)) }
        for row in try rows(.staged) { staged[try Self.key(row)] = try StagedConfiguration(try Self.fields(row)) }
        for row in try rows(.active) { active[try Self.key(row)] = try ActiveConfiguration(try Self.fields(row)) }
        for row in try rows(.waived) { waived[try Self.key(row)] = try ActiveConfiguration(try Self.fields(row)) }
        let keys = Set(marks.keys).union(staged.keys).union(active.keys).union(waived.keys)
        for key in keys {
            slots[key] = ConfigurationSlot(
                key: key, device: device, mark: marks[key], active: active[key], waived: waived[key],
                staged: staged[key])
        }
    }

    private static func key(_ row: Row) throws(CarrierRowError) -> ConfigurationSlotKey {
        guard let key = ConfigurationSlotKey(bytes: row.key) else {
            throw CarrierRowError(row.space, "its key names no slot")
        }
        return key
    }

    static func fields(_ row: Row) throws(CarrierRowError) -> PropertyListDictionary {
        do {
            return try PropertyListReader.readDictionary(row.value)
        } catch {
            throw CarrierRowError(row.space, error.description)
        }
    }
}
