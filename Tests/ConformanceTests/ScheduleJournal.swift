// Record of a random schedule: what each app has called and how that has ended, what each handler has seen, in one
// order. It is judged at the end by clauses of Protocol alone, without the library's own state.

import PairedSession
import TandemBase
import TandemSession
import TandemTestSupport
import TandemWire

@testable import TandemConformance

/// The kinds of calls whose ends are judged.
enum CallKind: String {
    case message, data, note, broadcast, deliver, userInfo, urgent, file, context, cancel, outstanding, drained,
        receipts

    /// Ends with what a handler did with the content.
    var isRequest: Bool { self == .message || self == .data || self == .deliver }
    var isMessage: Bool { isRequest || self == .note || self == .broadcast }
    var isItem: Bool { self == .userInfo || self == .urgent || self == .file }
    /// Leaves only when the counterpart can be reached now.
    var needsReachability: Bool { self == .message || self == .data || self == .note }
}

/// State of a session as its app knew it before or after a call, by which SES-38 judges the call.
struct Standing: Equatable {
    let activation: ActivationState
    let isPaired: Bool
    let hasPairings: Bool
    let isInstalled: Bool
    let level: ReachabilityLevel?
    let isPrimary: Bool
    var hasDelegate = true

    /// The code that the call ends with at once (SES-38); nil: it leaves, or is queued.
    func refusal(of kind: CallKind) -> Int? {
        if !hasDelegate { return 7003 }
        switch activation {
        case .notActivated: return 7004
        case .inactive: return 7016
        case .activated: break
        }
        if kind == .broadcast || kind == .receipts { return hasPairings ? nil : 7005 }
        guard isPaired else { return 7005 }
        guard isInstalled else { return isPrimary ? 7006 : 7018 }
        return kind.needsReachability && level != .immediate ? 7007 : nil
    }
}

/// One call of an app.
///
/// `@unchecked`: only the world's thread uses it.
final class Call: @unchecked Sendable {
    enum Ending {
        case done
        case reply(Int64)
        case failed(SessionError)
        case cancellation(TransferCancellation)
        case outcomes([BroadcastOutcome])
        case receipts([DeviceReceipt])
    }

    let number: Int64
    let kind: CallKind
    let place: Place
    let process: Int
    /// The pairing that it goes through, as far as the app knew at the call.
    let pairing: UniqueIdentifier?
    let before: Standing
    var after: Standing?
    let began: MonotonicTime
    let timeout: Duration
    private(set) var endings: [Ending] = []
    private(set) var ended: MonotonicTime?
    /// The number of sights when it ended.
    private(set) var endSight = 0
    /// Its task was cancelled.
    var isGivenUp = false
    var id: UniqueIdentifier?
    var transfer: Transfer?
    /// Of the item of a `cancel`.
    var subject: Call?
    private(set) var outcomes: [TransferOutcome] = []
    /// The errors that `didFinish` was called with.
    var finishes: [SessionError?] = []
    /// Made by Apple's names.
    var isNamed = false
    /// Why nothing was heard of the item's end.
    var silence: SessionError?
    var task: Task<Void, Never>?
    var options = TransferOptions()
    /// The level that the caller of `receipts` waits for.
    var wanted = AcknowledgementLevel.accepted
    /// The devices that the app knew of at the call.
    var paired: [UniqueIdentifier] = []
    /// When the item's end was known.
    private(set) var outcomeTime: MonotonicTime?
    /// Items that a list did not have though they had been accepted before the question, and those that it had though
    /// they had ended before.
    var missing: [Call] = []
    var stale: [Call] = []
    var laterFailures: [(pairing: UniqueIdentifier?, error: SessionError)] = []

    init(
        _ number: Int64, _ kind: CallKind, _ player: Player, to pairing: UniqueIdentifier?, _ before: Standing,
        at began: MonotonicTime, timeout: Duration = .seconds(30)
    ) {
        (self.number, self.kind, self.place, self.process) = (number, kind, player.place, player.process)
        (self.pairing, self.before, self.began, self.timeout) = (pairing, before, began, timeout)
    }

    func finish(_ outcome: TransferOutcome, at now: MonotonicTime) {
        outcomes.append(outcome)
        outcomeTime = outcomeTime ?? now
    }

