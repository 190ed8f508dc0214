// Faults of applied configurations that their apps do not load (CFG-42), because another version of the app has a
// narrower schema or another anchor. The configuration stays applied; the log and the status show the fault.

import TandemBase
import TandemSignedConfiguration

/// The faults that apps have named when they read their files; forgotten at a restart.
struct LoadFaults {
    private var faults: [ConfigurationSlotKey: OfferReply] = [:]

    /// The fault of what is applied in a slot; nil if its app has named none.
    func fault(of slot: ConfigurationSlot) -> OfferReply? {
        guard let reply = faults[slot.key], reply.digest == (slot.waived ?? slot.active)?.record.digest else {
            return nil
        }
        return reply
    }

    /// Takes the answer of a slot's app to a reload; returns the line of the log if it names a new fault.
    /// - Parameter reply: nil for an answer that names no bytes.
    mutating func take(_ reply: OfferReply?, of slot: ConfigurationSlot) -> LogEvent? {
        let before = fault(of: slot)
        faults[slot.key] = nil
        guard let reply, case .rejected = reply.verdict else { return nil }
        faults[slot.key] = reply
        let present = fault(of: slot)
        guard present != nil, present != before else { return nil }
        return LogEvent(
            .warning, "the app does not load what is applied", .text("app", "\(slot.key.application)"),
            .text("verdict", reply.verdict.name), .outside("detail", reply.text ?? ""))
    }
}
