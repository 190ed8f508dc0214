// The one apply path as a state machine, for one (app, role, target): the active configuration, the staged one and the
// version mark. A configuration becomes active only by the app's own verdict on the very bytes that it was offered. A
// refusal leaves everything as it was. A newer version replaces a waiting one, which is reported as superseded; bytes
// with a waived signature never replace good ones.

package import TandemBase
import TandemCrypto

/// The state of one (app, role, target) in a daemon; confined to its loop.
package struct ConfigurationSlot: Sendable, Equatable {
    /// The phase of the staged configuration.
    package enum Phase: Sendable, Equatable {
        case idle
        /// Staged; it is offered as soon as the app is there.
        case waitingForApplication
        /// Staged; it is verified again when the clock has moved.
        case waitingForClock
        /// Offered; an answer about these bytes is expected.
        case offered
    }

    package let key: ConfigurationSlotKey
    /// This device's vendor identifier.
    package let device: UniqueIdentifier
    package private(set) var phase: Phase
    package private(set) var mark: VersionMark?
    package private(set) var active: ActiveConfiguration?
    /// Applied with an invalid signature that was allowed; shows above ``active``.
    package private(set) var waived: ActiveConfiguration?
    package private(set) var staged: StagedConfiguration?
    package private(set) var isApplicationConnected = false

    /// The slot of the stored rows; after a crash an offered configuration is offered again.
    package init(
        key: ConfigurationSlotKey, device: UniqueIdentifier, mark: VersionMark? = nil,
        active: ActiveConfiguration? = nil, waived: ActiveConfiguration? = nil, staged: StagedConfiguration? = nil
    ) {
        self.key = key
        self.device = device
        self.mark = mark
        self.active = active
        self.waived = waived
        self.staged = staged
        phase = staged == nil ? .idle : .waitingForApplication
    }

    /// Bytes have arrived. Application, role, target, device and mark of the context are replaced by the slot's own.
    package mutating func received(
        _ envelope: [UInt8], by delivery: ConfigurationDelivery?, in context: VerificationContext
    ) -> ApplyTransition {
        var transition = ApplyTransition()
        do {
            let applicable = try ApplicableConfiguration(verifying: envelope, in: completed(context))
            try checkWaiting(applicable.verified)
            if applicable.isAlreadyActive {
                conclude(.applied, of: applicable.verified, by: delivery, &transition)
            } else {
                try stage(applicable.verified, by: delivery, in: context, &transition)
            }
        } catch {
            stageForClock(envelope, after: error, by: delivery, in: context, &transition)
            conclude(error, of: envelope, by: delivery, &transition)
        }
        return transition
    }

    /// The app's receiving connection has registered: the waiting configuration is offered.
    package mutating func applicationConnected() -> ApplyTransition {
        isApplicationConnected = true
        var transition = ApplyTransition()
        if phase == .waitingForApplication { offer(&transition) }
        return transition
    }

    /// The connection has closed: the offered configuration waits again.
    @discardableResult
    package mutating func applicationDisconnected() -> ApplyTransition {
        isApplicationConnected = false
        return answerOverdue()
    }

    /// No usable answer came in time (CFG-43): the offered configuration waits for the next registration, and its
    /// sender gets a report.
    @discardableResult
    package mutating func answerOverdue() -> ApplyTransition {
        var transition = ApplyTransition()
        guard phase == .offered, let staged else { return transition }
        phase = .waitingForApplication
        if let delivery = staged.delivery {
            transition.add(.report(report(.waitingForApplication, of: staged.record, by: delivery)))
        }
        transition.conclude(.waitingForApplication)
        return transition
    }

    /// The wall clock has been set: what waits for it is judged again.
    package mutating func clockMoved(in context: VerificationContext) -> ApplyTransition {
        guard phase == .waitingForClock, let waiting = staged, context.now >= context.clockFloor else {
            return ApplyTransition()
        }
        staged = nil
        phase = .idle
        var transition = received(waiting.record.envelope, by: waiting.delivery, in: context)
        if staged == nil { transition.add(.staged(nil)) }
        return transition
    }

    /// The trusted keys have changed: what waits for its app is judged again, and what is active by withdrawn keys ends
    /// (CFG-91).
    package mutating func keysChanged(in context: VerificationContext) -> ApplyTransition {
        var transition = ApplyTransition()
        endWithdrawn(in: context, &transition)
        guard let staged else { return transition }
        do {
            _ = try ApplicableConfiguration(verifying: staged.record.envelope, in: completed(context))
        } catch  where error.rejection != .clockUnset {
            // The app may have taken what it was offered, and not have answered yet: it reads its files again.
            if phase == .offered { transition.add(.reload) }
            dropStaged(&transition)
            conclude(error, of: staged.record.envelope, by: staged.delivery, &transition)
        } catch {}
        return transition
    }

    /// The context for this slot.
    private func completed(_ context: VerificationContext) -> VerificationContext {
        var context = context
        context.application = key.application
        context.role = key.role
        context.target = key.target
        context.device = device
        context.mark = mark
        return context
    }
}

