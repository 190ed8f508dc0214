// Configuration receiver: the receiving half of the one apply path (CFG-35). A slot judges the bytes that arrive, its
// answer is written and committed, and only then is it reported to anyone. Host apps bring keys with their
// registrations, release waiting configurations, and answer offers. The receiver never decides a verdict: the slot
// does, and the app's library, whose account of its starts the slot sees before each event (CFG-62).

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// Judges, stages, hands over and commits configurations; confined to its loop.
final class ConfigurationReceiver {
    typealias Event = (inout ConfigurationSlot, VerificationContext) -> ApplyTransition

    private let context: ConfigurationContext
    private let files: ConfigurationSlotFiles
    private let committed: CommittedState<ReceiverState>
    private var apps = RegisteredApps()
    /// Whether the primaries read reports about trials, as their last hellos said.
    private var readsTrials: [UniqueIdentifier: Bool] = [:]
    /// The last verdict of each slot since the start.
    private(set) var lastVerdicts: [ConfigurationSlotKey: Verdict] = [:]
    private var signers = SignerLooks()
    private let offers: AppOffers
    private let reports: ReportSubmissions
    private let judgements: JudgementTurns
    /// Chains whose last steps are on their way to their apps' directories.
    private let growing: CoalescedActions<KeySubject>
    weak var keys: KeyChanges?
    let observers: VerdictObservers

    init(_ context: ConfigurationContext, files: ConfigurationSlotFiles, state: ReceiverState, store: LoopStore) {
        self.context = context
        reports = ReportSubmissions(context)
        judgements = JudgementTurns(context.parts)
        self.files = files
        committed = CommittedState(state, in: store)
        growing = CoalescedActions(on: context.scheduler, after: ConfigurationLimits.chainFile)
        observers = VerdictObservers(on: context.scheduler)
        offers = AppOffers(context, files, observers)
        offers.receiver = self
    }

    /// The state in force.
    var state: ReceiverState { committed.state }

    private var device: any ConfigurationHost { context.device }

    // MARK: slots

    /// Runs an event of a slot after those before it; its answer is in force when this returns, or nil if it could not
    /// be stored.
    func perform(
        _ key: ConfigurationSlotKey, room: CommitRoom = .ordinary, _ event: @escaping Event
    ) async -> ApplyTransition? {
        do throws(StoreError) {
            return try await committed.commit(room: room) { [self] next in
                let before = next
                let step = step(event, of: key, in: &next), transition = step.transition
                guard files.write(transition, of: key, .beforeCommit, in: state) else {
                    next = before
                    return Commit([]) { nil }
                }
                let changes = next.take(step, signer: context.options.signer, now: context.reading)
                return Commit(changes) { [self] in
                    _ = files.write(transition, of: key, .afterCommit, in: state)
                    carryOut(step)
                    submitOwed()
                    return transition
                }
            }
        } catch {
            notStored(error)
            // A file may have been written ahead of the commit that failed: it goes back to the state in force.
            files.mayDiffer(key.subject)
            repairFiles()
            return nil
        }
    }

    /// Runs an event of a slot on a state that is not committed yet.
    private func step(_ event: Event, of key: ConfigurationSlotKey, in next: inout ReceiverState) -> SlotStep {
        var slot = next[key]
        if slot.needsAttempts, let attempts = files.attempts(of: key) { slot.note(attempts) }
        slot.note(
            loadFault(of: slot), hasAnswered: offers.answers.hasAnswered(key),
            cannotJudge: offers.answers.cannotJudge(slot))
        let before = slot
        let transition = event(&slot, verification(of: key, in: next))
        next.keep(slot)
        return SlotStep(transition, from: before, to: slot)
    }

    /// Runs an event of a slot after those before it, for a caller that does not wait.
    private func enqueue(_ key: ConfigurationSlotKey, room: CommitRoom = .ordinary, _ event: @escaping Event) {
        context.scheduler.start { [self] in
            let transition = await perform(key, room: room, event)
            if transition?.verdict?.isRefusal == true { logVerdict(transition, of: key) }
        }
    }

    private func verification(of key: ConfigurationSlotKey, in state: ReceiverState) -> VerificationContext {
        VerificationContext(
            profile: .full, application: key.application, role: key.role,
            anchor: state.anchors.anchor(of: key.subject), target: key.target, device: state.device,
            now: context.reading.wall, clockFloor: state.clockFloor(of: key.subject),
            isOfInactivePrimary: context.isHidden(key),
            allowsInvalidSignatures: waives(key.application) && context.isHere(key.subject))
    }

