// From what a slot answered to the rows of one commit: the slot's records, the device's clock floor and counter, and
// the signed reports that are owed from then on.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore

extension ReceiverState {
    /// Keeps a slot that holds something; others are made again when they are needed.
    mutating func keep(_ slot: ConfigurationSlot) {
        let isEmpty = slot.mark == nil && slot.staged == nil && slot.active == nil && slot.waived == nil
        slots[slot.key] = isEmpty && !slot.isApplicationConnected ? nil : slot
    }

    /// Takes over what a slot answered; returns the rows to commit.
    mutating func take(
        _ transition: ApplyTransition, of key: ConfigurationSlotKey, signer: ReportPrivateKey, now: Reading
    ) -> [RowChange] {
        transition.changes.flatMap { change -> [RowChange] in
            switch change {
            case .mark(let mark): [Self.row(.mark, key.bytes, mark.dictionary)]
            case .staged(let staged): [Self.row(.staged, key.bytes, staged?.dictionary)]
            case .active(let active): [Self.row(.active, key.bytes, active?.dictionary)]
            case .waived(let waived): [Self.row(.waived, key.bytes, waived?.dictionary)]
            case .clockFloor(let floor): raiseClockFloor(floor)
            case .report(let facts): owe(facts, signer: signer, now: now)
            }
        }
    }

    private static func row(_ space: RowSpace, _ key: [UInt8], _ value: PropertyListDictionary?) -> RowChange {
        value.map { row(space, key, $0) } ?? .delete(space, key: key)
    }

    private mutating func raiseClockFloor(_ floor: WallTime) -> [RowChange] {
        guard floor > clockFloor else { return [] }
        clockFloor = floor
        return [clockFloorRow]
    }

    /// Reports of one pairing that wait for room in its queue; far above what an honest primary leaves waiting.
    static var mostOwed: Int { 256 }

    private mutating func owe(_ facts: ReportFacts, signer: ReportPrivateKey, now: Reading) -> [RowChange] {
        guard case .rejected(let rejection) = facts.verdict, rejection.isEarly else {
            return sign(facts, signer: signer, now: now)
        }
        let key = GateKey(pairing: facts.delivery.pairing, application: facts.key.application)
        let due = gates[key, default: EarlyFailureGate()].failed(facts, at: now.monotonic)
        return due.map { sign($0, signer: signer, now: now) } ?? []
    }

    /// The reports of early failures that were held back until their minute was over (CFG-52).
    mutating func oweHeldFailures(signer: ReportPrivateKey, now: Reading) -> [RowChange] {
        gates.keys.flatMap { key in
            gates[key]?.due(at: now.monotonic).map { sign($0, signer: signer, now: now) } ?? []
        }
    }

    private mutating func sign(_ facts: ReportFacts, signer: ReportPrivateKey, now: Reading) -> [RowChange] {
        // Who does not take its reports gets no more of them: what it sends must not fill this device.
        guard owed.count(where: { $0.pairing == facts.delivery.pairing }) < Self.mostOwed else { return [] }
        reportCounter += 1
        let report = ConfigurationReport(facts, device: device, counter: reportCounter, time: now.wall)
        let owed = OwedReport(
            id: .random(), pairing: facts.delivery.pairing, application: facts.key.application,
            envelope: report.signed(with: signer))
        self.owed.append(owed)
        return [counterRow, owed.row]
    }
}
