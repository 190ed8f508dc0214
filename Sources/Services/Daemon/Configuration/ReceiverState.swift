// State of the receiving half as one value: slots, trusted keys, clock floors, report counter and the reports not yet
// queued. One value, because one verdict changes several of them in one commit (CFG-35). It turns a slot's answer into
// the rows of that commit, and reads them back at the start. A row that does not read is a damaged or newer store:
// refused by name.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// A signed report on its way into its queue.
struct OwedReport: Equatable {
    let id: UniqueIdentifier
    let pairing: UniqueIdentifier
    let application: ApplicationIdentifier
    let envelope: [UInt8]

    var queue: QueueKey { .configuration(of: application, at: pairing) }
    /// The report's own; parses the envelope.
    fileprivate var counter: UInt64 {
        (try? UnverifiedEnvelope(envelope))?.claimedFields?["counter"]?.unsignedValue ?? 0
    }
}

/// The state of the receiving half.
struct ReceiverState {
    let device: UniqueIdentifier
    private(set) var slots: [ConfigurationSlotKey: ConfigurationSlot] = [:]
    private(set) var anchors = ConfigurationAnchors()
    /// The clock floors of apps that have applied something (CFG-33).
    private var clockFloors: [KeySubject: WallTime] = [:]
    private var reportCounter: UInt64 = 0
    private(set) var owed: [OwedReport] = []
    /// The pairings whose primaries read reports of the second form (CFG-67).
    private var trialReaders: Set<UniqueIdentifier> = []
    /// Early failures are reported with restraint (CFG-52); counted again from zero after a start.
    private var gates: [GateKey: EarlyFailureGate] = [:]

    /// Removals of rows that were read and belong to nothing.
    private var orphans: [RowChange] = []

    private struct GateKey: Hashable {
        let pairing: UniqueIdentifier
        let application: ApplicationIdentifier
        /// About a key set or a revocation, and not about a configuration.
        let isStatement: Bool
    }

    init(device: UniqueIdentifier) { self.device = device }

    /// The time below which the clock is unset for an app's configuration (CFG-33).
    func clockFloor(of subject: KeySubject) -> WallTime { clockFloors[subject] ?? .earliestPlausible }

    /// The slot of a key, made when it is first needed.
    subscript(key: ConfigurationSlotKey) -> ConfigurationSlot {
        slots[key] ?? ConfigurationSlot(key: key, device: device)
    }

    // MARK: changes

    /// Learns a trusted key; returns the rows to commit.
    /// - Parameter anchor: that of the text, if it was read before.
    mutating func learn(
        _ pem: String, for key: KeySubject, from source: KnownAnchor.Source, _ anchor: ConfigurationAnchor? = nil
    ) -> (learning: ConfigurationAnchors.Learning, changes: [RowChange]) {
        let learning = anchors.learn(pem, for: key, from: source, anchor)
        guard case .new(let anchor) = learning else { return (learning, []) }
        return (learning, anchor.rows)
    }

    /// Follows a key set or a revocation; returns the rows to commit, none for one that is known.
    /// - Parameter isCarried: it comes with a primary's chain.
    mutating func follow(
        _ statement: [UInt8], of key: KeySubject, isCarried: Bool
    ) throws(VerificationFailure) -> [RowChange] {
        guard let anchor = try anchors.follow(statement, of: key, isCarried: isCarried) else { return [] }
        return [anchor.rowOfLastStep].compactMap { $0 }
    }

    /// Forgets the trusted key of an app's configuration, and the clock floor that came of what it had signed.
    mutating func untrust(_ key: KeySubject) -> [RowChange] {
        let removal = anchors.remove(key)?.removal ?? []
        guard clockFloors.removeValue(forKey: key) != nil else { return removal }
        return removal + [.delete(.configurationDevice, key: Self.clockFloorKey + key.bytes)]
    }

    /// The report is in its queue.
    mutating func forget(_ report: OwedReport) -> [RowChange] {
        owed.removeAll { $0.id == report.id }
        return [.delete(.owedReport, key: report.id.bytes)]
    }

    /// Forgets the rows that were read and belong to nothing; returns the changes to commit.
    mutating func dropOrphans() -> [RowChange] {
        defer { orphans = [] }
        return orphans
    }