    /// Whether an app of this device is given configuration whose signature is invalid (CFG-22), as its code said last.
    func waives(_ app: ApplicationIdentifier) -> Bool {
        context.options.allowsInvalidSignatures && apps.allowsInvalidSignatures(app)
    }

    /// Whether an active configuration stands by the signatures of keys that were revoked since (CFG-23).
    func isSignerRevoked(_ active: ActiveConfiguration) -> Bool {
        let key = active.record.key
        return signers.isRevoked(of: active, under: state.anchors[key.subject]?.steps.last) {
            var context = verification(of: key, in: state)
            context.profile = .load
            context.allowsInvalidSignatures = false
            let applicable = try? ApplicableConfiguration(verifying: active.record.envelope, in: context)
            return applicable?.verified.isSignerRevoked ?? false
        }
    }

    /// Bytes have arrived for a slot; those that an app brings take its user's turn (SES-93).
    func received(
        _ envelope: [UInt8], by delivery: ConfigurationDelivery?, of key: ConfigurationSlotKey, isBrought: Bool = false
    ) async -> ApplyTransition? {
        let refusal = await schemaRefusal(of: envelope, for: key)
        var next: ConfigurationSlotKey?
        if isBrought { await judgements.begin(of: device.owner(of: key.application)) }
        let transition = await perform(key) { [self] slot, context in
            // The target may have ended meanwhile, with its pairing or for another one (CFG-31).
            next = target(of: key, by: delivery)
            guard next == key else { return .superseded }
            var context = context
            // Another build of the app may have registered since.
            context.schemaRefusal = refusal.map {
                SchemaRefusal(text: $0.text, isCurrent: apps.schema(of: key.application) == $0.schema)
            }
            return slot.received(envelope, by: delivery, in: context)
        }
        if isBrought { judgements.end() }
        if let next, next != key { return await received(envelope, by: delivery, of: next, isBrought: isBrought) }
        logVerdict(transition, of: key)
        return transition
    }

    /// The slot that bytes are for: that of the pairing they came through, or the one that the app sees.
    private func target(
        of key: ConfigurationSlotKey, by delivery: ConfigurationDelivery?
    ) -> ConfigurationSlotKey? {
        guard let delivery else { return context.shownKey(of: key.subject) }
        return device.target(of: key.application, through: delivery.pairing).map {
            ConfigurationSlotKey(application: key.application, role: key.role, target: $0)
        }
    }

    /// Step 18 (CFG-107), beside the loop: an app's patterns may take their time. All other steps run before it, and
    /// once more when the slot takes the bytes.
    private func schemaRefusal(
        of envelope: [UInt8], for key: ConfigurationSlotKey
    ) async -> (text: String, schema: [UInt8])? {
        guard let judge = context.schemaJudge, context.isHere(key.subject),
            let payload = state[key].candidate(envelope, in: verification(of: key, in: state))
        else { return nil }
        return await judge(payload.values, payload.optional ?? [], key.application)
    }

    /// An item has arrived from a primary; returns whether it is done with.
    func received(_ item: ReceivedItem) async -> Bool {
        let app = item.queue.app
        guard let target = device.target(of: app, through: item.queue.pairing) else { return true }
        let key = ConfigurationSlotKey(application: app, role: .secondary, target: target)
        let delivery = ConfigurationDelivery(pairing: item.queue.pairing, nonce: item.id)
        if ClaimedStatement(item.payload) != nil {
            return await follow(item.payload, of: key.subject, by: (delivery, key)) != nil
        }
        return await received(item.payload, by: delivery, of: key) != nil
    }