    func end(_ ending: Ending, at now: MonotonicTime, sights: Int) {
        endings.append(ending)
        if ended == nil { (ended, endSight) = (now, sights) }
    }

    var error: SessionError? { if case .failed(let error)? = endings.first { error } else { nil } }

    var description: String { "\(kind.rawValue) \(number) of \(place) process \(process)" }
}

/// A message or an item that a handler was given.
struct Sight: CustomStringConvertible {
    enum Verdict: Equatable { case open, handled, failed, rejected, dropped, replied }

    let number: Int64
    let place: Place
    let process: Int
    /// nil: a delegate does not learn it.
    let pairing: UniqueIdentifier?
    /// nil: a message.
    let channel: Channel?
    /// nil: a delegate does not learn it, nor the attempt.
    let id: UniqueIdentifier?
    let attempt: Int
    var verdict = Verdict.open

    var description: String {
        "\(number) at \(place) process \(process), \(channel.map { "\($0)" } ?? "message") attempt \(attempt) \(verdict)"
    }
}

/// All calls and sights of one schedule.
///
/// `@unchecked`: only the world's thread uses it, or a callback queue for which that waits.
final class ScheduleJournal: @unchecked Sendable {
    var calls: [Call] = []
    var sights: [Sight] = []
    var faults: [String] = []
    /// The processes that were killed or ended, and with how many sights.
    var gone: [Int: Int] = [:]
    /// Pairings that have ended.
    var unpaired: Set<UniqueIdentifier> = []
    /// Those that a device has joined again under their former identifiers.
    var rejoined: Set<UniqueIdentifier> = []
    /// Times at which what is named happened, for errors that need it.
    var hasSwitched = false
    var hasUnpaired = false
    /// Restarts of daemons by their place: the numbers of sights at them.
    var restarts: [Place: [Int]] = [:]
    /// The place of a pairing's secondary.
    var secondaries: [UniqueIdentifier: Place] = [:]

    /// Whether an item that its daemon passed on has been given, as far as that may still be.
    func isGiven(_ call: Call) -> Bool {
        guard call.isNamed, call.kind.isItem, let finish = call.finishes.first, finish == nil else { return true }
        return sights.contains { $0.number == call.number }
    }

    func fault(_ text: String) { faults.append(text) }

    func call(_ number: Int64) -> Call? { calls.first { $0.number == number } }

    /// The place at the other end.
    func counterpart(of place: Place, in pairing: UniqueIdentifier) -> Place? {
        place == .primary ? secondaries[pairing] : .primary
    }

    private func sights(of call: Call) -> [Sight] { sights.filter { $0.number == call.number } }

    /// The calls with their ends, and then the sights.
    var account: [String] {
        calls.map { call in
            let ends = call.outcomes.map(\.summary) + call.finishes.map { $0?.text ?? "stored" }
            let time = call.ended.map { "\($0.nanoseconds / 1_000_000)" } ?? "-"
            return
                "\(call.description): \(time) \(call.error?.text ?? "\(call.endings.count)") \(ends) before \(call.endSight)"
        } + sights.enumerated().map { "sight \($0): \($1)" }
    }

    // MARK: judging

    func judge() {
        for call in calls { judge(call) }
        judgeOrder()
        judgeDeliveries()
    }