    /// The pairing is gone, and the primary that would read its reports; returns the rows to commit.
    mutating func forget(_ pairing: UniqueIdentifier) -> [RowChange] {
        gates = gates.filter { $0.key.pairing != pairing }
        return setReadsTrials(false, pairing)
    }

    /// The pairings of which anything is known but their targets.
    var pairings: Set<UniqueIdentifier> { trialReaders }

    /// Whether the primary of a pairing reads reports of the second form, as its last link said.
    mutating func setReadsTrials(_ reads: Bool, _ pairing: UniqueIdentifier) -> [RowChange] {
        guard reads != trialReaders.contains(pairing) else { return [] }
        if reads { trialReaders.insert(pairing) } else { trialReaders.remove(pairing) }
        return [.set(.trialReader, key: pairing.bytes, to: reads ? ["v": 1] : nil)]
    }

    /// Early failures wait for their minute to end.
    var holdsFailures: Bool { gates.values.contains { $0.isHolding } }

    /// Keeps a slot with content; empty ones are made again when they are needed.
    mutating func keep(_ slot: ConfigurationSlot) {
        // A trial is never without what is on trial.
        let isEmpty = slot.mark == nil && slot.staged == nil && slot.active == nil && slot.waived == nil
        slots[slot.key] = isEmpty && !slot.isApplicationConnected ? nil : slot
    }

    /// Takes a slot's answer over; returns the rows to commit.
    mutating func take(_ step: SlotStep, signer: ReportPrivateKey, now: ClockReading) -> [RowChange] {
        let key = step.key
        return step.transition.changes.flatMap { change -> [RowChange] in
            switch change {
            case .mark(let mark): [.set(.mark, key: key.bytes, to: mark.dictionary)]
            case .staged(let staged): [.set(.staged, key: key.bytes, to: staged?.row)]
            case .counted(let staged): [.set(.staged, key: key.bytes, to: staged.row)]
            case .trial(let trial): [.set(.trial, key: key.bytes, to: trial?.row)]
            case .loadReports(let reports): [.set(.loadReports, key: key.bytes, to: reports?.dictionary)]
            case .active(let active): [.set(.active, key: key.bytes, to: active?.dictionary)]
            case .waived(let waived): [.set(.waived, key: key.bytes, to: waived?.dictionary)]
            case .clockFloor(let floor): raiseClockFloor(of: key.subject, to: floor)
            case .report(let facts):
                owe(facts, isAwaited: step.awaiting.contains(facts.delivery), signer: signer, now: now)
            }
        }
    }

    private mutating func raiseClockFloor(of subject: KeySubject, to floor: WallTime) -> [RowChange] {
        guard floor > clockFloor(of: subject) else { return [] }
        clockFloors[subject] = floor
        let key = Self.clockFloorKey + subject.bytes
        return [.set(.configurationDevice, key: key, to: ["value": .integer(floor.milliseconds)])]
    }

    /// Reports of one pairing that wait for room in its queue; far above what an honest primary leaves waiting.
    private static var mostOwed: Int { 256 }

    /// - Parameters:
    ///   - isStatement: whether the report is about a key set or a revocation: a failure of one must not take the place
    ///     of a configuration's.
    ///   - isAwaited: whether the delivery has waited for its last verdict: its sender never delivers again by itself.
    mutating func owe(
        _ facts: ReportFacts, isStatement: Bool = false, isAwaited: Bool = false, signer: ReportPrivateKey,
        now: ClockReading
    ) -> [RowChange] {
        guard facts.verdict.isEarly, !isAwaited else { return sign(facts, signer: signer, now: now) }
        let key = GateKey(
            pairing: facts.delivery.pairing, application: facts.key.application, isStatement: isStatement)
        let gate = EarlyFailureGate(isStatement: isStatement)
        let due = gates[key, default: gate].failed(facts, at: now.monotonic)
        return due.flatMap { signLate($0, signer: signer, now: now) }
    }

    /// The reports of early failures that were delayed until their minute was over (CFG-52).
    mutating func oweHeldFailures(signer: ReportPrivateKey, now: ClockReading) -> [RowChange] {
        gates.keys.flatMap { key -> [RowChange] in
            let due = gates[key]?.due(at: now.monotonic) ?? []
            return due.flatMap { signLate($0, signer: signer, now: now) }
        }
    }

    /// Names what is active by now: that may have changed since the failure, and the last report counts (CFG-50).
    private mutating func signLate(
        _ facts: ReportFacts, signer: ReportPrivateKey, now: ClockReading
    ) -> [RowChange] {
        sign(facts.with(active: self[facts.key].good), signer: signer, now: now)
    }