    /// A key set or a revocation has arrived: the chain grows, and every configuration of the app is judged again, in
    /// one commit (CFG-91). Returns the outcome; nil if it could not be stored.
    func follow(
        _ statement: [UInt8], of subject: KeySubject,
        by source: (delivery: ConfigurationDelivery, key: ConfigurationSlotKey)? = nil
    ) async -> Result<Void, VerificationFailure>? {
        // A full disk must not keep a stolen key in force; CFG-83 bounds what that takes.
        let room: CommitRoom = ClaimedStatement(statement)?.type == .revocation ? .reserve : .ordinary
        do throws(StoreError) {
            return try await committed.commit(room: room) { [self] next in
                let outcome = Result { () throws(VerificationFailure) in
                    try next.follow(statement, of: subject, isCarried: source != nil)
                }
                var changes = (try? outcome.get()) ?? []
                let hasGrown = !changes.isEmpty
                let judged = hasGrown ? judgeAgain(subject, in: &next) : []
                for step in judged {
                    changes += next.take(step, signer: context.options.signer, now: context.reading)
                }
                if let source {
                    let (verdict, text) = next.anchors[subject] == nil ? (.waitingForKey, nil) : outcome.verdict
                    let facts = ReportFacts(
                        delivery: source.delivery, key: source.key, digest: SHA256.digest(statement), transaction: nil,
                        version: nil, verdict: verdict, text: text, good: next[source.key].good)
                    changes += next.owe(
                        facts, isStatement: true, signer: context.options.signer, now: context.reading)
                }
                return Commit(changes) { [self] in
                    log(outcome, subject, isCarried: source != nil)
                    let isFelt = judged.contains { !$0.transition.effects.isEmpty }
                    if hasGrown { chainHasGrown(subject, isFelt: isFelt) }
                    for step in judged {
                        // Nothing becomes active here, so that all files may change after the commit.
                        _ = files.write(step.transition, of: step.key, .beforeCommit, in: state)
                        _ = files.write(step.transition, of: step.key, .afterCommit, in: state)
                        carryOut(step)
                        logVerdict(step.transition, of: step.key)
                    }
                    submitOwed()
                    return outcome.map { _ in }
                }
            }
        } catch {
            context.log(.error, "key statement not stored", .text("error", error.description))
            return nil
        }
    }

    private func judgeAgain(_ subject: KeySubject, in next: inout ReceiverState) -> [SlotStep] {
        next.slots.keys.filter { $0.subject == subject }.map { key in
            step({ $0.keysChanged(in: $1) }, of: key, in: &next)
        }
    }

    /// The app's directory gets the steps of a burst together (LIM-112), and the app reads them then: a secondary that
    /// joins follows a chain of years at once.
    /// - Parameter isFelt: the app reads its files again now, because what it was offered or has applied has ended.
    private func chainHasGrown(_ subject: KeySubject, isFelt: Bool) {
        files.chainHasGrown(subject)
        keys?.chainHasGrown(subject)
        if isFelt { return _ = files.writeChain(of: subject, in: state) }
        growing.request(subject) { [weak self] in
            guard let self else { return }
            files.writeChain(of: subject, in: state)
            reload(subject)
        }
    }

    /// The app reads its files again, if something is applied (CFG-42).
    private func reload(_ subject: KeySubject) {
        guard let key = context.shownKey(of: subject),
            state.slots[key]?.isApplicationConnected == true, state.slots[key]?.active != nil
        else { return }
        offers.reload(key)
    }

    /// The fault of what is applied in a slot, as its app has named it (CFG-42); nil if it has named none.
    func loadFault(of slot: ConfigurationSlot) -> LoadFault? { offers.answers.fault(of: slot) }

    private func log(_ outcome: Result<[RowChange], VerificationFailure>, _ subject: KeySubject, isCarried: Bool) {
        let app = LogField.text("app", "\(subject.application)")
        switch outcome {
        case .success(let changes) where changes.isEmpty: break
        case .success: context.log(.info, "configuration keys changed", app)
        case .failure(let failure):
            let isWaiting = isCarried && state.anchors[subject] == nil  // CFG-74
            let verdict = isWaiting ? Verdict.waitingForKey.name : failure.rejection.rawValue
            context.log(
                isWaiting ? .debug : .warning, "key statement refused", app, .text("verdict", verdict),
                .outside("detail", failure.detail))
        }
    }

    /// An event has led to a verdict, for the log and the status.
    func logVerdict(_ transition: ApplyTransition?, of key: ConfigurationSlotKey) {
        guard let verdict = transition?.verdict else { return }
        if state.slots[key] != nil { lastVerdicts[key] = verdict }
        let isWaived = verdict == .applied && state.slots[key]?.waived != nil
        let detail = isWaived ? "its signature is INVALID, which is allowed here" : transition?.detail ?? ""
        let level: LogLevel =
            switch verdict {
            case .applied where isWaived, .rejected: .warning
            case .failed: .error
            case .applied, .waitingForApplication, .waitingForKey, .superseded: .info
            }
        context.log(
            level, "configuration judged", .text("app", "\(key.application)"), .text("verdict", verdict.name),
            .outside("target", key.target.text), .outside("detail", detail))
    }

