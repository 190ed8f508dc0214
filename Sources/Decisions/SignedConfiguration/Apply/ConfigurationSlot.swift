// The one apply path as a machine, for one (app, role, target): what is active, what waits, how far versions have come.
// Nothing becomes active here by any other way than the app's own verdict on the very bytes that were handed to it; and
// a refusal leaves everything as it was.

package import TandemBase

/// The state of one (app, role, target) in a daemon; confined to its loop.
package struct ConfigurationSlot: Sendable, Equatable {
    /// What the slot is doing.
    package enum Phase: Sendable, Equatable {
        case idle
        /// Staged; it is handed over as soon as the app is there.
        case waitingForApplication
        /// Staged; it is verified again when the clock has moved.
        case waitingForClock
        /// Handed over; an answer about these bytes is expected.
        case handed
    }

    package let key: ConfigurationSlotKey
    /// This device's vendor identifier.
    package let device: UniqueIdentifier
    package internal(set) var phase: Phase
    package internal(set) var mark: VersionMark?
    package internal(set) var active: ActiveConfiguration?
    /// Applied with an invalid signature that was allowed; shows above ``active``.
    package internal(set) var waived: ActiveConfiguration?
    package internal(set) var staged: StagedConfiguration?
    package internal(set) var isApplicationConnected = false

    /// The slot as its rows say; after a crash what was handed over is handed over again.
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

    /// The app's receiving connection has registered: what waits is handed over.
    package mutating func applicationConnected() -> ApplyTransition {
        isApplicationConnected = true
        var transition = ApplyTransition()
        if phase == .waitingForApplication { handOver(&transition) }
        return transition
    }

    /// The connection is gone: what was handed over waits again.
    @discardableResult
    package mutating func applicationDisconnected() -> ApplyTransition {
        isApplicationConnected = false
        return answerOverdue()
    }

    /// No usable answer came in time (CFG-43): what was handed over waits for the next registration, and its sender is
    /// told.
    @discardableResult
    package mutating func answerOverdue() -> ApplyTransition {
        var transition = ApplyTransition()
        guard phase == .handed, let staged else { return transition }
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