    private func judge(_ call: Call) {
        let isGone = gone[call.process] != nil
        if call.endings.count > 1 { fault("\(call.description) ended \(call.endings.count) times") }
        if call.endings.isEmpty, !isGone { fault("\(call.description) never ended") }
        if let after = call.after, after == call.before, let code = call.before.refusal(of: call.kind),
            call.kind != .cancel, call.kind != .outstanding, call.kind != .drained, !call.isGivenUp,
            !call.isNamed || call.kind != .note && !(call.kind.isItem && call.finishes.isEmpty)
        {
            let found = (call.error ?? call.finishes.first.flatMap(\.self))?.code.rawValue
            if found != code { fault("SES-38: \(call.description) is \(String(describing: found)), not \(code)") }
        }
        if let error = call.error { judge(error, of: call) }
        if case .reply(let number)? = call.endings.first {
            let seen = sights(of: call)
            if number != call.number || seen.count != 1 || seen[0].verdict != .replied {
                fault("SES-9: \(call.description) has reply \(number), seen as \(seen)")
            }
        }
        for (pairing, error) in call.laterFailures { judge(later: error, of: call, in: pairing) }
        if case .outcomes(let outcomes)? = call.endings.first { judge(outcomes, of: call) }
        if case .receipts(let receipts)? = call.endings.first { judge(receipts, of: call) }
        if call.kind.isItem || call.kind == .receipts { judgeEnd(of: call) }
        if call.isNamed, call.kind.isItem { judgeFinish(of: call) }
        if call.kind == .outstanding { judgeList(of: call) }
        if call.kind == .drained, call.error == nil, !call.endings.isEmpty { judgeDrained(call) }
        if call.kind == .deliver {
            let seen = sights(of: call)
            if seen.contains(where: { $0.channel == nil }), seen.contains(where: { $0.channel != nil }) {
                fault("SES-39: \(call.description) went both ways: \(seen)")
            }
        }
        if case .cancellation(let result)? = call.endings.first { judge(result, of: call) }
    }

    /// Whether the error says that no handler has seen the content.
    private func excludesHandling(_ error: SessionError) -> Bool {
        switch error.code {
        case .notReachable, .watchAppNotInstalled, .companionAppNotInstalled, .invalidParameter, .payloadTooLarge: true
        case .sessionNotActivated: error.name != "ended"
        case .deviceNotPaired: !hasUnpaired
        case .deliveryFailed: error.name == "inbox-full" || error.name == "slow-consumer"
        case .genericError: error.name == "queue-full"
        default: false
        }
    }

    private func judge(_ error: SessionError, of call: Call) {
        let seen = sights(of: call)
        if excludesHandling(error), !seen.isEmpty {
            fault("SES-37: \(call.description) is \(error.text) and was given to a handler: \(seen)")
        }
        let isAllowed =
            switch error.code {
            case .genericError:
                error.name == "cancelled" && call.isGivenUp || error.name == "queue-full"
                    || error.name == "too-many-requests"
            case .sessionNotActivated: true
            case .deviceNotPaired: hasUnpaired || hasSwitched
            case .notReachable: call.kind.isMessage
            case .sessionInactive: hasSwitched || error.name == "not-active"
            case .sessionMissingDelegate: call.isNamed
            case .messageReplyFailed: call.kind.isRequest && isExplained(error, of: call, seen)
            case .messageReplyTimedOut:
                call.ended.map { $0.since(call.began) >= call.timeout } == true
            case .deliveryFailed: true
            default: false
            }
        if !isAllowed { fault("\(call.description) must not end with \(error.text); seen \(seen)") }
    }

    private func isExplained(_ error: SessionError, of call: Call, _ seen: [Sight]) -> Bool {
        switch error.name {
        case "handler-failed": seen.contains { $0.verdict == .failed }
        case "reply-dropped": seen.contains { $0.verdict == .dropped }
        case "counterpart-disconnected": !gone.isEmpty || !restarts.isEmpty
        default: false
        }
    }

    private func judge(later error: SessionError, of call: Call, in pairing: UniqueIdentifier?) {
        let seen = sights(of: call).filter {
            pairing == nil || $0.place == counterpart(of: call.place, in: pairing ?? .zero)
        }
        if excludesHandling(error), !seen.isEmpty {
            fault("SES-11: \(call.description) is later \(error.text) and was given to a handler: \(seen)")
        }
        let same = call.laterFailures.filter { $0.pairing == pairing }
        if same.count > 1 { fault("\(call.description) has \(same.count) later failures for one device") }
    }

    private func judge(_ outcomes: [BroadcastOutcome], of call: Call) {
        if !hasUnpaired, outcomes.map(\.pairing) != call.paired.sorted() {
            fault("SES-30: \(call.description) has outcomes of other devices")
        }
        if outcomes.map(\.pairing) != outcomes.map(\.pairing).sorted()
            || Set(outcomes.map(\.pairing)).count != outcomes.count
        {
            fault("SES-30: \(call.description) has outcomes \(outcomes)")
        }
        for outcome in outcomes {
            guard let failure = outcome.failure else { continue }
            let seen = sights(of: call).filter { $0.place == counterpart(of: call.place, in: outcome.pairing) }
            if excludesHandling(failure), !seen.isEmpty {
                fault("SES-30: \(call.description) has outcome \(failure.text) and was given to a handler")
            }
        }
        for sight in sights(of: call)
        where sight.pairing != nil && !outcomes.contains(where: { $0.pairing == sight.pairing }) {
            fault("SES-30: \(call.description) was given to a handler of a device without outcome")
        }
    }