    // MARK: time and pairings

    func timePassed(running: Duration, now: WallTime) {
        for key in state.slots.keys {
            catchUp(key)
            endPermission(of: key)
            // Two events: a lifetime that runs must not keep from another trial what waits for the clock.
            enqueue(key) { slot, _ in slot.timePassed(running: running, now: now) }
            context.scheduler.start { [self] in
                logVerdict(await perform(key) { slot, context in slot.clockMoved(in: context) }, of: key)
            }
        }
        let delayed = files.takeDelayed()
        // Ahead of the delayed checks: the answer to a repeated reload counts, and is about what that reload wrote.
        offers.timePassed(running: running)
        // An app registers once, and a full disk must not leave its configuration without a key until the next time.
        for (subject, pem, decided) in apps.takeUnlearned() { learnSoon(pem, for: subject, since: decided) }
        noteReadsTrials()
        reportHeldFailures()
        tryFullQueues()
        // Before the repair, after which there is no difference that would make an app read its files again.
        for subject in delayed { checkFiles(of: subject, namesSchema: false) }
        repairFiles()
    }

    /// The end of a permission that could not be stored is stored now (CFG-22).
    private func endPermission(of key: ConfigurationSlotKey) {
        guard !context.options.allowsInvalidSignatures, state.slots[key]?.needsPermission == true else { return }
        enqueue(key, room: .reserve) { slot, context in slot.permissionEnded(in: context) }
    }

    /// Events of apps and ends of offers come once. One that could not be stored is made up for here (CFG-43).
    private func catchUp(_ key: ConfigurationSlotKey) {
        guard let slot = state.slots[key] else { return }
        // The connection as of now, because events of later ones follow; offers as of its turn: one may begin before.
        let arrival = context.isShown(key) ? apps.arrival(of: key.subject) : nil
        guard slot.isApplicationConnected != (arrival != nil) || slot.phase == .offered && !offers.isOpen(key)
        else { return }
        enqueue(key) { [self] slot, _ in slot.caughtUp(arrival, isBeingOffered: offers.isOpen(key)) }
    }

    private func tryFullQueues() {
        reports.becomeDue()
        submitOwed()
    }

    /// The pairing is gone, with the targets that configuration through it had.
    func unpaired(_ pairing: UniqueIdentifier, targets: [ApplicationIdentifier: PairedIdentifier]) {
        readsTrials[pairing] = nil
        change(room: .reserve) { next in next.forget(pairing) }
        for (app, target) in targets {
            close(ConfigurationSlotKey(application: app, role: .secondary, target: target))
        }
    }

    /// The daemon has started. Ending a permission (CFG-22) only makes room, so its commits may use the reserve of a
    /// full disk.
    func started() {
        let isAllowed = context.options.allowsInvalidSignatures
        for key in state.slots.keys { enqueue(key, room: .reserve) { $0.started(in: $1, allowsInvalid: isAllowed) } }
        change(room: .reserve) { next in next.dropOrphans() }
    }

    /// Closes the slots of this secondary's app whose targets no pairing has any more (CFG-31): a primary's app took
    /// another identifier, or a crash came between a pairing's removal and its slots'.
    func closeAbandonedSlots(of app: ApplicationIdentifier) {
        let targets = device.targets(of: app)
        for key in state.slots.keys
        where key.role == .secondary && key.application == app && !targets.contains(key.target) { close(key) }
    }

    /// Nothing is applied for the slot any more. That makes room, also on a full disk (DEL-31).
    private func close(_ key: ConfigurationSlotKey) {
        context.scheduler.start { [self] in
            _ = await perform(key, room: .reserve) { slot, _ in slot.closed() }
            files.reconcile(key.subject, with: state)
        }
    }

    // MARK: the operator's changes

    /// The operator decides on the trust in an app's keys: it overrules registrations that began before.
    func decide(_ key: KeySubject) -> KeyDecision { apps.decide(key) }

