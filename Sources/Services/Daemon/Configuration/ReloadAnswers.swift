// Answers of this device's apps to reloads (CFG-42): the fault that an app has named, whether it has answered, and
// whether it cannot judge what is applied (CFG-113). Not stored: an app is asked again when it registers.

import TandemBase
import TandemSignedConfiguration

/// The last answers of the apps, by slot. An app names a fault if this version of it has a narrower schema or another
/// anchor than the one that took the configuration.
struct ReloadAnswers {
    /// A configuration that its app cannot judge (CFG-113), and the time until the app is asked again.
    private struct Unjudged {
        let digest: [UInt8]
        var pause: Duration
    }

    private var faults: [ConfigurationSlotKey: LoadFault] = [:]
    /// The slots whose apps have answered a reload since they registered. Kept here and not in the slots, because a
    /// commit that fails must not lose it.
    private var answered: Set<ConfigurationSlotKey> = []
    /// Kept until the app judges or registers: a trial must not pass with the end of its connection.
    private var unjudged: [ConfigurationSlotKey: Unjudged] = [:]

    /// The fault of what is applied in a slot; nil if its app has named none.
    func fault(of slot: ConfigurationSlot) -> LoadFault? { faults[slot.key]?.of(slot.shown) }

    /// Whether the app of a slot has answered a reload on its present connection.
    func hasAnswered(_ key: ConfigurationSlotKey) -> Bool { answered.contains(key) }

    /// Whether the app of a slot has answered that it cannot judge what is applied (CFG-113).
    func cannotJudge(_ slot: ConfigurationSlot) -> Bool {
        unjudged[slot.key].map { $0.digest == slot.shown?.record.digest } ?? false
    }

    /// The app of a slot cannot judge what is applied, and is asked again after this time.
    mutating func couldNotJudge(_ slot: ConfigurationSlot?, pause: Duration) {
        guard let slot, let digest = slot.shown?.record.digest else { return }
        unjudged[slot.key] = Unjudged(digest: digest, pause: pause)
    }

    /// The app of a slot has applied these bytes, also if it is another version of the one that did not load them.
    mutating func applied(_ digest: [UInt8], in key: ConfigurationSlotKey) {
        if faults[key]?.digest == digest { faults[key] = nil }
    }

    /// Running time since the last call; returns the slots whose apps are asked again now.
    mutating func due(after running: Duration) -> [ConfigurationSlotKey] {
        var due: [ConfigurationSlotKey] = []
        for (key, value) in unjudged {
            let isDue = value.pause <= running
            // An answer may never come.
            unjudged[key]?.pause = isDue ? ConfigurationLimits.unjudgedPause : value.pause - running
            if isDue { due.append(key) }
        }
        return due
    }

    /// Forgets the answers of an app: another version of it may load what the one before did not.
    mutating func forget(_ subject: KeySubject) {
        unjudged = unjudged.filter { $0.key.subject != subject }
        faults = faults.filter { $0.key.subject != subject }
        disconnected(subject)
    }

    /// The app's connection is gone. A fault that it has named stays until it registers again.
    mutating func disconnected(_ subject: KeySubject) { answered = answered.filter { $0.subject != subject } }

    /// Takes the answer of a slot's app to a reload; returns the line of the log if it names a new fault.
    mutating func take(_ reply: ReloadReply, of slot: ConfigurationSlot) -> LogEvent? {
        answered.insert(slot.key)
        unjudged[slot.key] = nil
        if reply.fault?.isUnjudged == true { couldNotJudge(slot, pause: ConfigurationLimits.unjudgedPause) }
        let before = fault(of: slot)
        faults[slot.key] = reply.fault
        guard let present = fault(of: slot), present != before else { return nil }
        return LogEvent(
            .warning, "the app does not load what is applied", .text("app", "\(slot.key.application)"),
            .text("verdict", present.name), .outside("detail", present.detail))
    }
}
