// Offers to the apps of this device (CFG-40 to CFG-43): sends them, counts those that have not ended, and reads the
// replies to them and to reloads. A reply is an event of its slot. The slot decides what follows from it, and the
// receiver makes that durable.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration

/// Sends offers and reloads to this device's apps; confined to its loop.
final class AppOffers {
    /// An answer from which nothing follows, because the app may not have had its key sets (CFG-113).
    private struct UnjudgedAnswer {
        let digest: [UInt8]
        /// For people.
        let text: String
        /// The value of `chainWrites` when the message was sent, if the app itself answered `not-judged`; else nil.
        /// The same bytes are written again only if it has not changed, because an answer to a message from before a
        /// write counts as not judged.
        var unwrittenSince: Int?
    }

    /// The result of an offer: a verdict, or none.
    private enum OfferEnd {
        case inForce
        case notStored
        /// No answer, or one about other bytes.
        case none
    }

    private let context: ConfigurationContext
    private let files: ConfigurationSlotFiles
    private let observers: VerdictObservers
    /// Has the slots, and makes the events of the apps durable. It owns this object.
    weak var receiver: ConfigurationReceiver?
    /// The offers of each slot that have not ended: a newer one may begin before the one that it replaces has ended.
    private var open: [ConfigurationSlotKey: Int] = [:]
    /// How often the apps have had another target: offers from before the last time have ended with it (CFG-31).
    private var switches: [KeySubject: Int] = [:]
    private(set) var answers = ReloadAnswers()

    init(_ context: ConfigurationContext, _ files: ConfigurationSlotFiles, _ observers: VerdictObservers) {
        self.context = context
        self.files = files
        self.observers = observers
    }

    // MARK: state

    /// A slot as it is in force.
    private func slot(_ key: ConfigurationSlotKey) -> ConfigurationSlot? { receiver?.state.slots[key] }

    /// Whether an offer of the slot has not ended.
    func isOpen(_ key: ConfigurationSlotKey) -> Bool { open[key] != nil }

    /// Running time since the last call: apps that could not judge what is applied are asked again (LIM-142).
    func timePassed(running: Duration) {
        for key in answers.due(after: running) where slot(key)?.isApplicationConnected == true {
            repeatReload(key, unwrittenSince: files.chainWrites(of: key.subject))
        }
    }

    /// The app's receiving connection is gone, or its configuration has another target.
    func disconnected(_ subject: KeySubject, _ ending: ConfigurationSlot.Ending) {
        answers.disconnected(subject)
        if ending == .switched { switches[subject, default: 0] += 1 }
    }

    /// The app's receiving connection has registered.
    func registered(_ subject: KeySubject) { answers.forget(subject) }

    // MARK: messages

    /// Offers a configuration to the app of its slot, unless the target has ended while the offer's commit was under
    /// way: the app has been told of another one by then (CFG-31), and would apply this one over it.
    func send(_ offer: ConfigurationOffer, to key: ConfigurationSlotKey) {
        let digest = SHA256.digest(offer.envelope)
        open[key, default: 0] += 1
        guard context.isShown(key) else { return takeBack(key) }
        // Zero stands for a configuration that came through no pairing.
        let pairing = slot(key)?.staged?.deliveries.newest?.pairing ?? .zero
        let (writes, switches) = (files.chainWrites(of: key.subject), switches[key.subject])
        let completion: (OfferOutcome) -> Void = { [weak self] outcome in
            guard let self else { return }
            guard switches == self.switches[key.subject] else { return offerEnded(key) }
            ended(outcome, key, digest, since: writes)
        }
        guard let body = try? PropertyListWriter.write(offer.message) else { return completion(.notConnected) }
        context.device.offer(body, to: key.subject, pairing: pairing, then: completion)
    }

    /// Has an app read that it has no files, because no primary is chosen. Nothing is applied that its answer could be
    /// about.
    func reloadNothing(_ subject: KeySubject) {
        context.device.reload(ConfigurationService.reloadBody, to: subject) { _ in }
    }

    /// Has the app of a slot read its files again. One that does not load what is applied says so (CFG-42).
    func reload(_ key: ConfigurationSlotKey) { reload(key, isRepeated: false) }