    /// Ends all configurations of an app on one side and changes its trusted key, in one commit with the rows of
    /// another part. Its version marks stay, closed (CFG-31).
    /// - Parameter earlier: the decision, if it was made before and for this side of the app; else it is made now.
    func end(
        _ key: KeySubject, by earlier: KeyDecision? = nil, with rows: [RowChange] = [],
        _ change: @escaping (inout ReceiverState) -> [RowChange]
    ) async throws(StoreError) {
        let decision = earlier.flatMap { $0.subject == key ? $0 : nil } ?? decide(key)
        try await committed.commit(room: .reserve) { [self] next in
            var changes = rows + change(&next)
            var closed: [SlotStep] = []
            for slotKey in next.slots.keys where slotKey.subject == key {
                let step = step({ slot, _ in slot.closed() }, of: slotKey, in: &next)
                changes += next.take(step, signer: context.options.signer, now: context.reading)
                closed.append(step)
            }
            return Commit(changes) { [self] in
                apps.decided(decision)
                // With the chain, which is another one now.
                files.reconcile(key, with: state)
                for step in closed {
                    lastVerdicts[step.key] = nil
                    carryOut(step)
                }
                submitOwed()
            }
        }
    }

    /// The app may have another target: a primary that is not the active one can say so at any time (CFG-31).
    func targetChanged(of subject: KeySubject, isConnected: Bool) {
        files.reconcile(subject, with: state)
        let key = context.shownKey(of: subject)
        guard apps.show(key, to: subject) else { return }
        apps.switched(subject)
        disconnected(subject, .switched)
        guard isConnected else { return }
        guard let key else { return offers.reloadNothing(subject) }
        // First: the app judges what waits beside what is applied for its target, and not for the one before.
        offers.reload(key)
        enqueue(key) { slot, _ in slot.applicationConnected(.switched) }
    }

    // MARK: host apps

    /// An app registers with an anchor: it is read now, and not in a commit's turn (SES-93).
    func readAnchor(_ pem: String, of subject: KeySubject) -> RegisteredAnchor {
        apps.read(pem, of: subject, beside: state.anchors[subject])
    }

    /// An app's receiving connection has registered.
    func connected(_ subject: KeySubject, _ registration: TandemSession.Registration, _ anchor: RegisteredAnchor?) {
        let app = subject.application
        if registration.allowsInvalidSignatures {
            context.log(LogEvent(.info, "an app allows invalid signatures", .text("app", "\(app)")), causedBy: app)
        }
        let decided = apps.registered(registration, as: subject, anchor)
        offers.registered(subject)
        if let pem = registration.anchor { learnSoon(pem, for: subject, since: decided) }
        checkFiles(of: subject, namesSchema: registration.schema != nil)
        let key = context.shownKey(of: subject)
        _ = apps.show(key, to: subject)
        if let key { enqueue(key) { slot, _ in slot.applicationConnected(.registered) } }
    }

    /// Makes the files of an app that has registered those of the state in force, and has the app read them (CFG-116).
    /// It takes its turn with the commits, because some files are ahead of theirs.
    /// - Parameter namesSchema: the app's library may be that of another build, and says what it does not load.
    private func checkFiles(of subject: KeySubject, namesSchema: Bool) {
        committed.inTurn { [self] in
            let hasRewritten = files.rewriteDiffering(subject, with: state)
            let key = context.shownKey(of: subject)
            // Without a target they were those of one that has ended (CFG-31).
            guard let key else { return hasRewritten ? offers.reloadNothing(subject) : () }
            if hasRewritten || namesSchema && state[key].shown != nil { offers.reload(key) }
        }
    }

    /// Whether an app has registered last with another anchor than the trusted one (CTL-27).
    func isConflicting(_ subject: KeySubject) -> Bool {
        state.anchors[subject].map { apps.isConflicting(with: $0) } ?? false
    }

    /// The operator has removed an app.
    func removed(_ subject: KeySubject) {
        apps.remove(subject)
        files.removed(subject)
    }

    /// An app's receiving connection is gone.
    func disconnected(_ subject: KeySubject, _ ending: ConfigurationSlot.Ending) {
        offers.disconnected(subject, ending)
        if ending != .switched { apps.disconnected(subject) }
        for key in state.slots.keys where key.subject == subject {
            // Looked at now: in the event's turn the next connection may have begun, which has said none of this.
            let (fault, cannotJudge) = (loadFault(of: state[key]), offers.answers.cannotJudge(state[key]))
            enqueue(key) { [self] slot, _ in
                slot.note(fault, hasAnswered: false, cannotJudge: cannotJudge)
                return slot.applicationDisconnected(ending, isBeingOffered: offers.isOpen(key))
            }
        }
    }

