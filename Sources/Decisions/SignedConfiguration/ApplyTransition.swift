// Answer of a configuration slot to an event: what to make durable, what to do after that, and the verdict.

package import TandemBase
package import TandemPropertyList

/// A durable change of one slot.
package enum ApplyChange: Sendable, Equatable {
    case mark(VersionMark)
    /// The row of the staged configuration and `staged.plist`; nil removes both.
    case staged(StagedConfiguration?)
    /// The row of the staged configuration alone: an attempt of the app is counted (CFG-62), or its file has to wait
    /// for the end of a trial (CFG-61).
    case counted(StagedConfiguration)
    /// The row of the trial and `trial.plist`; nil removes both.
    case trial(ConfigurationTrial?)
    /// The row of the reports about the loading of what is applied; nil removes it.
    case loadReports(LoadReports?)
    /// The row of the active configuration and `configuration.plist`; nil removes both.
    case active(ActiveConfiguration?)
    /// The row of a configuration with a waived signature and `waived.plist`; nil removes both.
    case waived(ActiveConfiguration?)
    /// The clock is at least this (CFG-33): for the slot's app, of which the highest one counts.
    case clockFloor(WallTime)
    /// A report for the pairing that the configuration came through, to be signed and queued.
    case report(ReportFacts)
}

/// The files in an app's own directory that the daemon writes (CFG-36, CFG-64); the raw value is the file's name.
package enum ConfigurationFile: String, Sendable, CaseIterable {
    case active = "configuration.plist"
    case waived = "waived.plist"
    case staged = "staged.plist"
    case trial = "trial.plist"

    /// The most bytes of one: an envelope and the facts beside it.
    package static var limit: Int { 2 * ConfigurationLimits.envelope }

    /// The library's own file (CFG-65), which the daemon only reads.
    package static let attempts = "attempts.plist"
}

extension ConfigurationSlot {
    /// The files that the app's directory has while this is the app's slot.
    package func content(of file: ConfigurationFile) -> PropertyListDictionary? {
        switch file {
        case .active: active?.dictionary
        case .waived: waived?.dictionary
        case .staged: isHeldBack ? nil : staged?.dictionary
        case .trial: trial?.dictionary
        }
    }

    /// Whether the app must not see what is staged: with a waived signature it would show above the one on trial, and
    /// hide its faults (CFG-61).
    package var isHeldBack: Bool { staged?.isWaived == true && trial != nil }

    package enum Phase: Sendable, Equatable {
        case idle
        /// Staged; it is offered as soon as the app is there.
        case waitingForApplication
        /// Staged; it is verified again when the clock has moved.
        case waitingForClock
        /// Offered; an answer about these bytes is expected.
        case offered
    }

    /// How an app has come to see this slot's configuration.
    package enum Arrival: Sendable {
        /// Its receiving connection has registered: its process may be a new one.
        case registered
        /// It has stayed connected, and sees another target than before.
        case switched
    }

    package enum Ending: Sendable {
        /// Its process may have failed.
        case lost
        /// The app ended its session, so that it has not failed.
        case inOrder
        /// The app stays: its configuration has another target from now on.
        case switched
    }

    /// Why an offer has ended without a verdict in force.
    package enum Lapse: Sendable, Equatable {
        /// The app gave no answer in time, or one about other bytes: the attempt counts (CFG-62).
        case unanswered
        /// The app has not seen it, or takes none.
        case notTaken
        /// It ended with the target (CFG-31), or how it ended is unknown: that is no attempt of the app.
        case takenBack
        /// The app has not seen it, because too many messages wait there.
        case noRoom
        /// The app has answered, and its verdict could not be stored.
        case notStored
        /// The app has answered that it cannot judge now, and why (CFG-113).
        case notJudged(String)

        /// The words for the senders, who learn of it once.
        package var reason: String? {
            switch self {
            case .unanswered, .notTaken, .takenBack: nil
            case .noRoom: "the app has too many unread messages"
            case .notStored: "the device could not store what came of the offer to the app; its log says why"
            case .notJudged(let reason): reason
            }
        }
    }
}

/// A file with its new content; nil removes it.
package typealias ConfigurationFileChange = (file: ConfigurationFile, content: PropertyListDictionary?)

extension ApplyChange {
    package var file: ConfigurationFileChange? {
        switch self {
        case .active(let active): (.active, active?.dictionary)
        case .waived(let waived): (.waived, waived?.dictionary)
        case .staged(let staged): (.staged, staged?.dictionary)
        case .trial(let trial): (.trial, trial?.dictionary)
        case .mark, .counted, .loadReports, .clockFloor, .report: nil
        }
    }

    /// Whether its file must be written before the commit that rests on it: what becomes active, and its trial. A
    /// staged configuration, and what is removed, may change only after the commit.
    package var isWrittenBeforeCommit: Bool {
        switch self {
        case .active(_?), .waived(_?), .trial(_?): true
        default: false
        }
    }
}

/// An action for the time after the commit.
package enum ApplyEffect: Sendable, Equatable {
    /// Send this to the app's receiving connection, and pass the reply to `answered`.
    case offer(ConfigurationOffer)
    /// Tell the app that its files have changed (CFG-42).
    case reload
}

/// The outcome of one event of a slot.
package struct ApplyTransition: Sendable, Equatable {
    package init() {}

    /// The end of bytes that waited and gave way.
    package static var superseded: ApplyTransition {
        var transition = ApplyTransition()
        transition.conclude(.superseded)
        return transition
    }

    /// In the order in which files are written (CFG-35): the active file before the commit, removals after it.
    package private(set) var changes: [ApplyChange] = []
    package private(set) var effects: [ApplyEffect] = []
    /// The verdict that the event led to; nil if it led to none yet.
    package private(set) var verdict: Verdict?
    /// The words for it; empty if it needs none.
    package private(set) var detail = ""

    /// Deliveries that have had their last verdict and get another one by this event alone: the limit of CFG-52 must
    /// not hold it back.
    package private(set) var recalled: Set<ConfigurationDelivery> = []

    /// Whether another configuration waits for the app from now on. One that has waited for the end of a trial (CFG-61)
    /// is none: its file must not keep that end from its commit.
    package var stages: Bool {
        changes.contains { if case .staged(_?) = $0 { true } else { false } } && !changes.contains(.trial(nil))
    }

    mutating func add(_ change: ApplyChange) { changes.append(change) }

    mutating func add(_ effect: ApplyEffect) { effects.append(effect) }

    mutating func recall(_ deliveries: ConfigurationDeliveries) { recalled.formUnion(deliveries.all) }

    mutating func conclude(_ verdict: Verdict, _ detail: String = "") {
        self.verdict = verdict
        self.detail = detail
    }
}