    /// - Parameter isRepeated: after the app's files were compared and written again, which happens at once for the
    ///   first answer that it cannot judge what is applied, or has loaded other bytes.
    private func reload(_ key: ConfigurationSlotKey, isRepeated: Bool) {
        let writes = files.chainWrites(of: key.subject)
        context.device.reload(ConfigurationService.reloadBody, to: key.subject) { [weak self] outcome in
            // The app may see the files of another slot by now.
            guard let self, context.isShown(key), let slot = self.slot(key) else { return }
            // It says nothing about what is applied.
            if let unjudged = unjudged(outcome, key, since: writes) {
                return couldNotJudge(key, unjudged, isRepeated)
            }
            guard let reply = outcome.reloadReply(about: slot) else { return }
            if reply.fault?.isOfOtherBytes == true, !isRepeated {
                // Its connection may end before it has read them once more.
                answers.couldNotJudge(slot, pause: ConfigurationLimits.unjudgedPause)
                return repeatReload(key, unwrittenSince: nil)
            }
            if let line = answers.take(reply, of: slot) { context.log(line, causedBy: key.application) }
            if answers.fault(of: slot) != nil || slot.loadReports?.mayNeedReport == true { reloaded(key) }
        }
    }

    private func couldNotJudge(_ key: ConfigurationSlotKey, _ unjudged: UnjudgedAnswer, _ isRepeated: Bool) {
        context.log(
            LogEvent(
                .warning, "the app cannot judge what is applied", .text("app", "\(key.application)"),
                .outside("detail", unjudged.text)), causedBy: key.application)
        // Also before it is asked again: its connection may end without an answer to that.
        answers.couldNotJudge(slot(key), pause: ConfigurationLimits.unjudgedPause)
        reloaded(key)
        if !isRepeated { repeatReload(key, unwrittenSince: unjudged.unwrittenSince) }
    }

    /// Rewrites the app's files that differ, then asks the app to read them again; at the next tick if they cannot be
    /// written now.
    private func repeatReload(_ key: ConfigurationSlotKey, unwrittenSince writes: Int?) {
        context.scheduler.start { [self] in
            let isWritten = await receiver?.rewriteFiles(of: key.subject, unwrittenSince: writes) ?? false
            guard context.isShown(key) else { return }
            if isWritten { return reload(key, isRepeated: true) }
            answers.couldNotJudge(slot(key), pause: .zero)
        }
    }

    /// The app's answer that it cannot judge, if this is one (CFG-113). So is a verdict for which its key sets may be
    /// missing, if they are not those of the daemon's chain, or were not when the app judged: the library cannot tell a
    /// damaged chain from another anchor's.
    /// - Parameter writes: of the key sets up to the message that the app answers.
    private func unjudged(
        _ outcome: OfferOutcome, _ key: ConfigurationSlotKey, since writes: Int
    ) -> UnjudgedAnswer? {
        if let offer = outcome.unjudged {
            return UnjudgedAnswer(digest: offer.digest, text: offer.text, unwrittenSince: writes)
        }
        guard let receiver, let reply = outcome.offerReply, reply.mayLackKeySets,
            files.chainDiffers(of: key.subject, in: receiver.state) || files.chainWrites(of: key.subject) != writes
        else { return nil }
        let unjudged = UnjudgedOffer(ofBytes: reply.digest, because: reply.text ?? reply.verdict.name)
        return UnjudgedAnswer(digest: unjudged.digest, text: unjudged.text)
    }

    /// The app of a slot does not load what is applied, does again, or cannot judge: a trial ends (CFG-61), its senders
    /// learn it (CFG-114), or the app's start is no attempt (CFG-113).
    private func reloaded(_ key: ConfigurationSlotKey) {
        context.scheduler.start { [self] in
            let transition = await receiver?.perform(key) { slot, _ in slot.reloaded() }
            receiver?.logVerdict(transition, of: key)
        }
    }

    // MARK: ends

    /// An offer has ended. A callback, because the slot must take this event before those of the app's next
    /// connection.
    private func ended(
        _ outcome: OfferOutcome, _ key: ConfigurationSlotKey, _ digest: [UInt8], since writes: Int
    ) {
        // The offer is stored, and the next start continues it.
        if context.isStopping, outcome == .disconnected { return }
        let unjudged = self.unjudged(outcome, key, since: writes).flatMap { $0.digest == digest ? $0 : nil }
        let reply = unjudged == nil ? outcome.offerReply : nil
        let isAnswered = reply?.digest == digest || unjudged != nil
        // Ahead of the slot's event, which the disk may refuse and which may lead to the next offer.
        if let unjudged {
            context.scheduler.start { [self] in
                _ = await receiver?.rewriteFiles(of: key.subject, unwrittenSince: unjudged.unwrittenSince)
            }
        }
        // In the turn of the answer's event. Events before it must not take an answer that waits for its commit for a
        // lost one; and if the commit fails, an end of the app's connection behind it must not make it unanswered.
        let takesTurn = { [self] in if isAnswered { offerEnded(key) } }
        context.scheduler.start { [self] in
            switch await answered(reply, key, takesTurn) {
            case .inForce: break
            case .none:
                if let unjudged {
                    let lapse = ConfigurationSlot.Lapse.notJudged(unjudged.text)
                    await overdue(key, digest, because: "it cannot judge now", lapse, takesTurn)
                } else {
                    await overdue(key, digest, because: outcome.name, outcome.lapse)
                }
            // This is the disk's fault, and must not use up a version.
            case .notStored: await overdue(key, digest, because: "its verdict could not be stored", .notStored)
            }
            if !isAnswered { offerEnded(key) }
        }
    }

