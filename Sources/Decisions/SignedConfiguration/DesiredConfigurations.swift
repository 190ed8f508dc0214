// Desired state of a primary: the envelopes that its operator applied, everything that its secondaries have reported,
// and the deliveries that bring the two together (CFG-70 to CFG-79). An event changes the state and returns the rows to
// commit and the deliveries to make after that commit. Everything is looked up by key, so that a primary with a
// thousand secondaries finds in a moment which of them lack something.

package import TandemBase
package import TandemCrypto

package struct DesiredConfigurations: Sendable {
    private struct Secondary {
        /// Nil before the first delivery: most secondaries have no configuration.
        var counter: ReportCounter?
        var states: [ConfigurationSlotKey: SecondaryState] = [:]
        /// Those whose apps do not load what is active: `health` asks for them often, and looks at no other state.
        private(set) var unloaded: Set<ConfigurationSlotKey> = []

        mutating func set(_ state: SecondaryState, of key: ConfigurationSlotKey) {
            states[key] = state
            if state.loadFault == nil { unloaded.remove(key) } else { unloaded.insert(key) }
        }
    }

    private var slots: [ConfigurationSlotKey: DesiredSlot] = [:]
    private var secondaries: [UniqueIdentifier: Secondary] = [:]

    package init() {}

    // MARK: state in force

    /// Whether nothing is desired and nothing has been.
    package var isEmpty: Bool { slots.isEmpty }

    /// Whether something is desired, or has been, for an application.
    package func desires(_ application: ApplicationIdentifier) -> Bool {
        slots.keys.contains { $0.application == application }
    }

    /// The slots with a desired configuration or a history.
    package var keys: [ConfigurationSlotKey] {
        slots.keys.sorted { ($0.application, $0.target.text) < ($1.application, $1.target.text) }
    }

    /// The desired envelopes of a slot, the highest version last.
    package func desired(of key: ConfigurationSlotKey) -> [DesiredConfiguration] { slots[key]?.desired ?? [] }

    package func desired(_ digest: [UInt8], of key: ConfigurationSlotKey) -> DesiredConfiguration? {
        slots[key]?.envelope(digest)
    }

    /// The last envelopes that the operator applied, the newest last (LIM-85).
    package func history(of key: ConfigurationSlotKey) -> [AcceptedConfiguration] { slots[key]?.history ?? [] }

    package func state(of key: ConfigurationSlotKey, at pairing: UniqueIdentifier) -> SecondaryState? {
        secondaries[pairing]?.states[key]
    }

    /// Whether a delivery through a pairing has no final verdict.
    package func isOpen(_ id: UniqueIdentifier, at pairing: UniqueIdentifier) -> Bool {
        secondaries[pairing]?.states.values.contains { $0.open.contains { $0.id == id } } ?? false
    }

    /// The standing of one secondary; nil if nothing is desired of it for this slot.
    package func standing(of addressee: ConfigurationAddressee, for key: ConfigurationSlotKey) -> SecondaryStanding? {
        guard addressee.isAddressed(by: key), let desired = slots[key]?.desired(of: addressee) else { return nil }
        return SecondaryStanding(desired, state(of: key, at: addressee.pairing), of: addressee)
    }

    /// The verdict of a secondary on a configuration that was applied.
    package func verdict(on applied: DesiredConfiguration, at pairing: UniqueIdentifier) -> String? {
        let (found, kept) = (state(of: applied.key, at: pairing), desired(applied.digest, of: applied.key) ?? applied)
        return found?.verdict(on: applied.digest, isActive: kept.isBrought(by: found?.good?.digest))
    }

    /// How a configuration that was applied ended at a secondary without a verdict (CFG-75); nil while one is
    /// outstanding. No delivery may tell: it never left, because it waited for keys, or a later one has taken its row.
    package func ending(
        of desired: DesiredConfiguration, at addressee: ConfigurationAddressee
    ) -> ForwardedConfiguration.Ending? {
        let state = state(of: desired.key, at: addressee.pairing)
        guard verdict(on: desired, at: addressee.pairing) == nil else { return nil }
        let delivery = state?.delivery(of: desired.digest)
        // One that the applied one has overtaken can only be rejected, and that report may never leave (CFG-52).
        guard delivery == nil || state?.hasApplied(above: desired) == true else { return delivery?.ending }
        return (slots[desired.key] ?? DesiredSlot()).ending(of: desired, at: addressee, state) ?? delivery?.ending
    }

    /// The pairings of the secondaries that have reported that an app does not load what is active.
    package var unloadedPairings: [UniqueIdentifier] { secondaries.compactMap { $1.unloaded.isEmpty ? nil : $0 } }

    /// The apps that do not load what is active there (CTL-75). Where nothing is desired no table shows the reason.
    package func unloaded(at addressee: ConfigurationAddressee) -> [ApplicationIdentifier] {
        let keys = secondaries[addressee.pairing]?.unloaded.filter { standing(of: addressee, for: $0) != nil }
        return (keys ?? []).map(\.application).sorted()
    }

    /// Deliveries on their way, and the last finished one of each secondary and slot.
    package var deliveries: some Collection<ForwardedConfiguration> {
        secondaries.values.lazy.flatMap { $0.states.values.lazy.flatMap(\.shownDeliveries) }
    }

    /// The pairings of which anything is known, and those that a rollout names.
    package var pairings: Set<UniqueIdentifier> {
        slots.values.reduce(into: Set(secondaries.keys)) { pairings, slot in
            for version in slot.rollouts { pairings.formUnion(slot[version]?.rollout?.first ?? []) }
        }
    }

    // MARK: the operator

    /// Accepts an envelope and delivers it to the secondaries that lack it. The same bytes again are delivered to those
    /// that lack them, also to those that had rejected them.
    /// - Parameters:
    ///   - first: the pairings of the secondaries that get it first (CFG-79); nil for all at once. With the same bytes
    ///     again: those that get it as well, and nil lets the rollout go on.
    ///   - hasLeft: whether the secondary may have the item of a delivery by now.
    ///   - identifier: makes the random identifier of a delivery.
    package mutating func accept(
        _ new: DesiredConfiguration, first: Set<UniqueIdentifier>? = nil, for addressees: [ConfigurationAddressee],
        hasLeft: (ForwardedConfiguration) -> Bool, at now: WallTime, identifier: () -> UniqueIdentifier
    ) throws(DesiredRefusal) -> DesiredTransition {
        var transition = DesiredTransition()
        let slot = slots[new.key] ?? DesiredSlot()
        let rejected = rejected(of: new.key, hasLeft)
        let dropped: [DesiredConfiguration]
        if slot.contains(new.digest) {
            dropped = slot.from(new.version).dropFirst().filter { $0.covers(new) }
            if let blocking = dropped.last(where: { $0.isSpent || !rejected.contains($0.digest) }) {
                throw .rollback(inForce: blocking.version, isTaken: isTaken(blocking, hasLeft))
            }
            drop(dropped, of: new.key, &transition)
            widenRollout(of: new, to: first, &transition)
        } else {
            var new = new
            new.rollout = first.map { ConfigurationRollout(first: $0) }
            new.join(slot.history, slot.former(of: new)) { isTaken($0, hasLeft) }
            dropped = try insert(new, slot, rejected, hasLeft, &transition)
        }
        for addressee in addressees {
            transition.append(enterEpoch(of: addressee))
            deliver(new.key, to: addressee, because: .applied(new.digest), at: now, identifier, &transition)
        }
        advanceRollouts(of: new.key, &transition)
        // In the queues of those that get the new one, it takes the place of the one before.
        let served = Set(transition.deliveries.map(\.entry.pairing))
        transition.cancellations += unanswered(dropped, of: new.key).filter { !served.contains($0.pairing) }
        return transition
    }

    /// - Returns: those that it replaces.
    private mutating func insert(
        _ new: DesiredConfiguration, _ slot: DesiredSlot, _ rejected: Set<[UInt8]>,
        _ hasLeft: DeliveryCondition, _ transition: inout DesiredTransition
    ) throws(DesiredRefusal) -> [DesiredConfiguration] {
        let above = slot.from(new.version)
        if let inForce = above.last(where: { !$0.isSame(as: new) && ($0.isSpent || !rejected.contains($0.digest)) }) {
            throw new.version == inForce.version
                ? .equivocation(version: new.version)
                : .rollback(inForce: inForce.version, isTaken: isTaken(inForce, hasLeft))
        }
        if states(of: new.key).contains(where: { $0.mayHoldOtherBytes(than: new, hasLeft: hasLeft) }) {
            throw .equivocation(version: new.version)
        }
        let below = slot.covered(by: new).filter { kept in
            // Those that a rollout has not come to still need the version before.
            !kept.isSpent && (new.rollout == nil || kept.rollout != nil || rejected.contains(kept.digest))
        }
        let replaced = below + above
        // All slots: an operator applies seldom, and verifying the signatures has taken longer.
        let count = slots.values.reduce(1 - replaced.count) { $0 + $1.count }
        let bytes = slots.values.reduce(new.envelope.count) { $0 + $1.bytes }
        guard count <= ConfigurationLimits.desired,
            bytes - replaced.reduce(0, { $0 + $1.envelope.count }) <= ConfigurationLimits.desiredBytes
        else { throw .full }
        drop(replaced, of: new.key, &transition)
        slots[new.key, default: DesiredSlot()].insert(new)
        transition.changes += [.desired(new), .history(new.key, slots[new.key]?.noteAccepted(new) ?? [])]
        return replaced
    }

    /// Digests that a secondary has rejected for good and that none stages or may still take. Their versions are not
    /// spent and can be signed again (CFG-71).
    private func rejected(of key: ConfigurationSlotKey, _ hasLeft: DeliveryCondition) -> Set<[UInt8]> {
        let states = states(of: key)
        let refused = Set(states.flatMap { $0.refusals.map(\.digest) })
        let kept = states.flatMap { state in state.open.filter { state.mayHold($0, hasLeft) } }
        return refused.subtracting(kept.map(\.digest))
    }

    private func states(of key: ConfigurationSlotKey) -> [SecondaryState] {
        secondaries.values.compactMap { $0.states[key] }
    }

    /// Whether a secondary has applied a desired configuration, or may still take it.
    private func isTaken(_ desired: DesiredConfiguration, _ hasLeft: DeliveryCondition) -> Bool {
        desired.isSpent || states(of: desired.key).contains { $0.mayHold(desired, hasLeft) }
    }

    private mutating func drop(
        _ dropped: [DesiredConfiguration], of key: ConfigurationSlotKey, _ transition: inout DesiredTransition
    ) {
        for one in dropped {
            slots[key]?.remove(one.version)
            transition.changes.append(.dropped(key, version: one.version))
        }
    }

    /// Nothing is desired for the slot any more. Deliveries that no secondary has answered are taken back;
    /// secondaries keep what they have.
    /// - Parameter versions: only these; nil for all.
    /// - Returns: the versions that were desired.
    package mutating func withdraw(
        _ key: ConfigurationSlotKey, versions: Set<UInt64>?, at now: WallTime
    ) -> (versions: [UInt64], transition: DesiredTransition) {
        var transition = DesiredTransition()
        let withdrawn = desired(of: key).filter { versions?.contains($0.version) ?? true }
        guard !withdrawn.isEmpty else { return ([], transition) }
        drop(withdrawn, of: key, &transition)
        let history = slots[key]?.noteWithdrawn(Set(withdrawn.map(\.digest)), at: now) ?? []
        transition.changes.append(.history(key, history))
        transition.cancellations = unanswered(withdrawn, of: key)
        return (withdrawn.map(\.version), transition)
    }

    /// The deliveries of these envelopes that no secondary has answered.
    private func unanswered(
        _ envelopes: [DesiredConfiguration], of key: ConfigurationSlotKey
    ) -> [ForwardedConfiguration] {
        guard !envelopes.isEmpty else { return [] }
        let digests = Set(envelopes.map(\.digest))
        return states(of: key).flatMap { $0.open.filter { digests.contains($0.digest) && $0.verdict == nil } }
    }

    // MARK: rollouts

    /// Changes the rollout of a desired envelope, and of the row that it is.
    private mutating func setRollout(
        _ rollout: ConfigurationRollout?, of desired: DesiredConfiguration, _ transition: inout DesiredTransition
    ) {
        var changed = desired
        changed.rollout = rollout
        slots[desired.key]?.insert(changed)
        transition.changes.append(.desired(changed))
        if rollout?.stopped != nil { transition.cancellations += unanswered([desired], of: desired.key) }
        guard rollout == nil else { return }
        transition.promoted.insert(desired.key.application)
        dropUnneeded(below: changed, &transition)
    }

    /// The operator applies the bytes again: to more secondaries first, or to all.
    private mutating func widenRollout(
        of new: DesiredConfiguration, to first: Set<UniqueIdentifier>?, _ transition: inout DesiredTransition
    ) {
        guard let kept = slots[new.key]?.envelope(new.digest), let rollout = kept.rollout else { return }
        setRollout(first.map { ConfigurationRollout(first: rollout.first.union($0)) }, of: kept, &transition)
    }

    /// The envelopes of a slot whose rollouts have not come to all.
    private func rollouts(of key: ConfigurationSlotKey) -> [DesiredConfiguration] {
        guard let slot = slots[key] else { return [] }
        return slot.rollouts.sorted().compactMap { slot[$0] }
    }

    /// A rollout goes on once all of the first have applied the envelope and lived with it, and stops when one of them
    /// rejects it or fails with it. From then on the operator decides.
    private mutating func advanceRollouts(of key: ConfigurationSlotKey, _ transition: inout DesiredTransition) {
        for desired in rollouts(of: key) {
            guard var rollout = desired.rollout, rollout.stopped == nil else { continue }
            let states = rollout.first.map { state(of: key, at: $0) }
            let refusals = states.compactMap { $0?.refusals.first { $0.digest == desired.digest } }
            if let refusal = refusals.first {
                rollout.stopped = refusal.verdict
                setRollout(rollout, of: desired, &transition)
            } else if !states.isEmpty, !rollout.first.contains(where: { desired.awaits($0, state(of: key, at: $0)) }) {
                setRollout(nil, of: desired, &transition)
            }
        }
    }

    /// A secondary that others wait for is gone.
    private mutating func leaveRollouts(
        _ pairing: UniqueIdentifier, _ lost: Secondary?, _ transition: inout DesiredTransition
    ) {
        for key in slots.keys {
            for desired in rollouts(of: key) {
                guard var rollout = desired.rollout, rollout.first.remove(pairing) != nil else { continue }
                let isMissed = lost.map { $0.states[key]?.hasPassed(desired) != true } ?? false
                if isMissed || rollout.first.isEmpty { rollout.stopped = rollout.stopped ?? "unpaired" }
                setRollout(rollout, of: desired, &transition)
            }
            advanceRollouts(of: key, &transition)
        }
    }

    // MARK: the secondaries

    /// The link of a secondary is ready: it gets all that it lacks.
    /// - Parameters:
    ///   - isUnderWay: whether an item waits in its queue or has not been handled by the secondary.
    ///   - bringsKeys: whether this primary has the chain of key sets, which it brings first.
    package mutating func linked(
        _ addressee: ConfigurationAddressee, isUnderWay: (ForwardedConfiguration) -> Bool,
        bringsKeys: (KeySubject) -> Bool = { _ in true }, at now: WallTime, identifier: () -> UniqueIdentifier
    ) -> DesiredTransition {
        var transition = enterEpoch(of: addressee)
        for key in slots.keys {
            _ = forgetRetried(key, at: addressee.pairing, bringsKeys(key.subject), now, &transition)
            deliverAgain(key, to: addressee, isUnderWay, at: now, identifier, &transition)
        }
        return transition
    }

    /// LIM-137 is over: on the same link a secondary gets what it has rejected and may take now (CFG-73). Whatever it
    /// has handled may be answered by a report on this link, and is delivered again at the next one only.
    package mutating func reconsidered(
        _ addressee: ConfigurationAddressee, at now: WallTime, identifier: () -> UniqueIdentifier
    ) -> DesiredTransition {
        var transition = DesiredTransition()
        // The epoch begins with a link or an announcement, which bring all of it.
        guard !mustEnterEpoch(of: addressee) else { return transition }
        for key in slots.keys where forgetRetried(key, at: addressee.pairing, false, now, &transition) {
            deliver(key, to: addressee, because: .reachable, at: now, identifier, &transition)
        }
        return transition
    }

    /// - Returns: whether a rejection counts no longer.
    private mutating func forgetRetried(
        _ key: ConfigurationSlotKey, at pairing: UniqueIdentifier, _ bringsKeys: Bool, _ now: WallTime,
        _ transition: inout DesiredTransition
    ) -> Bool {
        let valid = Set(desired(of: key).filter { ($0.payload.expires ?? .max) > now.seconds }.map(\.digest))
        let isRetried: (SecondaryState.Refusal) -> Bool = { refusal in
            refusal.mayHaveEnded(isValid: valid.contains(refusal.digest), bringsKeys: bringsKeys)
        }
        guard state(of: key, at: pairing)?.refusals.contains(where: isRetried) == true else { return false }
        change(key, at: pairing, &transition) { state, _ in state.forgetRefusals(where: isRetried) }
        return true
    }

    /// Deliveries that are neither answered nor in their queue no longer keep the envelope from being delivered.
    private mutating func deliverAgain(
        _ key: ConfigurationSlotKey, to addressee: ConfigurationAddressee, _ isUnderWay: DeliveryCondition,
        at now: WallTime, _ identifier: () -> UniqueIdentifier, _ transition: inout DesiredTransition
    ) {
        let pairing = addressee.pairing
        for (index, entry) in (state(of: key, at: pairing)?.open ?? []).enumerated() where entry.verdict == nil {
            secondaries[pairing]?.states[key]?.open[index].isLost = !isUnderWay(entry)
        }
        deliver(key, to: addressee, because: .reachable, at: now, identifier, &transition)
    }

    /// A secondary's app has been announced, or the primary has another paired identifier for it.
    /// - Parameter digest: of an envelope whose rejection counts no longer, because its keys are brought again.
    package mutating func changed(
        _ application: ApplicationIdentifier, at addressee: ConfigurationAddressee, forgetting digest: [UInt8]? = nil,
        isUnderWay: (ForwardedConfiguration) -> Bool, at now: WallTime, identifier: () -> UniqueIdentifier
    ) -> DesiredTransition {
        var transition = enterEpoch(of: addressee)
        for key in slots.keys where key.application == application {
            if let digest, state(of: key, at: addressee.pairing)?.hasRefused(digest) == true {
                change(key, at: addressee.pairing, &transition) { state, _ in state.forgetRefusal(of: digest) }
            }
            deliverAgain(key, to: addressee, isUnderWay, at: now, identifier, &transition)
        }
        return transition
    }

    /// Whether the pairing has begun an epoch that this state has not entered.
    package func mustEnterEpoch(of addressee: ConfigurationAddressee) -> Bool {
        secondaries[addressee.pairing]?.counter.map { $0.epoch < addressee.epoch } ?? false
    }

    /// Enters the pairing's epoch; comes before each delivery. If it is higher than that of the last delivery, one of
    /// the two has lost state: nothing that was reported counts, nor a later report on what was delivered.
    package mutating func enterEpoch(of addressee: ConfigurationAddressee) -> DesiredTransition {
        let pairing = addressee.pairing
        guard mustEnterEpoch(of: addressee), let secondary = secondaries[pairing] else { return DesiredTransition() }
        // A restored secondary counts its reports from where it was.
        let counter = ReportCounter(epoch: addressee.epoch)
        var transition = DesiredTransition(changes: [.counter(pairing, counter)])
        secondaries[pairing]?.counter = counter
        for key in secondary.states.keys {
            change(key, at: pairing, &transition) { $0.forgetDeliveries(&$1) }
        }
        return transition
    }

    /// The pairing is gone, with everything that was reported through it.
    /// - Parameter isLost: without the operator: a rollout that waits for it stops.
    package mutating func unpaired(_ pairing: UniqueIdentifier, isLost: Bool = false) -> DesiredTransition {
        let secondary = secondaries.removeValue(forKey: pairing) ?? Secondary()
        var transition = DesiredTransition(changes: [.unpaired(pairing)])
        leaveRollouts(pairing, isLost ? secondary : nil, &transition)
        // It may have been the last one that lacked something.
        for desired in secondary.states.keys.flatMap({ self.desired(of: $0) }) where desired.isSpent {
            dropUnneeded(below: desired, &transition)
        }
        return transition
    }

    /// Verifies a secondary's report (CFG-51) and takes it down.
    /// - Throws: ``ReportFailure``; nothing has changed then.
    package mutating func report(
        _ envelope: [UInt8], from addressee: ConfigurationAddressee, device: UniqueIdentifier, key: ReportPublicKey,
        at now: WallTime, identifier: () -> UniqueIdentifier
    ) throws(ReportFailure) -> (entry: ForwardedConfiguration, transition: DesiredTransition) {
        let pairing = addressee.pairing
        let secondary = secondaries[pairing] ?? Secondary()
        let known = mustEnterEpoch(of: addressee) ? [] : secondary.states.values.flatMap(\.answerable)
        var counter = secondary.counter ?? ReportCounter(epoch: addressee.epoch)
        let report = try ConfigurationReport(verifying: envelope, by: key, device: device, pairing: pairing)
        try counter.accept(report)
        let facts = report.facts
        guard let entry = known.first(where: { $0.id == facts.delivery.nonce }), entry.digest == facts.digest,
            entry.key.subject == facts.key.subject, !entry.isFinished || facts.mayFollowApplied,
            secondary.states[entry.key]?.isLost(by: addressee.trust(entry.key.application)) == false
        else { throw .wrongNonce }
        var transition = DesiredTransition(changes: [.counter(pairing, counter)])
        secondaries[pairing, default: Secondary()].counter = counter
        // The report comes under the mark, and is none of before it.
        note(entry.key, of: addressee, &transition)
        var answered = entry
        (answered.verdict, answered.text, answered.reported) = (facts.verdict.name, facts.words, now)
        if entry.isFinished, facts.verdict == .applied {
            change(entry.key, at: pairing, &transition) { state, _ in state.noteLoading(facts, isFollowUp: true) }
            return (answered, transition)
        }
        answered.isFinished = !report.isProvisional
        // A second delivery that was under way when the version was burnt is a rollback (CFG-63). The operator has not
        // applied it again, and goes on to see the reason.
        let burnt =
            facts.verdict == .rejected(.rollback)
            ? state(of: entry.key, at: pairing)?.burnt(entry.digest) : nil
        if let burnt { (answered.verdict, answered.text) = burnt }
        // A delivery that was reported as applied is open only during the trial. Any rejection ends that, also one by
        // the app's own key.
        let isRejected = if case .rejected = facts.verdict { answered.isFinished } else { false }
        let endsTrial = isRejected && !entry.isFinished && entry.verdict == Verdict.applied.name
        take(facts, answered, burns: endsTrial || burnt != nil || facts.verdict == .failed, &transition)
        if facts.verdict == .applied { spend(entry, &transition) }
        advanceRollouts(of: entry.key, &transition)
        deliver(entry.key, to: addressee, because: .reported(entry.digest), at: now, identifier, &transition)
        return (answered, transition)
    }

    private mutating func take(
        _ facts: ReportFacts, _ entry: ForwardedConfiguration, burns: Bool, _ transition: inout DesiredTransition
    ) {
        let slot = slots[entry.key]
        let desired = slot?.configuration(of: entry)
        let isSame = { (digest: [UInt8]?) in digest == entry.digest || desired?.isBrought(by: digest) == true }
        change(entry.key, at: entry.pairing, &transition) { state, transition in
            state.update(entry, &transition)
            state.forgetRefusals { $0.digest == entry.digest || slot?.contains($0.digest) != true }
            switch facts.verdict {
            case .applied:
                state.apply(entry, movesMark: isSame(facts.good?.digest))
                state.noteLoading(facts, isFollowUp: false)
            case let verdict:
                // An earlier daemon names what has given way as active: its trial has not passed.
                state.good = verdict == .superseded && facts.good?.digest == entry.digest ? nil : facts.good
                if burns, isSame(state.applied) { state.applied = nil }
                guard burns || verdict.isRefusal, !state.isOvertaken(entry) else { return }
                // Burnt is the version, whichever envelope is desired by now.
                let refused = (burns ? desired?.digest : nil) ?? entry.digest
                state.refuse(refused, entry.verdict ?? verdict.name, burns: burns)
            }
        }
    }

    /// A secondary has applied the envelope, so that its version is spent.
    private mutating func spend(_ entry: ForwardedConfiguration, _ transition: inout DesiredTransition) {
        guard var spent = slots[entry.key]?.configuration(of: entry) else { return }
        if !spent.isSpent {
            spent.isSpent = true
            slots[entry.key]?.insert(spent)
            transition.changes.append(.desired(spent))
        }
        dropUnneeded(below: spent, &transition)
    }

    /// Lower versions that a spent one covers are needed no longer, but for the highest of them: that stays as long as
    /// a secondary has it, gets the spent one, or has rejected that. One secondary's word must not take from the others
    /// what they would get instead (CFG-73).
    private mutating func dropUnneeded(below spent: DesiredConfiguration, _ transition: inout DesiredTransition) {
        // Those that a rollout has not come to still need the version before.
        guard spent.isSpent, spent.rollout == nil, var covered = slots[spent.key]?.covered(by: spent), !covered.isEmpty
        else { return }
        let isLacking = secondaries.values.contains { secondary in
            guard let state = secondary.states[spent.key] else { return false }
            return spent.isBrought(by: state.awaited) || state.hasRefused(spent.digest)
                || covered.contains { $0.isBrought(by: state.good?.digest) }
        }
        if isLacking, let kept = covered.lastIndex(where: { $0.rollout == nil }) { covered.remove(at: kept) }
        drop(covered, of: spent.key, &transition)
    }

    /// A delivery has ended without a verdict.
    package mutating func ended(
        _ id: UniqueIdentifier, at pairing: UniqueIdentifier, _ ending: ForwardedConfiguration.Ending, _ text: String?
    ) -> DesiredTransition {
        var transition = DesiredTransition()
        let states = secondaries[pairing]?.states.values.flatMap(\.open) ?? []
        guard var entry = states.first(where: { $0.id == id }) else { return transition }
        // One that waits at the secondary has been handed over: its report decides.
        guard entry.verdict == nil else { return transition }
        (entry.ending, entry.text, entry.isFinished) = (ending, text, true)
        change(entry.key, at: pairing, &transition) { state, transition in
            state.update(entry, &transition)
            if ending == .failed { state.refuse(entry.digest, ending.rawValue, burns: true) }
        }
        advanceRollouts(of: entry.key, &transition)
        return transition
    }

    // MARK: deliveries

    /// Delivers the wanted envelope of a slot to a secondary that lacks it, unless it is on its way. A secondary that
    /// is behind with its keys gets nothing yet: once they are on their way, this is called again.
    private mutating func deliver(
        _ key: ConfigurationSlotKey, to addressee: ConfigurationAddressee, because cause: SecondaryState.Occasion,
        at now: WallTime, _ identifier: () -> UniqueIdentifier, _ transition: inout DesiredTransition
    ) {
        guard let slot = slots[key], slot.hasDesired, addressee.isAddressed(by: key) else { return }
        note(key, of: addressee, &transition)
        let trust = addressee.trust(key.application)
        var state = secondaries[addressee.pairing]?.states[key]
        if case .applied(let digest) = cause { state?.forgetRefusal(of: digest) }
        guard let wanted = slot.wanted(by: addressee, state), state?.isOnItsWay(wanted.digest) != true,
            state?.lacks(wanted, because: cause) != false
        else { return }
        let accepted = state?.accepted(at: now) ?? now
        let entry = ForwardedConfiguration(wanted, id: identifier(), pairing: addressee.pairing, at: accepted)
        let isBehind = addressee.isBehind(key.subject)
        change(key, at: addressee.pairing, &transition) { stored, transition in
            if case .applied(let digest) = cause { stored.forgetRefusal(of: digest) }
            stored.beginWait(for: wanted.digest, under: trust, since: now)
            if !isBehind { stored.opened(entry, of: wanted, &transition) }
        }
        if isBehind { return }
        if secondaries[addressee.pairing]?.counter == nil {
            let counter = ReportCounter(epoch: addressee.epoch)
            secondaries[addressee.pairing]?.counter = counter
            transition.changes.append(.counter(addressee.pairing, counter))
        }
        transition.changes.append(.forwarded(entry))
        transition.deliveries.append(ConfigurationItem(entry: entry, envelope: wanted.envelope))
    }

    /// The secondary has named the key that it trusts.
    private mutating func note(
        _ key: ConfigurationSlotKey, of addressee: ConfigurationAddressee, _ transition: inout DesiredTransition
    ) {
        let trust = addressee.trust(key.application)
        guard let known = state(of: key, at: addressee.pairing)?.trust, known.followed(by: trust) != known else {
            return
        }
        change(key, at: addressee.pairing, &transition) { $0.note(trust, &$1) }
    }

    private mutating func change(
        _ key: ConfigurationSlotKey, at pairing: UniqueIdentifier, _ transition: inout DesiredTransition,
        _ body: (inout SecondaryState, inout DesiredTransition) -> Void
    ) {
        var state = secondaries[pairing]?.states[key] ?? SecondaryState()
        let before = state
        body(&state, &transition)
        secondaries[pairing, default: Secondary()].set(state, of: key)
        if state.dictionary != before.dictionary { transition.changes.append(.state(pairing, key, state)) }
    }

    package mutating func restore(_ desired: DesiredConfiguration) {
        slots[desired.key, default: DesiredSlot()].insert(desired)
    }

    package mutating func restore(_ history: [AcceptedConfiguration], of key: ConfigurationSlotKey) {
        slots[key, default: DesiredSlot()].history = history
    }

    /// - Parameter state: without its deliveries, which are restored after it.
    package mutating func restore(_ state: SecondaryState, of key: ConfigurationSlotKey, at pairing: UniqueIdentifier) {
        secondaries[pairing, default: Secondary()].set(state, of: key)
    }

    package mutating func restore(_ entry: ForwardedConfiguration) {
        secondaries[entry.pairing, default: Secondary()].states[entry.key, default: SecondaryState()].restore(entry)
    }

    package mutating func restore(_ counter: ReportCounter, of pairing: UniqueIdentifier) {
        secondaries[pairing, default: Secondary()].counter = counter
    }
}