extension ConfigurationSlot {
    /// CFG-32, and the last sentence of CFG-22.
    private func checkWaiting(_ verified: VerifiedConfiguration) throws(VerificationFailure) {
        guard let staged, staged.record.digest != verified.digest else { return }
        let payload = verified.payload
        if let waived = verified.waived, !staged.isWaived {
            throw VerificationFailure(waived, "one with good signatures is waiting", payload: payload)
        }
        if verified.waived == nil, staged.isWaived { return }
        if payload.version < staged.record.version {
            throw VerificationFailure(.rollback, "version \(staged.record.version) is waiting", payload: payload)
        }
        if payload.version == staged.record.version {
            throw VerificationFailure(
                .equivocation, "version \(payload.version) is waiting with other bytes", payload: payload)
        }
    }

    private mutating func stage(
        _ verified: VerifiedConfiguration, by delivery: ConfigurationDelivery?, in context: VerificationContext,
        _ transition: inout ApplyTransition
    ) throws(VerificationFailure) {
        let isOffered = phase == .offered && staged?.record.digest == verified.digest
        restartMark(in: context, &transition)
        let record = try record(of: verified.bytes)
        replaceStaged(record, isWaived: verified.waived != nil, by: delivery, in: context, &transition)
        if isOffered { return }
        phase = .waitingForApplication
        if isApplicationConnected {
            offer(&transition)
        } else {
            conclude(.waitingForApplication, of: verified, by: delivery, &transition)
        }
    }

    /// Once all configuration keys have been replaced, versions are counted from the beginning (CFG-88).
    private mutating func restartMark(in context: VerificationContext, _ transition: inout ApplyTransition) {
        guard case .trusted(let history) = context.anchor,
            let restarted = VersionMark.restarted(mark, inEpoch: history.markEpoch), restarted != mark
        else { return }
        mark = restarted
        transition.add(.mark(restarted))
    }

    /// CFG-33: what only lacks a clock is kept, if nothing better waits.
    private mutating func stageForClock(
        _ envelope: [UInt8], after failure: VerificationFailure, by delivery: ConfigurationDelivery?,
        in context: VerificationContext, _ transition: inout ApplyTransition
    ) {
        guard failure.rejection == .clockUnset, let version = failure.payload?.version else { return }
        if let staged, staged.record.version >= version { return }
        guard let record = try? record(of: envelope) else { return }
        // Whether the signature was waived is found again when the clock is right; until then the lower rank is
        // assumed.
        replaceStaged(record, isWaived: context.allowsInvalidSignatures, by: delivery, in: context, &transition)
        phase = .waitingForClock
    }

