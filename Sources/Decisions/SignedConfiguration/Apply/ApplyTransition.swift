// What a step of the apply path asks of its shell. Changes are durable and are committed together; effects run after
// the commit and may be lost in a crash, because the state brings them back.

package import TandemBase

/// A durable change of one slot.
package enum ApplyChange: Sendable, Equatable {
    /// The row of the version mark.
    case mark(VersionMark)
    /// The row of the staged configuration and `staged.plist`; nil removes both.
    case staged(StagedConfiguration?)
    /// The row of the active configuration and `configuration.plist`; nil removes both.
    case active(ActiveConfiguration?)
    /// The row of a configuration with a waived signature and `waived.plist`; nil removes both.
    case waived(ActiveConfiguration?)
    /// The clock is at least this (CFG-33); for the whole device, the highest one counts.
    case clockFloor(WallTime)
    /// A report for the pairing that the configuration came through, to be signed and queued.
    case report(ReportFacts)
}

/// What to do once the changes are durable.
package enum ApplyEffect: Sendable, Equatable {
    /// Send this to the app's receiving connection, and give the answer to `answered`.
    case handOver(HandOver)
    /// Tell the app that its files have changed (CFG-42).
    case reload
}

/// The outcome of one event of a slot.
package struct ApplyTransition: Sendable, Equatable {
    /// An event that changed nothing durable.
    package init() {}

    /// In the order in which files are written (CFG-35): the active file before the commit, removals after it.
    package private(set) var changes: [ApplyChange] = []
    package private(set) var effects: [ApplyEffect] = []
    /// The verdict that the event led to; nil if it led to none yet.
    package private(set) var verdict: Verdict?
    /// The words for it; empty if it needs none.
    package private(set) var detail = ""

    mutating func add(_ change: ApplyChange) { changes.append(change) }

    mutating func add(_ effect: ApplyEffect) { effects.append(effect) }

    mutating func conclude(_ verdict: Verdict, _ detail: String = "") {
        self.verdict = verdict
        self.detail = detail
    }
}
