// The one apply path as a state machine, for one (app, role, target): the active configuration, the staged one and the
// version mark. A configuration becomes active only by the app's own verdict on the very bytes that it was offered, and
// is on trial until the app has lived with it: else the last good one is active again, and its version never returns. A
// refusal leaves everything as it was. A newer version replaces a waiting one, which is reported as superseded; bytes
// with a waived signature never replace good ones.

package import TandemBase

/// The state of one (app, role, target) in a daemon; confined to its loop.
package struct ConfigurationSlot: Sendable, Equatable {
    package let key: ConfigurationSlotKey
    /// This device's vendor identifier.
    package let device: UniqueIdentifier
    package private(set) var phase: Phase
    package private(set) var mark: VersionMark?
    package private(set) var active: ActiveConfiguration?
    /// Applied with an invalid signature that was allowed; shows above ``active``.
    package private(set) var waived: ActiveConfiguration?
    package private(set) var staged: StagedConfiguration?
    /// Of ``waived`` or ``active``, whichever was applied last.
    package private(set) var trial: ConfigurationTrial?
    package private(set) var loadReports: LoadReports?
    private var app: ApplicationPresence

    /// The slot of the stored rows; after a crash an offered configuration is offered again.
    package init(
        key: ConfigurationSlotKey, device: UniqueIdentifier, mark: VersionMark? = nil,
        active: ActiveConfiguration? = nil, waived: ActiveConfiguration? = nil, staged: StagedConfiguration? = nil,
        trial: ConfigurationTrial? = nil, loadReports: LoadReports? = nil
    ) {
        (self.key, self.device, self.mark, self.active) = (key, device, mark, active)
        (self.waived, self.staged, self.trial, self.loadReports) = (waived, staged, trial, loadReports)
        app = ApplicationPresence(unfinished: [staged?.record.digest, trial?.digest])
        phase = staged == nil ? .idle : .waitingForApplication
    }

    package var isApplicationConnected: Bool { app.isConnected }

    /// The configuration that the app has now.
    package var shown: ActiveConfiguration? { waived ?? active }

    /// Whether the library's account counts: a configuration waits for the app or is on trial, or a lifetime runs.
    package var needsAttempts: Bool {
        staged != nil || trial != nil || shown?.record.payload.lifetime != nil
    }

    /// The library's account of its starts (CFG-65), before the event that it decides.
    package mutating func note(_ attempts: LoadAttempts) { app.note(attempts) }

    /// The app's last answer to a reload (CFG-42), before the event that it decides: a fault, that it loads what is
    /// applied (answered without one), or that it cannot judge that now (CFG-113).
    package mutating func note(_ fault: LoadFault?, hasAnswered: Bool, cannotJudge: Bool = false) {
        app.note(fault, hasAnswered: hasAnswered, cannotJudge: cannotJudge)
    }

    /// Bytes have arrived. Application, role, target, device and mark of the context are replaced by the slot's own.
    package mutating func received(
        _ envelope: [UInt8], by delivery: ConfigurationDelivery?, in context: VerificationContext
    ) -> ApplyTransition {
        received(envelope, by: ConfigurationDeliveries(delivery), in: context)
    }

    private mutating func received(
        _ envelope: [UInt8], by deliveries: ConfigurationDeliveries, in context: VerificationContext
    ) -> ApplyTransition {
        var transition = ApplyTransition()
        do throws(VerificationFailure) {
            let full = completed(context)
            let verified = try VerifiedConfiguration(try UnverifiedEnvelope(envelope), in: full)
            do throws(VerificationFailure) {
                let applicable = try ApplicableConfiguration(verified, in: full)
                if applicable.isAlreadyActive {
                    answerAgain(verified, by: deliveries, &transition)
                } else {
                    try checkWaiting(verified)
                    if isApplicationConnected { try context.schemaRefusal?.check(verified.payload) }
                    stage(verified, by: deliveries, in: context, &transition)
                }
            } catch {
                if error.rejection == .clockUnset {
                    try stageForClock(verified, by: deliveries, in: context, &transition)
                }
                throw error
            }
        } catch {
            conclude(error, of: envelope, by: deliveries, in: context, &transition)
        }
        return transition
    }

    /// The app sees this slot's configuration from now on: the waiting one is offered.
    package mutating func applicationConnected(_ arrival: Arrival) -> ApplyTransition {
        app.arrived(arrival)
        var transition = ApplyTransition()
        countStart(arrival, &transition)
        if phase == .waitingForApplication { offer(&transition) }
        return transition
    }

    /// The app sees this slot's configuration no longer: the offered one waits again.
    /// - Parameter isBeingOffered: false if the offer has ended before, with a verdict that could not be stored.
    @discardableResult
    package mutating func applicationDisconnected(
        _ ending: Ending = .lost, isBeingOffered: Bool = true
    ) -> ApplyTransition {
        guard app.left(ending) else { return ApplyTransition() }
        let lapse: Lapse = ending == .switched ? .takenBack : .unanswered
        var transition = answerOverdue(isBeingOffered ? lapse : .notStored)
        guard let trial else { return transition }
        if ending == .inOrder && !app.cannotJudge || app.library.isHealthy(trial.digest) {
            passTrial(&transition)
        } else if ending == .lost, max(trial.attempts, app.library.starts(of: trial.digest)) >= Self.attempts {
            rollBack(.failed, ConfigurationTrial.failureText, &transition)
        }
        return transition
    }

    /// The app has answered a reload: a trial may end with that (CFG-61), or senders learn what it loads (CFG-114). One
    /// that cannot judge lets the trial go on (CFG-113): it has not run with that, and its start is no attempt.
    package mutating func reloaded() -> ApplyTransition {
        var transition = ApplyTransition()
        if app.cannotJudge {
            if let shown, app.fault(of: shown)?.isUnjudged == true { reportLoading(&transition) }
            guard app.takeCountedStart() else { return transition }
            trial?.uncount()
            change(.trial(trial), &transition)
        } else if !endRefusedTrial(&transition) {
            reportLoading(&transition)
        }
        return transition
    }

    /// No usable answer came in time (CFG-43): the offered configuration waits, and its sender gets a report; after too
    /// many attempts it has failed (CFG-63). Only an attempt that the app left unanswered counts (CFG-62).
    @discardableResult
    package mutating func answerOverdue(_ lapse: Lapse = .unanswered) -> ApplyTransition {
        var transition = ApplyTransition()
        guard phase == .offered, var staged else { return transition }
        phase = .waitingForApplication
        if lapse == .unanswered, max(staged.attempts, app.library.starts(of: staged.record.digest)) >= Self.attempts {
            failStaged(&transition)
            return transition
        }
        if lapse != .unanswered {
            if lapse == .notTaken { app.refusedOffer() }
            staged.uncount()
            change(.counted(staged), &transition)
        }
        if app.offerLapsed(lapse, staged.deliveries) {
            report(.waitingForApplication, of: staged, by: staged.deliveries, text: lapse.reason, &transition)
        }
        transition.conclude(.waitingForApplication, lapse.reason ?? "")
        return transition
    }

    /// Takes in what an app's connection, its end, or the end of an offer has changed, where the commit of that event
    /// failed (CFG-43).
    /// - Parameters:
    ///   - arrival: how the app came to see this slot's configuration; nil if it does not see it.
    ///   - isBeingOffered: whether an offer of this slot has not ended.
    package mutating func caughtUp(_ arrival: Arrival?, isBeingOffered: Bool) -> ApplyTransition {
        // How the connection ended is lost with its event: a trial stays as it is.
        guard let arrival else { return applicationDisconnected(.switched, isBeingOffered: isBeingOffered) }
        if !isApplicationConnected { return applicationConnected(arrival) }
        return phase == .offered && !isBeingOffered ? answerOverdue(.notStored) : ApplyTransition()
    }

    /// The daemon has started. While the clock is not set, a stored configuration goes on to wait for it.
    /// - Parameter allowsInvalid: the daemon's half of CFG-22. No app has registered yet, whose half the context needs.
    package mutating func started(in context: VerificationContext, allowsInvalid: Bool) -> ApplyTransition {
        if phase == .waitingForApplication, context.now < context.clockFloor { phase = .waitingForClock }
        return allowsInvalid ? ApplyTransition() : permissionEnded(in: context)
    }

    /// At each tick: what waits for the clock is judged again once the clock is set, unless offers pause (LIM-142).
    package mutating func clockMoved(in context: VerificationContext) -> ApplyTransition {
        guard phase == .waitingForClock, let waiting = staged, context.now >= context.clockFloor, !app.pausesOffers
        else { return ApplyTransition() }
        phase = .idle
        var transition = received(waiting.record.envelope, by: waiting.deliveries, in: context)
        if phase == .idle { change(.staged(nil), &transition) }
        return transition
    }

    /// The trusted keys have changed: what waits for its app is judged again, and what is active by withdrawn keys ends
    /// (CFG-91).
    package mutating func keysChanged(in context: VerificationContext) -> ApplyTransition {
        var transition = ApplyTransition()
        endWithdrawn(in: context, &transition)
        endLoadReports(&transition)
        guard let staged else { return transition }
        do throws(VerificationFailure) {
            let full = completed(context)
            let verified = try VerifiedConfiguration(try UnverifiedEnvelope(staged.record.envelope), in: full)
            // Its signatures were good, and must not become ones that are waived (CFG-22).
            if let waived = verified.waived, !staged.isWaived {
                throw VerificationFailure(waived, "the keys have changed", payload: verified.payload)
            }
            _ = try ApplicableConfiguration(verified, in: full)
        } catch  where error.rejection != .clockUnset {
            // The app may have loaded it from its file, or have taken an offer that it has not answered yet.
            if isApplicationConnected { transition.add(.reload) }
            dropStaged(&transition)
            conclude(error, of: staged.record.envelope, by: staged.deliveries, in: context, &transition)
        } catch {}
        return transition
    }

    private mutating func stage(
        _ verified: VerifiedConfiguration, by deliveries: ConfigurationDeliveries, in context: VerificationContext,
        _ transition: inout ApplyTransition
    ) {
        let isOffered = phase == .offered && staged?.record.digest == verified.digest
        // CFG-22: without a good signature no mark moves.
        if verified.waived == nil { restartMark(in: context, &transition) }
        replaceStaged(verified, by: deliveries, in: context, &transition)
        if isOffered { return }
        phase = .waitingForApplication
        if app.takesOffers { offer(&transition) }
        guard phase == .waitingForApplication, let staged else { return }
        let text = context.waitingReason
        report(.waitingForApplication, of: staged, by: deliveries, text: text, &transition)
        transition.conclude(.waitingForApplication, text ?? "")
    }

    /// Once all configuration keys have been replaced, versions are counted from the beginning (CFG-88).
    private mutating func restartMark(in context: VerificationContext, _ transition: inout ApplyTransition) {
        guard let history = context.anchor.trusted,
            let restarted = VersionMark.restarted(mark, inEpoch: history.markEpoch), restarted != mark
        else { return }
        change(.mark(restarted), &transition)
    }

    /// Stages a configuration that only the clock holds back (CFG-33), unless what waits keeps it out.
    private mutating func stageForClock(
        _ verified: VerifiedConfiguration, by deliveries: ConfigurationDeliveries, in context: VerificationContext,
        _ transition: inout ApplyTransition
    ) throws(VerificationFailure) {
        try checkWaiting(verified)
        let isWaived = verified.waived != nil
        let isKept = (phase != .waitingForClock || deliveries.isEmpty) && staged?.isWaived == isWaived
        if isKept, let staged, staged.record.statement == verified.statement {
            return join(deliveries.bringing(verified.digest, of: staged.record.digest), &transition)
        }
        replaceStaged(verified, by: deliveries, in: context, &transition)
        phase = .waitingForClock
    }

    /// Counts an attempt and offers (CFG-62).
    private mutating func offer(_ transition: inout ApplyTransition) {
        guard var staged, !isHeldBack else { return }
        staged.attempts = app.attempts(with: staged.record.digest, after: staged.attempts)
        guard staged.attempts <= Self.attempts else { return failStaged(&transition) }
        phase = .offered
        change(.counted(staged), &transition)
        transition.add(.offer(ConfigurationOffer(staged)))
    }

    private mutating func replaceStaged(
        _ verified: VerifiedConfiguration, by deliveries: ConfigurationDeliveries, in context: VerificationContext,
        _ transition: inout ApplyTransition
    ) {
        let record = ConfigurationRecord(key: key, device: device, verified)
        var same = staged.flatMap { $0.record.statement == record.statement ? $0 : nil }
        let isSame = staged?.record.digest == record.digest
        var (answered, ended) = (deliveries, staged?.deliveries ?? ConfigurationDeliveries())
        if isSame { (answered, ended) = deliveries.joined(to: ended) }
        if let older = staged { report(.superseded, of: older, by: ended, &transition) }
        if same == nil, phase == .offered || (staged?.attempts ?? 0) > 0 { app.offerReplaced() }
        if !isSame { app.offersAnother() }
        // The same attempt begins again, in another envelope.
        if !isSame, phase == .offered { same?.uncount() }
        let newer = StagedConfiguration(
            record, staged: context.now, mark: VersionMark.counting(mark, under: context.anchor)?.highestRefused,
            allowsInvalid: context.allowsInvalidSignatures, isWaived: verified.waived != nil, deliveries: answered,
            attempts: same?.attempts ?? 0)
        change(.staged(newer), &transition)
    }

    /// The staged signed bytes have come again, and wait as before: their senders wait for one verdict (CFG-32).
    private mutating func join(_ newer: ConfigurationDeliveries, _ transition: inout ApplyTransition) {
        guard var staged else { return }
        let (deliveries, surplus) = newer.joined(to: staged.deliveries)
        guard deliveries != staged.deliveries else { return }
        staged.deliveries = deliveries
        change(.staged(staged), &transition)
        report(.superseded, of: staged, by: surplus, &transition)
    }

    /// The app has answered an offer. An answer about other bytes than those that were offered is as none.
    package mutating func answered(_ reply: OfferReply, now: WallTime) -> ApplyTransition {
        var transition = ApplyTransition()
        guard phase == .offered, var staged, reply.digest == staged.record.digest else { return transition }
        var senders = staged.deliveries
        switch reply.verdict {
        case .applied: commit(staged, now: now, &transition)
        case .rejected(.clockUnset):
            (phase, senders) = (.waitingForClock, app.foundClockUnset(senders))
            staged.uncount()
            change(.counted(staged), &transition)
        case .failed:
            failStaged(&transition, reply.text)
            return transition
        case .rejected, .waitingForApplication, .waitingForKey, .superseded:
            dropStaged(&transition)
            if app.hasReplacedOffer { transition.add(.reload) }
            app.offerJudged()
        }
        let isOnTrial: Bool? = reply.verdict == .applied ? trial != nil : nil
        report(
            reply.verdict, of: staged, by: senders, text: reply.text, isOnTrial: isOnTrial, &transition)
        transition.conclude(reply.verdict, ReportFacts.words(isOnTrial, staged.isWaived, reply.text) ?? "")
        return transition
    }

    /// The pairing that the target came from is gone (CFG-31).
    package mutating func closed() -> ApplyTransition {
        var transition = ApplyTransition()
        // The app may have loaded what waits from its file, or have taken an offer that it has not answered yet.
        let wasInUse = active != nil || waived != nil || staged != nil
        let (waiting, onTrial, senders) = (staged, tried, trial?.deliveries)
        if active != nil { change(.active(nil), &transition) }
        if waived != nil { change(.waived(nil), &transition) }
        if staged != nil { dropStaged(&transition) }
        if trial != nil { change(.trial(nil), &transition) }
        keep(nil, &transition)
        mark?.close()
        if let mark { change(.mark(mark), &transition) }
        // Their senders would wait for the last verdict, and deliver nothing again (CFG-72).
        if let waiting { report(.superseded, of: waiting, by: waiting.deliveries, &transition) }
        if let onTrial, let senders { report(.superseded, of: onTrial, by: senders, &transition) }
        if wasInUse, isApplicationConnected { transition.add(.reload) }
        return transition
    }

    /// Running time since the last call, and the wall clock: lifetimes are counted and those that are over end
    /// (CFG-34), a trial passes (CFG-61), and an app that did not answer is asked again (CFG-43).
    package mutating func timePassed(running: Duration, now: WallTime) -> ApplyTransition {
        var transition = ApplyTransition()
        app.tick(running)
        reportLoading(&transition)
        if let trial, !endRefusedTrial(&transition) {
            app.live(running)
            if app.hasLived(with: trial.digest) { passTrial(&transition) }
        }
        if let counted = active?.counted(running: running, now: now, with: app) {
            if counted.isOver(at: now), trial?.digest == counted.record.digest { passTrial(&transition) }
            change(.active(counted.isOver(at: now) ? nil : counted), &transition)
            if active == nil { deactivateMark(&transition) }
        }
        if let counted = waived?.counted(running: running, now: now, with: app) {
            if counted.isOver(at: now), trial?.digest == counted.record.digest { passTrial(&transition) }
            change(.waived(counted.isOver(at: now) ? nil : counted), &transition)
            if waived == nil, isApplicationConnected { transition.add(.reload) }
        }
        endLoadReports(&transition)
        if phase == .waitingForApplication, app.takesOffers { offer(&transition) }
        return transition
    }

    private mutating func endWithdrawn(in context: VerificationContext, _ transition: inout ApplyTransition) {
        if let previous = trial?.previous, isWithdrawn(previous, in: context) {
            trial?.previous = nil
            change(.trial(trial), &transition)
        }
        guard let ended = active, isWithdrawn(ended, in: context) else { return }
        let onTrial = trial?.digest == ended.record.digest ? trial : nil
        change(.active(nil), &transition)
        deactivateMark(&transition)
        if onTrial != nil { change(.trial(nil), &transition) }
        let senders = senders(of: ended, onTrial)
        transition.recall(senders)
        report(.rejected(.signerRevoked), of: ended, by: senders, &transition)
        transition.conclude(.rejected(.signerRevoked), "version \(ended.record.version) is withdrawn with its keys")
    }

    /// The deliveries whose senders learn that what they brought has ended.
    /// - Parameter onTrial: its trial, if that lasted; it may have passed an earlier one.
    private func senders(
        of ended: ActiveConfiguration, _ onTrial: ConfigurationTrial?
    ) -> ConfigurationDeliveries {
        let passed = loadReports?.deliveries(of: ended.record.digest) ?? ConfigurationDeliveries()
        return onTrial?.deliveries.joined(to: passed).deliveries ?? passed
    }

    /// Whether something waits or is applied by the permission of CFG-22.
    package var needsPermission: Bool { waived != nil || staged?.allowsInvalid == true }

    /// Ends the waiting and the applied configuration with an invalid signature: neither outlives the permission.
    package mutating func permissionEnded(in context: VerificationContext) -> ApplyTransition {
        var transition = ApplyTransition()
        if var staged, staged.allowsInvalid {
            if staged.isWaived {
                dropStaged(&transition)
                conclude(staged.record, by: staged.deliveries, in: context, &transition)
            } else {
                // Its app may trust other keys, and must not take it for ones that are waived.
                staged.allowsInvalid = false
                change(.staged(staged), &transition)
            }
        }
        guard let ended = waived else { return transition }
        let onTrial = tried?.isWaived == true ? trial : nil
        change(.waived(nil), &transition)
        if onTrial != nil { change(.trial(nil), &transition) }
        // An app that has registered meanwhile has read the file that goes.
        transition.add(.reload)
        let senders = senders(of: ended, onTrial)
        transition.recall(senders)
        conclude(ended.record, by: senders, in: context, &transition)
        endLoadReports(&transition)
        return transition
    }

    private mutating func deactivateMark(_ transition: inout ApplyTransition) {
        mark?.deactivate()
        if let mark { change(.mark(mark), &transition) }
        if isApplicationConnected { transition.add(.reload) }
    }

    private mutating func commit(_ staged: StagedConfiguration, now: WallTime, _ transition: inout ApplyTransition) {
        let applied = ActiveConfiguration(staged.record, applied: now, isWaived: staged.isWaived)
        app.applied(staged.record.digest)
        let former = beginTrial(of: staged, &transition)
        if staged.isWaived { change(.waived(applied), &transition) } else { commitVerified(applied, &transition) }
        dropStaged(&transition)
        endLoadReports(&transition)
        // Now, when the reports no longer name it as the active one (CFG-50).
        guard let (replaced, senders) = former else { return }
        report(.superseded, of: replaced, by: senders, &transition)
    }

    private mutating func commitVerified(_ applied: ActiveConfiguration, _ transition: inout ApplyTransition) {
        // After a crash between file and commit the same bytes come again: their lifetime continues, it does not start
        // again.
        let kept = active.flatMap { $0.record.digest == applied.record.digest ? $0 : nil } ?? applied
        change(.active(kept), &transition)
        change(.mark(VersionMark.advanced(mark, by: applied.record)), &transition)
        change(.clockFloor(applied.clockFloor), &transition)
        if waived != nil { change(.waived(nil), &transition) }
    }

    private mutating func dropStaged(_ transition: inout ApplyTransition) {
        phase = .idle
        change(.staged(nil), &transition)
    }

    /// Makes a durable change here and in the transition, whose rows must say the same.
    private mutating func change(_ change: ApplyChange, _ transition: inout ApplyTransition) {
        switch change {
        case .mark(let next): mark = next
        case .staged(let next):
            staged = next
            if let next, isHeldBack { return transition.add(.counted(next)) }
        case .counted(let next): staged = next
        case .trial(let next):
            // The file that has waited for the end of the trial.
            if next == nil, isHeldBack { transition.add(.staged(staged)) }
            trial = next
        case .loadReports(let next): loadReports = next
        case .active(let next): active = next
        case .waived(let next): waived = next
        // Not the slot's own.
        case .clockFloor, .report: break
        }
        transition.add(change)
    }

    // MARK: trial (CFG-61 to CFG-63)

    private static var attempts: UInt64 { ConfigurationLimits.attempts }

    private var tried: ActiveConfiguration? {
        guard let trial else { return nil }
        return [waived, active].compactMap { $0 }.first { $0.record.digest == trial.digest }
    }

    /// The app has applied the staged configuration.
    /// - Returns: the configuration whose trial this one takes over, with its deliveries.
    private mutating func beginTrial(
        of staged: StagedConfiguration, _ transition: inout ApplyTransition
    ) -> (ActiveConfiguration, ConfigurationDeliveries)? {
        let running = trial.flatMap { trial in tried.map { (trial: trial, tried: $0) } }
        let next = ConfigurationTrial(of: staged, after: running, active: active)
        app.trialBegan()
        change(.trial(next), &transition)
        guard let (former, configuration) = running, former.digest != next.digest else { return nil }
        return (configuration, former.deliveries)
    }

    /// The app has come again during the trial.
    private mutating func countStart(_ arrival: Arrival, _ transition: inout ApplyTransition) {
        guard let running = trial else { return }
        if app.library.isHealthy(running.digest) { return passTrial(&transition) }
        trial?.attempts = app.attempts(with: running.digest, after: running.attempts, arrival)
        if let trial, trial.isUsedUp { return rollBack(.failed, ConfigurationTrial.failureText, &transition) }
        change(.trial(trial), &transition)
    }

    private mutating func passTrial(_ transition: inout ApplyTransition) {
        guard let trial, !endRefusedTrial(&transition) else { return }
        if let tried {
            report(.applied, of: tried, by: trial.deliveries, isOnTrial: false, &transition)
            keep(trial.deliveries, of: trial.digest, beside: [active, waived], &transition)
        }
        change(.trial(nil), &transition)
    }

    /// Ends the trial of a configuration that the app does not load any longer, and returns whether it is one.
    private mutating func endRefusedTrial(_ transition: inout ApplyTransition) -> Bool {
        guard let fault = app.loadFault, fault.digest == trial?.digest, let name = fault.rejection else { return false }
        rollBack(.rejected(name), fault.text, &transition)
        return true
    }

    /// The last good configuration is active again, and the version on trial never returns.
    private mutating func rollBack(_ verdict: Verdict, _ text: String, _ transition: inout ApplyTransition) {
        guard let trial, let tried else { return }
        if tried.isWaived {
            change(.waived(nil), &transition)
        } else {
            change(.active(trial.previous), &transition)
            change(.mark(VersionMark.burnt(mark, by: tried.record)), &transition)
        }
        change(.trial(nil), &transition)
        endLoadReports(&transition)
        report(verdict, of: tried, by: trial.deliveries, text: text, &transition)
        finishFailure(verdict, text, &transition)
    }

    private mutating func failStaged(_ transition: inout ApplyTransition, _ reason: String? = nil) {
        guard let staged else { return }
        dropStaged(&transition)
        if !staged.isWaived { change(.mark(VersionMark.burnt(mark, by: staged.record)), &transition) }
        let text = reason ?? "the app gave no verdict in \(Self.attempts) attempts"
        report(.failed, of: staged, by: staged.deliveries, text: text, &transition)
        finishFailure(.failed, text, &transition)
    }

    private func finishFailure(_ verdict: Verdict, _ text: String, _ transition: inout ApplyTransition) {
        if isApplicationConnected { transition.add(.reload) }
        transition.conclude(verdict, text)
    }

    // MARK: loading (CFG-114)

    /// The senders of what is applied learn that the app does not load it any longer, or does again (CFG-114).
    private mutating func reportLoading(_ transition: inout ApplyTransition) {
        guard trial == nil, let shown, let reports = app.takeLoadReports(loadReports, of: shown) else { return }
        keep(reports, &transition)
        let (text, deliveries) = (app.fault(of: shown)?.text, reports.deliveries(of: shown.record.digest))
        report(.applied, of: shown, by: deliveries, text: text, isOnTrial: false, &transition)
    }

    /// Keeps deliveries that brought what is applied, for the reports that may follow.
    /// - Parameter present: the configurations whose deliveries stay.
    private mutating func keep(
        _ deliveries: ConfigurationDeliveries, of digest: [UInt8], beside present: [ActiveConfiguration?],
        _ transition: inout ApplyTransition
    ) {
        var reports = loadReports ?? LoadReports()
        reports.add(deliveries, of: digest)
        reports.keep(present.compactMap { $0?.record.digest })
        keep(reports, &transition)
    }

    private mutating func keep(_ reports: LoadReports?, _ transition: inout ApplyTransition) {
        let kept = reports?.isEmpty == true ? nil : reports
        guard kept != loadReports else { return }
        app.forgetLoadReports(except: kept?.digests ?? [])
        change(.loadReports(kept), &transition)
    }

    /// The reports end with the configuration that they are about; that of a trial's previous one has not ended.
    private mutating func endLoadReports(_ transition: inout ApplyTransition) {
        keep(ConfigurationDeliveries(), of: [], beside: [active, waived, trial?.previous], &transition)
    }

    /// The configuration is active already; the senders of one on trial wait for its end.
    private mutating func answerAgain(
        _ verified: VerifiedConfiguration, by deliveries: ConfigurationDeliveries, _ transition: inout ApplyTransition
    ) {
        let applied = applied(verified)
        let isOnTrial = trial.map { $0.digest == applied?.record.digest } ?? false
        transition.conclude(.applied, ReportFacts.words(isOnTrial, applied?.isWaived == true, nil) ?? "")
        guard !deliveries.isEmpty, let applied else { return }
        // Another envelope around the same signed bytes has a sender as well: its reports have its own digest.
        let joining = deliveries.bringing(verified.digest, of: applied.record.digest)
        if isOnTrial, let trial {
            // The surplus gets no report of the end: any would finish its nonce, and a rollout would go on while the
            // trial lasts (CFG-79).
            self.trial?.deliveries = joining.joined(to: trial.deliveries).deliveries
            change(.trial(self.trial), &transition)
        } else {
            keep(joining, of: applied.record.digest, beside: [active, waived, trial?.previous], &transition)
        }
        report(.applied, of: applied, by: joining, isOnTrial: isOnTrial, &transition)
    }
}