    private mutating func offer(_ transition: inout ApplyTransition) {
        guard let staged else { return }
        phase = .offered
        transition.add(.offer(ConfigurationOffer(staged)))
    }

    private mutating func replaceStaged(
        _ record: ConfigurationRecord, isWaived: Bool, by delivery: ConfigurationDelivery?,
        in context: VerificationContext, _ transition: inout ApplyTransition
    ) {
        if let older = staged, older.record.digest != record.digest, let delivery = older.delivery {
            transition.add(.report(report(.superseded, of: older.record, by: delivery)))
        }
        let newer = StagedConfiguration(
            record, staged: context.now, mark: mark?.highestRefused,
            allowsInvalid: context.allowsInvalidSignatures, isWaived: isWaived, delivery: delivery)
        staged = newer
        transition.add(.staged(newer))
    }

    private func record(of envelope: [UInt8]) throws(VerificationFailure) -> ConfigurationRecord {
        do {
            return try ConfigurationRecord(key: key, device: device, envelope: envelope)
        } catch {
            throw VerificationFailure(.malformed, error.description)
        }
    }
}

extension ConfigurationSlot {
    /// The app has answered an offer. An answer about other bytes than those that were offered is as none.
    package mutating func answered(_ reply: OfferReply, now: WallTime) -> ApplyTransition {
        var transition = ApplyTransition()
        guard phase == .offered, let staged, reply.digest == staged.record.digest else { return transition }
        switch reply.verdict {
        case .applied: commit(staged, now: now, &transition)
        case .rejected(.clockUnset): phase = .waitingForClock
        case .rejected, .waitingForApplication, .waitingForKey, .superseded: dropStaged(&transition)
        }
        if let delivery = staged.delivery {
            transition.add(.report(report(reply.verdict, of: staged.record, by: delivery, text: reply.text)))
        }
        transition.conclude(reply.verdict, reply.text ?? "")
        return transition
    }

    /// The pairing that the target came from is gone (CFG-31).
    package mutating func closed() -> ApplyTransition {
        var transition = ApplyTransition()
        // The app may have taken what it was offered, and not have answered yet.
        let wasInUse = active != nil || waived != nil || phase == .offered
        if active != nil { transition.add(.active(nil)) }
        if waived != nil { transition.add(.waived(nil)) }
        active = nil
        waived = nil
        if staged != nil { dropStaged(&transition) }
        mark?.close()
        if let mark { transition.add(.mark(mark)) }
        if wasInUse, isApplicationConnected { transition.add(.reload) }
        return transition
    }

    /// Running time since the last call, and the wall clock: lifetimes are counted and those that are over end
    /// (CFG-34).
    package mutating func timePassed(running: Duration, now: WallTime) -> ApplyTransition {
        var transition = ApplyTransition()
        if let counted = Self.counted(active, running: running, now: now) {
            active = counted.isOver(at: now) ? nil : counted
            transition.add(.active(active))
            if active == nil { mark?.deactivate() }
            if active == nil, let mark { transition.add(.mark(mark)) }
            if active == nil, isApplicationConnected { transition.add(.reload) }
        }
        if let counted = Self.counted(waived, running: running, now: now) {
            waived = counted.isOver(at: now) ? nil : counted
            transition.add(.waived(waived))
            if waived == nil, isApplicationConnected { transition.add(.reload) }
        }
        return transition
    }

    private static func counted(
        _ configuration: ActiveConfiguration?, running: Duration, now: WallTime
    ) -> ActiveConfiguration? {
        guard var counted = configuration, counted.record.payload.lifetime != nil else { return nil }
        counted.advance(running: running, now: now)
        return counted
    }

