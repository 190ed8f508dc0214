// The app's verdict, and what ends an active configuration: unpairing and a lifetime that is over.

package import TandemBase

extension ConfigurationSlot {
    /// The app has answered a hand-over. An answer about other bytes than those that were handed over is as none.
    package mutating func answered(_ reply: HandOverReply, now: WallTime) -> ApplyTransition {
        var transition = ApplyTransition()
        guard phase == .handed, let staged, reply.digest == staged.record.digest else { return transition }
        switch reply.verdict {
        case .applied: commit(staged, now: now, &transition)
        case .rejected(.clockUnset): phase = .waitingForClock
        case .rejected, .waitingForApplication, .superseded: dropStaged(&transition)
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
        let wasInUse = active != nil || waived != nil
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
        // After a crash between file and commit the same bytes come again: their time goes on, it does not start anew.
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