    /// A link is ready; reports go to primaries.
    func linked(_ pairing: UniqueIdentifier, readsTrials: Bool) {
        guard device.peer(pairing)?.role == .secondary else { return }
        self.readsTrials[pairing] = readsTrials
        tryFullQueues()
        noteReadsTrials()
    }

    private func noteReadsTrials() {
        change { [self] next in readsTrials.flatMap { next.setReadsTrials($1, $0) } }
    }

    /// Learns a trusted key; nil if it could not be stored, or the operator has decided since an app had its turn.
    /// - Parameter decided: how often the operator had decided by that turn; nil for the operator's own word.
    func learn(_ pem: String, for key: KeySubject, since decided: Int? = nil) async -> ConfigurationAnchors.Learning? {
        let anchor = apps.anchor(pem, of: key)
        do throws(StoreError) {
            return try await committed.commit { [self] next in
                if let decided, apps.isOverruled(key, since: decided) { return Commit([]) { nil } }
                let source = decided == nil ? KnownAnchor.Source.operator : .application
                let (learning, changes) = next.learn(pem, for: key, from: source, anchor)
                return Commit(changes) { [self] in
                    log(learning, key)
                    if case .new(let anchor) = learning {
                        files.writeChain(of: key, in: state)
                        device.trustChanged(for: key, to: .key(anchor.mark))
                        // A key set has taken the place of a bare key: the app has key sets to follow now (CFG-42).
                        reload(key)
                    }
                    return learning
                }
            }
        } catch {
            let fields: [LogField] = [.text("app", "\(key.application)"), .text("error", error.description)]
            context.log(LogEvent(.error, "configuration key not stored", fields: fields), causedBy: key.application)
            if decided != nil { apps.notStored(pem, of: key) }
            return nil
        }
    }

    private func learnSoon(_ pem: String, for key: KeySubject, since decided: Int) {
        context.scheduler.start { [self] in _ = await learn(pem, for: key, since: decided) }
    }

    private func log(_ learning: ConfigurationAnchors.Learning, _ key: KeySubject) {
        guard let event = learning.logEvent(of: key) else { return }
        if case .new = learning { context.log(event) } else { context.log(event, causedBy: key.application) }
    }

    private func carryOut(_ step: SlotStep) {
        let key = step.key
        if let ended = step.ended { observers.notify(ended.verdict, of: ended.digest) }
        for effect in step.transition.effects {
            switch effect {
            case .offer(let offer): offers.send(offer, to: key)
            case .reload: offers.reload(key)
            }
        }
    }

    // MARK: reports

    /// Submits the owed reports to their queues. Each is owed from the commit of its verdict on, until the pairing's
    /// queue has taken it (CFG-50). One that its queue takes twice is refused by the primary (CFG-51).
    func submitOwed() {
        reports.submit(state.owed) { [self] report in
            _ = await committed.isStored(
                room: .reserve, { [self] in Commit($0.forget(report), then: submitOwed) }, failure: notStored)
        }
    }

    /// Owes the reports of early failures whose minute is over (CFG-52).
    private func reportHeldFailures() {
        guard state.holdsFailures else { return }
        let now = context.reading
        change { [self] next in next.oweHeldFailures(signer: context.options.signer, now: now) }
    }

    /// Changes the state, for a caller that does not wait; the owed reports follow.
    private func change(
        room: CommitRoom = .ordinary, _ transition: @escaping (inout ReceiverState) -> [RowChange]
    ) {
        committed.perform(
            room: room, { [self] next in Commit(transition(&next)) { [self] in submitOwed() } },
            failure: { [self] in notStored($0) })
    }

    private func notStored(_ error: StoreError) {
        context.log(.error, "configuration not stored", .text("error", error.description))
    }

    // MARK: files

    /// Makes files that could not be written or removed those of the state in force. It takes its turn with the
    /// commits, because some files are ahead of theirs.
    private func repairFiles() {
        if files.differ { committed.inTurn { [self] in files.repair(with: state) } }
    }

    /// Writes an app's files again that have other bytes (CFG-113, CFG-116).
    /// - Parameter writes: the value of `chainWrites` at which the same key sets are written, too; nil: never.
    /// - Returns: whether the app can read them now: they were compared, and its key sets are as they should be.
    func rewriteFiles(of subject: KeySubject, unwrittenSince writes: Int?) async -> Bool {
        let isWritten = try? await committed.commit { [self] _ in
            Commit([]) { [self] in files.rewrite(subject, unwrittenSince: writes, with: state) }
        }
        return isWritten ?? false
    }
}
