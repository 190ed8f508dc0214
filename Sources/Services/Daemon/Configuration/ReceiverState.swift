// Everything that the receiving half of the carrier keeps, as one value: slots, trusted keys, clock floor, report
// counter and the reports not yet queued. One value, because one verdict changes several of them in one commit
// (CFG-35).

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore

/// A signed report on its way into its queue.
struct OwedReport: Equatable {
    let id: UniqueIdentifier
    let pairing: UniqueIdentifier
    let application: ApplicationIdentifier
    let envelope: [UInt8]
}

/// The state of the receiving half.
struct ReceiverState {
    let device: UniqueIdentifier
    var slots: [ConfigurationSlotKey: ConfigurationSlot] = [:]
    var anchors = ConfigurationAnchors()
    var clockFloor = WallTime(seconds: ConfigurationLimits.earliestClock)
    var reportCounter: UInt64 = 0
    var owed: [OwedReport] = []
    /// Early failures are reported with restraint (CFG-52); counted anew after a start.
    var gates: [GateKey: EarlyFailureGate] = [:]

    struct GateKey: Hashable {
        let pairing: UniqueIdentifier
        let application: ApplicationIdentifier
    }

    init(device: UniqueIdentifier) { self.device = device }

    /// The slot of a key, made when it is first needed.
    subscript(key: ConfigurationSlotKey) -> ConfigurationSlot {
        get { slots[key] ?? ConfigurationSlot(key: key, device: device) }
        set { slots[key] = newValue }
    }
}

extension ReceiverState {
    static let clockFloorKey = Array("clock-floor".utf8)
    static let reportCounterKey = Array("report-counter".utf8)

    static func row(_ space: RowSpace, _ key: [UInt8], _ value: PropertyListDictionary) -> RowChange {
        do {
            return .put(space, key: key, value: try PropertyListWriter.write(value))
        } catch {
            preconditionFailure("the carrier's rows can always be written: \(error)")
        }
    }

    var counterRow: RowChange {
        Self.row(.carrierDevice, Self.reportCounterKey, ["value": PropertyListValue(reportCounter)])
    }

    var clockFloorRow: RowChange {
        Self.row(.carrierDevice, Self.clockFloorKey, ["value": .integer(clockFloor.milliseconds)])
    }
}

extension OwedReport {
    var row: RowChange {
        ReceiverState.row(
            .owedReport, id.bytes,
            [
                "id": .data(id.bytes), "pairing": .data(pairing.bytes), "app": .string(application.description),
                "envelope": .data(envelope),
            ])
    }

    init?(row: PropertyListDictionary) {
        guard let id = row["id"]?.dataValue.flatMap({ UniqueIdentifier(bytes: $0) }),
            let pairing = row["pairing"]?.dataValue.flatMap({ UniqueIdentifier(bytes: $0) }),
            let application = row["app"]?.stringValue.flatMap({ try? ApplicationIdentifier($0) }),
            let envelope = row["envelope"]?.dataValue
        else { return nil }
        self.init(id: id, pairing: pairing, application: application, envelope: envelope)
    }
}
