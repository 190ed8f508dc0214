// Read-only rules of a configuration slot: the verification context with the slot's facts, and comparisons of bytes
// with what waits or is active. Apart from ConfigurationSlot.swift because none of them changes the slot.

extension ConfigurationSlot {
    /// The payload of bytes that pass every step but 18, and are not active: what an app's schema has to judge.
    package func candidate(_ envelope: [UInt8], in context: VerificationContext) -> ConfigurationPayload? {
        let applicable = try? ApplicableConfiguration(verifying: envelope, in: completed(context))
        return applicable.flatMap { $0.isAlreadyActive ? nil : $0.payload }
    }

    /// Whether a revocation withdraws what is active (CFG-89).
    func isWithdrawn(_ configuration: ActiveConfiguration, in context: VerificationContext) -> Bool {
        var loading = completed(context)
        loading.profile = .load
        loading.allowsInvalidSignatures = false
        do {
            _ = try ApplicableConfiguration(verifying: configuration.record.envelope, in: loading)
            return false
        } catch {
            return error.rejection == .signerRevoked
        }
    }

    func completed(_ context: VerificationContext) -> VerificationContext {
        var context = context
        context.application = key.application
        context.role = key.role
        context.target = key.target
        context.device = device
        context.mark = mark
        context.waivedStatement = waived?.record.statement
        return context
    }

    /// The applied configuration that a verified one, which is active already, is; nil if only its mark is known.
    func applied(_ verified: VerifiedConfiguration) -> ActiveConfiguration? {
        guard verified.waived != nil, let waived, waived.record.statement == verified.statement else { return active }
        return waived
    }

    /// Refuses bytes that must not take the place of what waits (CFG-32; good signatures go first, CFG-22).
    func checkWaiting(_ verified: VerifiedConfiguration) throws(VerificationFailure) {
        guard let staged else { return }
        let payload = verified.payload
        if let waived = verified.waived, !staged.isWaived {
            throw VerificationFailure(waived, "one with good signatures is waiting", payload: payload)
        }
        // A carrier can put another envelope around what waits (CFG-32).
        if staged.record.statement == verified.statement || verified.waived == nil && staged.isWaived { return }
        if payload.version < staged.record.version {
            throw VerificationFailure(.rollback, "version \(staged.record.version) is waiting", payload: payload)
        }
        if payload.version == staged.record.version {
            throw VerificationFailure(
                .equivocation, "version \(payload.version) is waiting with other bytes", payload: payload)
        }
    }
}