    private func judge(_ receipts: [DeviceReceipt], of call: Call) {
        if !hasUnpaired, receipts.map(\.pairing) != call.paired.sorted() {
            fault("SES-55: \(call.description) has receipts of other devices")
        }
        for receipt in receipts {
            let handled = sights(of: call).contains {
                ($0.pairing ?? receipt.pairing) == receipt.pairing && $0.verdict == .handled
            }
            if receipt.level == .handled, !handled { fault("SES-55: \(call.description) has a receipt of no handling") }
            if receipt.error != nil, receipt.level != nil { fault("SES-55: \(call.description) has level and error") }
            let isTimeOver = call.ended.map { $0.since(call.began) >= call.timeout } == true
            if receipt.error == nil, (receipt.level?.rawValue ?? 0) < call.wanted.rawValue, !isTimeOver,
                gone[call.process] == nil
            {
                fault("SES-55: \(call.description) returned early with \(String(describing: receipt.level))")
            }
        }
    }

    /// SES-54.
    private func judgeList(of call: Call) {
        for item in call.stale { fault("SES-54: \(item.description) had ended and is listed") }
        guard let ended = call.ended else { return }
        for item in call.missing
        where item.outcomeTime.map({ $0.since(ended) > .seconds(1) }) ?? (gone[item.process] == nil) {
            fault("SES-54: \(item.description) is outstanding and not listed")
        }
    }

    /// SES-89.
    private func judgeDrained(_ call: Call) {
        guard let ended = call.ended else { return }
        for item in calls where item.process == call.process && item.number < call.number {
            guard item.kind.isItem || item.kind == .context, !item.isNamed else { continue }
            if item.ended.map({ $0 > ended }) ?? true, gone[item.process] == nil {
                fault("SES-89: drained, and \(item.description) was not accepted")
            }
        }
    }

    private func judgeFinish(of call: Call) {
        if call.finishes.count > 1 { fault("SES-85: \(call.description) finished \(call.finishes.count) times") }
        guard let finish = call.finishes.first else { return }
        let seen = sights(of: call)
        guard let error = finish else {
            if seen.isEmpty, !hasUnpaired { fault("SES-50: \(call.description) was stored and never given") }
            return
        }
        judge(error, of: call)
        let isTakenBack = error.name == "cancelled" && seen.contains { $0.verdict == .handled }
        if isTakenBack, gone.isEmpty, restarts.isEmpty {
            fault("DEL-5: \(call.description) finished as cancelled and was handled")
        }
    }

    private func judgeEnd(of call: Call) {
        for (index, outcome) in call.outcomes.enumerated() where index > 0 || call.outcomes.count > 1 {
            fault("DEL-5: \(call.description) has a further outcome \(outcome.summary)")
        }
        guard let outcome = call.outcomes.first, call.kind != .receipts else { return }
        let handled = sights(of: call).filter { $0.verdict == .handled }
        switch outcome {
        case .handled:
            if handled.isEmpty { fault("DEL-5: \(call.description) is handled without a handler that returned") }
        case .cancelled, .superseded, .expired:
            let isExplained =
                switch outcome {
                case .superseded:
                    calls.contains {
                        $0.number > call.number && $0.place == call.place && $0.kind == call.kind
                            && $0.options.supersedeKey == call.options.supersedeKey && call.options.supersedeKey != nil
                    }
                case .expired:
                    // Each hop carries whole milliseconds of what remains.
                    call.options.timeToLive.map {
                        (call.outcomeTime ?? call.began).since(call.began) >= $0 - .milliseconds(10)
                    } == true
                default: calls.contains { $0.kind == .cancel && $0.subject === call }
                }
            if !isExplained { fault("DEL-5: \(call.description) is \(outcome.summary) without a reason") }
            if !handled.isEmpty, gone.isEmpty, restarts.isEmpty {
                fault("DEL-5: \(call.description) is \(outcome.summary) and was handled")
            }
        case .failed(let error):
            let isRefused = sights(of: call).contains { $0.verdict == .rejected }
            let isKnown =
                switch error.code {
                case .deviceNotPaired: call.pairing.map(unpaired.contains) ?? true
                case .deliveryFailed:
                    switch error.name {
                    case "rejected": isRefused
                    case "lost": call.transfer.map { rejoined.contains($0.pairing) } == true
                    default: error.name == "dead"
                    }
                default: false
                }
            if !isKnown { fault("DEL-5: \(call.description) must not end as \(outcome.summary)") }
        }
    }

