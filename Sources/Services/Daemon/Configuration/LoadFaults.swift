// Faults of applied configurations that their apps do not load (CFG-42), because another version of the app has a
// narrower schema or another anchor. The log and the status show the fault.

import TandemBase
import TandemSignedConfiguration

/// The faults that apps have named when they read their files. Not stored.
struct LoadFaults {
    private var faults: [ConfigurationSlotKey: LoadFault] = [:]
    /// The slots whose apps have answered a reload since they registered. Kept here and not in the slots, because a
    /// commit that fails must not lose it.
    private var answered: Set<ConfigurationSlotKey> = []

    /// The fault of what is applied in a slot; nil if its app has named none.
    func fault(of slot: ConfigurationSlot) -> LoadFault? { faults[slot.key]?.of(slot.shown) }

    /// Whether the app of a slot has answered a reload on its present connection.
    func hasAnswered(_ key: ConfigurationSlotKey) -> Bool { answered.contains(key) }

    /// Forgets the answers of an app: another version of it may load what the one before did not.
    mutating func forget(_ subject: KeySubject) {
        faults = faults.filter { $0.key.subject != subject }
        disconnected(subject)
    }

    /// The app's connection is gone. A fault that it has named stays until it registers again.
    mutating func disconnected(_ subject: KeySubject) { answered = answered.filter { $0.subject != subject } }

    /// Takes the answer of a slot's app to a reload; returns the line of the log if it names a new fault.
    mutating func take(_ reply: ReloadReply, of slot: ConfigurationSlot) -> LogEvent? {
        answered.insert(slot.key)
        let before = fault(of: slot)
        faults[slot.key] = reply.refusal.flatMap { LoadFault($0) }
        guard let present = fault(of: slot), present != before else { return nil }
        return LogEvent(
            .warning, "the app does not load what is applied", .text("app", "\(slot.key.application)"),
            .text("verdict", present.rejection.rawValue), .outside("detail", reply.refusal?.text ?? ""))
    }
}
