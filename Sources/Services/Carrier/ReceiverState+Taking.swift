// From what a slot answered to the rows of one commit: the slot's records, the device's clock floor and counter, and the signed
// reports that are owed from then on.

import TandemCrypto
import TandemDelivery
import TandemIdentity
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
        var facts = facts
        // Who does not take its reports gets no more of them: what it sends must not fill this device.
        guard owed.count(where: { $0.pairing == facts.delivery.pairing }) < Self.mostOwed else { return [] }
        if case .rejected(let rejection) = facts.verdict, rejection.isEarly {
            guard let count = gate(facts, at: now.monotonic) else { return [] }
            if count > 1 { facts.text = "\(count) in a row; the last: \(facts.text ?? rejection.rawValue)" }
        }
        reportCounter += 1
        let report = ConfigurationReport(facts, device: device, counter: reportCounter, time: now.wall)
        let owed = OwedReport(
            id: .random(), pairing: facts.delivery.pairing, application: facts.key.application,
            envelope: report.signed(with: signer))
        self.owed.append(owed)
        return [counterRow, owed.row]
    }

    /// How many early failures to report now; nil to keep quiet (CFG-52).
    private mutating func gate(_ facts: ReportFacts, at now: MonotonicTime) -> Int? {
        let key = GateKey(pairing: facts.delivery.pairing, application: facts.key.application)
        return gates[key, default: EarlyFailureGate()].failed(at: now)
    }
}