    private mutating func endWithdrawn(in context: VerificationContext, _ transition: inout ApplyTransition) {
        guard let record = active?.record else { return }
        var loading = completed(context)
        loading.profile = .load
        loading.allowsInvalidSignatures = false
        do {
            _ = try ApplicableConfiguration(verifying: record.envelope, in: loading)
        } catch  where error.rejection == .signerRevoked {
            active = nil
            transition.add(.active(nil))
            mark?.deactivate()
            if let mark { transition.add(.mark(mark)) }
            if isApplicationConnected { transition.add(.reload) }
        } catch {}
    }

    private mutating func commit(
        _ staged: StagedConfiguration, now: WallTime, _ transition: inout ApplyTransition
    ) {
        let applied = ActiveConfiguration(staged.record, applied: now, isWaived: staged.isWaived)
        if staged.isWaived {
            waived = applied
            transition.add(.waived(applied))
        } else {
            commitVerified(applied, &transition)
        }
        dropStaged(&transition)
    }

    private mutating func commitVerified(_ applied: ActiveConfiguration, _ transition: inout ApplyTransition) {
        let payload = applied.record.payload
        // After a crash between file and commit the same bytes come again: their lifetime continues, it does not start
        // again.
        let isSame = active?.record.digest == applied.record.digest
        let kept = isSame ? active ?? applied : applied
        active = kept
        transition.add(.active(kept))
        let advanced = VersionMark.advanced(mark, by: payload, digest: applied.record.digest)
        mark = advanced
        transition.add(.mark(advanced))
        transition.add(.clockFloor(min(WallTime(seconds: payload.issued), applied.applied)))
        if waived != nil { transition.add(.waived(nil)) }
        waived = nil
    }

    private mutating func dropStaged(_ transition: inout ApplyTransition) {
        staged = nil
        phase = .idle
        transition.add(.staged(nil))
    }
}

extension ConfigurationSlot {
    private func report(
        _ verdict: Verdict, of record: ConfigurationRecord, by delivery: ConfigurationDelivery, text: String? = nil
    ) -> ReportFacts {
        ReportFacts(
            delivery: delivery, key: key, digest: record.digest, transaction: record.transaction,
            version: record.version, verdict: verdict, text: text, good: good)
    }

    private func conclude(
        _ verdict: Verdict, of verified: VerifiedConfiguration, by delivery: ConfigurationDelivery?,
        _ transition: inout ApplyTransition
    ) {
        transition.conclude(verdict)
        guard let delivery else { return }
        let facts = ReportFacts(
            delivery: delivery, key: key, digest: verified.digest, transaction: verified.payload.transaction,
            version: verified.payload.version, verdict: verdict, text: nil, good: good)
        transition.add(.report(facts))
    }

    private func conclude(
        _ failure: VerificationFailure, of envelope: [UInt8], by delivery: ConfigurationDelivery?,
        _ transition: inout ApplyTransition
    ) {
        // A sender delivers again once there is a key (CFG-74); for an operator here it is a rejection.
        let verdict: Verdict =
            failure.rejection == .noKey && delivery != nil ? .waitingForKey : .rejected(failure.rejection)
        transition.conclude(verdict, failure.detail)
        guard let delivery else { return }
        let facts = ReportFacts(
            delivery: delivery, key: key, digest: SHA256.digest(envelope), transaction: failure.payload?.transaction,
            version: failure.payload?.version, verdict: verdict, text: failure.detail, good: good)
        transition.add(.report(facts))
    }

    private var good: GoodConfiguration? {
        active.map { GoodConfiguration(version: $0.record.version, digest: $0.record.digest) }
    }
}

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

/// An action for the time after the commit.
package enum ApplyEffect: Sendable, Equatable {
    /// Send this to the app's receiving connection, and pass the reply to `answered`.
    case offer(ConfigurationOffer)
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

    fileprivate mutating func add(_ change: ApplyChange) { changes.append(change) }

    fileprivate mutating func add(_ effect: ApplyEffect) { effects.append(effect) }

    fileprivate mutating func conclude(_ verdict: Verdict, _ detail: String = "") {
        self.verdict = verdict
        self.detail = detail
    }
}