    private mutating func sign(_ facts: ReportFacts, signer: ReportPrivateKey, now: ClockReading) -> [RowChange] {
        // A primary that does not take its reports must not fill this device with them.
        guard owed.count(where: { $0.pairing == facts.delivery.pairing }) < Self.mostOwed else { return [] }
        let form: ConfigurationReport.Form = trialReaders.contains(facts.delivery.pairing) ? .second : .first
        guard let sent = form == .second ? facts : facts.inFirstForm else { return [] }
        reportCounter += 1
        let report = ConfigurationReport(sent, device: device, counter: reportCounter, time: now.wall, form: form)
        let owed = OwedReport(
            id: .random(), pairing: facts.delivery.pairing, application: facts.key.application,
            envelope: report.signed(with: signer))
        self.owed.append(owed)
        return [counterRow, owed.row]
    }

    // MARK: rows

    private static let clockFloorKey = Array("clock-floor".utf8)
    private static let reportCounterKey = Array("report-counter".utf8)

    private var counterRow: RowChange {
        .set(.configurationDevice, key: Self.reportCounterKey, to: ["value": PropertyListValue(reportCounter)])
    }

    /// - Parameter rows: the rows of a key space.
    init(device: UniqueIdentifier, rows: (RowSpace) throws -> [Row]) throws {
        self.init(device: device)
        try restoreSlots(rows)
        try restoreAnchors(rows)
        let reports = try rows(.owedReport).map { row in
            guard let report = OwedReport(row: try row.fields()) else {
                throw ConfigurationRowError(.owedReport, "unreadable")
            }
            return (counter: report.counter, report: report)
        }
        // The keys of the rows are random, and a report that comes behind a later one is refused (CFG-51).
        owed = reports.sorted { $0.counter < $1.counter }.map { $0.report }
        for row in try rows(.trialReader) {
            guard let pairing = UniqueIdentifier(bytes: row.key) else {
                throw ConfigurationRowError(.trialReader, "its key names no pairing")
            }
            trialReaders.insert(pairing)
        }
        for row in try rows(.configurationDevice) {
            let value = try row.fields()["value"]
            // A row with no app behind the name is the device's, of a version that had one floor for all apps.
            if row.key.starts(with: Self.clockFloorKey), let floor = value?.integerValue,
                let subject = KeySubject(bytes: Array(row.key.dropFirst(Self.clockFloorKey.count)))
            {
                clockFloors[subject] = WallTime(milliseconds: floor)
            }
            if row.key == Self.reportCounterKey {
                guard let counter = value?.counterValue else {
                    throw ConfigurationRowError(.configurationDevice, "the counter of reports is unreadable")
                }
                reportCounter = counter
            }
        }
    }

    private mutating func restoreAnchors(_ rows: (RowSpace) throws -> [Row]) throws {
        var steps: [KeySubject: [[UInt8]]] = [:]
        // In the order of their keys, and so of the chain.
        for row in try rows(.chainStep) {
            guard let subject = KnownAnchor.subject(ofStep: row.key),
                let envelope = try row.fields()["envelope"]?.dataValue
            else { throw ConfigurationRowError(.chainStep, "unreadable") }
            steps[subject, default: []].append(envelope)
        }
        for row in try rows(.anchor) {
            let following = KeySubject(bytes: row.key).flatMap { steps[$0] } ?? []
            guard let anchor = KnownAnchor(row: try row.fields(), following: following) else {
                throw ConfigurationRowError(.anchor, "unreadable")
            }
            anchors.restore(anchor)
        }
    }

    private mutating func restoreSlots(_ rows: (RowSpace) throws -> [Row]) throws {
        let marks = try Self.read(rows(.mark)) { try VersionMark($0) }
        let staged = try Self.read(rows(.staged)) { try StagedConfiguration($0) }
        let active = try Self.read(rows(.active)) { try ActiveConfiguration($0) }
        let waived = try Self.read(rows(.waived)) { try ActiveConfiguration($0) }
        var loadReports = try Self.read(rows(.loadReports)) { try LoadReports($0) }
        let trials = try Self.read(rows(.trial)) { try ConfigurationTrial($0) }
        let keys = Set(marks.keys).union(staged.keys).union(active.keys).union(waived.keys)
        for key in keys {
            slots[key] = ConfigurationSlot(
                key: key, device: device, mark: marks[key], active: active[key], waived: waived[key],
                staged: staged[key], trial: trials[key], loadReports: loadReports.removeValue(forKey: key))
            if let floor = active[key]?.clockFloor, floor > clockFloor(of: key.subject) {
                clockFloors[key.subject] = floor
            }
        }
        orphans = loadReports.keys.map { .delete(.loadReports, key: $0.bytes) }
    }