    private func judge(_ result: TransferCancellation, of call: Call) {
        guard let subject = call.subject else { return }
        switch result {
        case .cancelled:
            // An item that waits in a session for its delegate while the daemon restarts has left that daemon (DEL-6).
            let later = sights[call.endSight...].filter {
                $0.number == subject.number && ($0.id != nil || restarts[$0.place] == nil)
            }
            if !later.isEmpty {
                fault("SES-54: \(subject.description) was reported cancelled and given afterwards: \(later)")
            }
            if let outcome = subject.outcomes.first, outcome != .cancelled {
                fault("SES-84: \(subject.description) was reported cancelled and ended \(outcome.summary)")
            }
        case .tooLate(let outcome):
            if let own = subject.outcomes.first, own.summary != outcome.summary {
                fault("SES-84: \(subject.description) was too late as \(outcome.summary) and ended \(own.summary)")
            }
        case .unknown: break
        }
    }

    /// SES-14, DEL-2, DEL-20.
    private func judgeOrder() {
        var last: [String: Int64] = [:]
        for sight in sights {
            guard let call = call(sight.number) else {
                fault("nobody has sent \(sight)")
                continue
            }
            if let pairing = call.pairing, call.kind != .broadcast, call.kind != .receipts, let own = sight.pairing,
                pairing != own
            {
                fault("\(call.description) came through another pairing")
            }
            if let pairing = sight.pairing, counterpart(of: call.place, in: pairing) != sight.place {
                fault("\(call.description) came to \(sight.place)")
            }
            let key =
                sight.channel.map { "\($0) \(call.place) \(sight.place) \(sight.pairing.map { "\($0)" } ?? "")" }
                ?? "message \(call.place) \(call.process) \(sight.place)"
            if sight.channel == .urgent || sight.channel == .userInfo && call.kind == .urgent || sight.channel == .file
                || call.kind == .deliver
            {
                continue
            }
            // A delegate does not learn the attempt: an item that is given again looks like disorder.
            if sight.id == nil, sight.channel != nil, !gone.isEmpty || !restarts.isEmpty { continue }
            if sight.pairing.map(rejoined.contains) ?? hasUnpaired { continue }
            if let before = last[key], before > sight.number || before == sight.number && sight.channel == nil {
                fault("\(sight.channel == nil ? "SES-14" : "DEL-2, DEL-20"): \(call.description) came after \(before)")
            }
            last[key] = sight.number
        }
    }

    /// DEL-11, SES-51.
    private func judgeDeliveries() {
        let items = sights.enumerated().filter {
            $0.element.channel != nil && $0.element.id != nil && $0.element.pairing.map(rejoined.contains) == false
        }
        for (_, all) in Dictionary(grouping: items, by: { $0.element.id }) {
            for (former, next) in zip(all, all.dropFirst()) {
                let text = "\(former.element) and \(next.element)"
                if next.element.attempt <= former.element.attempt { fault("DEL-11: it came unmarked: \(text)") }
                if former.element.process == next.element.process {
                    if former.element.verdict != .failed { fault("SES-51: one session's handler got \(text)") }
                } else if former.element.verdict == .rejected || former.element.verdict == .handled {
                    // Only a verdict that was not durable when something ended may be forgotten.
                    let ended = gone[former.element.process] ?? .max
                    if ended > next.offset { fault("DEL-11: it came again without a reason: \(text)") }
                }
            }
        }
    }
}

extension SessionError {
    var text: String { "\(code.rawValue) \(name ?? "-")" }
}