    /// An offer ends with its target unsent. It stays open until its turn: the event of the switch, which is before it,
    /// must not take it for one whose verdict could not be stored.
    private func takeBack(_ key: ConfigurationSlotKey) {
        context.scheduler.start { [self] in
            _ = await receiver?.perform(key) { [self] slot, _ in
                offerEnded(key)
                return slot.answerOverdue(.takenBack)
            }
        }
    }

    private func offerEnded(_ key: ConfigurationSlotKey) {
        if open[key] == 1 { open[key] = nil } else { open[key]? -= 1 }
    }

    /// - Parameter takesTurn: called in the turn of the answer's event, if there is one.
    private func answered(
        _ reply: OfferReply?, _ key: ConfigurationSlotKey, _ takesTurn: @escaping () -> Void
    ) async -> OfferEnd {
        guard let reply else { return .none }
        if reply.verdict == .applied { answers.applied(reply.digest, in: key) }
        let now = context.reading.wall
        let event: ConfigurationReceiver.Event = { slot, _ in
            takesTurn()
            return slot.answered(reply, now: now)
        }
        guard let transition = await receiver?.perform(key, event) else { return .notStored }
        guard transition.verdict != nil else { return .none }
        receiver?.logVerdict(transition, of: key)
        // Also a verdict with which the bytes still wait, and so have no end yet.
        observers.notify(transition, of: reply.digest)
        return .inForce
    }

    /// - Parameter takesTurn: called in the turn of the event, or now if there is none.
    private func overdue(
        _ key: ConfigurationSlotKey, _ digest: [UInt8], because reason: String, _ lapse: ConfigurationSlot.Lapse,
        _ takesTurn: @escaping () -> Void = {}
    ) async {
        // A newer offer has replaced this one, so no verdict on it is expected.
        guard slot(key)?.staged?.record.digest == digest else { return takesTurn() }
        let fields: [LogField] = [.text("app", "\(key.application)"), .text("reason", reason)]
        let detail: [LogField] = if case .notJudged(let words) = lapse { [.outside("detail", words)] } else { [] }
        context.log(
            LogEvent(.warning, "no verdict of the app, the configuration waits", fields: fields + detail),
            causedBy: key.application)
        let transition = await receiver?.perform(key) { [self] slot, _ in
            takesTurn()
            // Events before this one may have offered another, or the same bytes once more.
            guard slot.staged?.record.digest == digest, lapse != .notStored || !isOpen(key) else {
                return ApplyTransition()
            }
            return slot.answerOverdue(lapse)
        }
        if transition?.verdict == .failed { receiver?.logVerdict(transition, of: key) }
        if let transition, transition.verdict != nil { observers.notify(transition, of: digest) }
    }
}

extension OfferOutcome {
    /// The body of the app's answer; nil if there is none, or none that reads.
    private var message: PropertyListDictionary? {
        guard case .reply(let body) = self else { return nil }
        return try? PropertyListReader.readDictionary(body)
    }

    /// The lapse of an offer without a usable answer. One that the app refuses it has not seen.
    fileprivate var lapse: ConfigurationSlot.Lapse {
        switch self {
        case .reply, .disconnected, .expired: .unanswered
        case .failed, .notConnected: isForLackOfRoom ? .noRoom : .notTaken
        }
    }

    fileprivate var offerReply: OfferReply? { message.flatMap { OfferReply($0) } }

    /// The app's answer that it cannot judge now; nil for any other.
    fileprivate var unjudged: UnjudgedOffer? { message.flatMap { UnjudgedOffer($0) } }

    /// The app's answer to a reload, if it is about what is applied.
    fileprivate func reloadReply(about slot: ConfigurationSlot) -> ReloadReply? {
        let (applied, waiting) = (slot.shown?.record.digest, slot.isHeldBack ? nil : slot.staged?.record.digest)
        return message.flatMap { ReloadReply($0, applied: applied, waiting: waiting) }
    }
}