    private static func read<Part>(
        _ rows: [Row], _ part: (PropertyListDictionary) throws -> Part
    ) throws -> [ConfigurationSlotKey: Part] {
        try rows.reduce(into: [:]) { parts, row in
            guard let key = ConfigurationSlotKey(bytes: row.key) else {
                throw ConfigurationRowError(row.space, "its key names no slot")
            }
            parts[key] = try part(try row.fields())
        }
    }
}

extension RowChange {
    /// Writes fields as the row, or removes it where there are none.
    static func set(_ space: RowSpace, key: [UInt8], to fields: PropertyListDictionary?) -> RowChange {
        fields.map { RowChange.put(space, key: key, value: $0.ownBytes) } ?? .delete(space, key: key)
    }
}

extension Row {
    func fields() throws(ConfigurationRowError) -> PropertyListDictionary {
        do {
            return try PropertyListReader.readDictionary(value)
        } catch {
            throw ConfigurationRowError(space, error.description)
        }
    }
}

extension OwedReport {
    fileprivate var row: RowChange {
        .set(
            .owedReport, key: id.bytes,
            to: [
                "id": .data(id.bytes), "pairing": .data(pairing.bytes), "app": .string(application.description),
                "envelope": .data(envelope),
            ])
    }

    init?(row: PropertyListDictionary) {
        guard let id = row["id"]?.identifierValue,
            let pairing = row["pairing"]?.identifierValue,
            let application = row["app"]?.applicationValue,
            let envelope = row["envelope"]?.dataValue
        else { return nil }
        self.init(id: id, pairing: pairing, application: application, envelope: envelope)
    }
}

/// A row of the configuration service that cannot be read.
struct ConfigurationRowError: Error, Sendable, CustomStringConvertible {
    let description: String

    init(_ space: RowSpace, _ detail: String) { description = "configuration row (\(space.rawValue)): \(detail)" }
}

/// Key spaces of the service's rows in the store. Others are beside what they hold: 43 with key chains, 40, 41 and
/// 46 to 48 with the desired state, 56 to 60 with carriers.
extension RowSpace {
    static let mark = RowSpace(rawValue: 33)
    static let staged = RowSpace(rawValue: 34)
    static let active = RowSpace(rawValue: 35)
    static let waived = RowSpace(rawValue: 36)
    static let anchor = RowSpace(rawValue: 37)
    /// Each key set and revocation that followed an anchor.
    static let chainStep = RowSpace(rawValue: 42)
    /// The clock floors of the apps, and the report counter of the device.
    static let configurationDevice = RowSpace(rawValue: 38)
    /// Signed reports that the queue has not accepted yet.
    static let owedReport = RowSpace(rawValue: 39)
    static let trial = RowSpace(rawValue: 44)
    /// The pairings whose primaries read reports of the second form.
    static let trialReader = RowSpace(rawValue: 45)
    /// The reports about the loading of what is applied.
    static let loadReports = RowSpace(rawValue: 61)
}

extension ConfigurationSlotKey {
    /// The key of the slot's rows: that of its subject's, and behind another NUL the target, which has none, either.
    var bytes: [UInt8] { subject.bytes + [0] + Array(target.text.utf8) }

    init?(bytes: [UInt8]) {
        guard let end = bytes.lastIndex(of: 0), let subject = KeySubject(bytes: Array(bytes[..<end])),
            let target = try? PairedIdentifier(text: String(decoding: bytes[(end + 1)...], as: UTF8.self))
        else { return nil }
        self.init(application: subject.application, role: subject.role, target: target)
    }
}

extension Result where Success == [RowChange], Failure == VerificationFailure {
    /// The verdict on a key set or a revocation, with its text.
    var verdict: (verdict: Verdict, text: String?) {
        switch self {
        case .success: (.applied, nil)
        case .failure(let failure): (.rejected(failure.rejection), failure.detail)
        }
    }
}
