// The session of one host app as an actor on the session's loop. It runs the activation machine and owns the parts:
// connection, requests, inboxes, transfers, contexts. Each part keeps its own state; the actor routes frames to them
// and performs what the machine decides. Frames and timers arrive on the loop's thread and enter the actor
// synchronously, in order and without a task; callers on other threads enter it by its executor.

package import TandemBase
import TandemFiles
import TandemPropertyList
package import TandemReactor
import TandemSession
package import TandemWire

package actor SessionActor {
    private nonisolated let scheduler: any Scheduler
    package nonisolated let settings: SessionSettings
    /// The published state; usable from any thread.
    nonisolated let states: SessionStatePublisher
    private nonisolated let counts = SessionCounts()

    private let daemon: DaemonChannel
    private let connection: SessionConnection
    private let admission: SendAdmission
    let requests: RequestTable
    let broadcasts: BroadcastTable
    let messages: MessageInbox
    private let queries: QueryTable
    let handovers: HandoverBook
    private let transfers: TransferBook
    private let files: FileSubmissions
    let items: ItemInbox
    private var contexts = ContextTable()
    private let gate = ActivationGate()
    private nonisolated let installationWindow = InstallationWindow()
    private var configuration: InstalledConfiguration?

    private var activating: [UInt64: Completion<Void>] = [:]
    /// The connection that has activated the session; 0 before the first activation.
    private var activatedOn: UInt64 = 0
    /// Ended by the app, or released: no call begins any longer.
    private var isEnded = false
    private var onEvent: ((SessionEvent) -> Void)?
    private var deliverArrivals: ((_ done: @escaping @Sendable () -> Void) -> Void)?

    /// Whether the app has ended the session; usable from any thread.
    package nonisolated var hasEnded: Bool { states.isFinished }

    /// The caller is on the session's loop, where nothing of the session may be waited for.
    package nonisolated var isCurrent: Bool { scheduler.isCurrent }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { scheduler.asUnownedSerialExecutor() }

    package init(settings: SessionSettings, scheduler: any Scheduler, dialer: sending any Dialer) {
        let app = settings.application
        self.scheduler = scheduler
        self.settings = settings
        daemon = DaemonChannel(dialer: dialer, scheduler: scheduler)
        connection = SessionConnection(settings: settings, scheduler: scheduler, channel: daemon)
        admission = SendAdmission(of: app, over: connection)
        let now = ClockReading(monotonic: Linux.bootTime, wall: Linux.wallTime)
        states = SessionStatePublisher(connection.machine, now)
        requests = RequestTable(daemon: daemon, scheduler: scheduler, counts: counts)
        broadcasts = BroadcastTable(app: app, daemon: daemon, scheduler: scheduler)
        messages = MessageInbox(scheduler: scheduler)
        queries = QueryTable(app: app, daemon: daemon, connection: connection, scheduler: scheduler)
        handovers = HandoverBook(scheduler: scheduler)
        transfers = TransferBook(app: app, daemon: daemon, queries: queries, handovers: handovers, scheduler: scheduler)
        files = FileSubmissions(
            app: app, daemon: daemon, queries: queries, transfers: transfers, handovers: handovers,
            scheduler: scheduler)
        items = ItemInbox(scheduler: scheduler)
    }

    // MARK: entering

    /// Runs the action on the actor in a later turn, in the order of each caller's calls. For callers that cannot wait:
    /// callbacks, deinitialisers and Apple's names.
    package nonisolated func run(_ action: @escaping @Sendable (isolated SessionActor) -> Void) {
        scheduler.submit { self.assumeIsolated { action($0) } }
    }

    /// Where a call begins: it fails if the session has ended, and with what the body throws.
    private func begin<Value>(
        _ id: UniqueIdentifier?, _ completion: Completion<Value>, _ body: () throws(SessionError) -> Void
    ) {
        do throws(SessionError) {
            if isEnded { throw SessionError(.ended, messageID: id) }
            try body()
        } catch {
            completion(.failure(error))
        }
    }

    // MARK: activation

    /// Begins; the completion is called once: activated, or a refusal that waiting cannot cure.
    /// - Parameter timeout: how long the caller waits.
    package func activate(
        waiter number: UInt64 = .random(in: .min ... .max), within timeout: Duration? = nil,
        _ completion: @escaping Completion<Void>
    ) {
        if connection.machine.activation == .activated, !gate.isClosed { return completion(.success(())) }
        begin(nil, completion) {
            installationWindow.close()
            activating[number] = completion
            connection.activate { [weak self] event in self?.assumeIsolated { $0.happened(event) } }
            schedule(after: .seconds(1)) { $0.reportNoDaemon(number) }
            if let timeout {
                schedule(after: timeout) {
                    $0.stopWaiting(number, .noDaemon($0.daemon.dialFailure, ended: $0.connection.failure))
                }
            }
        }
    }

    /// An app that waits for a daemon at a wrong path would wait in silence.
    private func reportNoDaemon(_ number: UInt64) {
        guard activating[number] != nil, let failure = daemon.dialFailure ?? connection.failure else { return }
        settings.onMissingDaemon?(failure)
    }

    /// A caller of `activate` waits no longer; the session continues its attempts.
    func stopWaiting(_ number: UInt64, _ error: SessionError) {
        activating.removeValue(forKey: number)?(.failure(error))
    }

    /// Why one of the ends refused the last connection; nil while the session is registered.
    package var connectionFailure: String? { connection.failure }

    private func finishActivating(_ result: Result<Void, SessionError>) {
        let waiters = activating
        activating = [:]
        for waiter in waiters.values { waiter(result) }
    }

    /// Ends the session for good, completes everything that waits, and calls back when what was queued has left.
    package func end(then completion: @escaping () -> Void = {}) {
        if !isEnded { close() }
        daemon.afterFlush(completion)
    }

    private func close() {
        isEnded = true
        connection.end()
        configuration = nil
        finishActivating(.failure(SessionError(.ended, messageID: nil)))
        fail(to: nil, .ended)
        gate.removeAll()
        messages.removeAll()
        items.removeAll()
        files.end()
        transfers.removeObservers()
        // Also without a connection, whose loss was published before; and once nothing waits for a handler.
        publish()
        states.finish()
    }

    // MARK: events of the connection

    private func happened(_ event: SessionConnection.Event) {
        event.log(of: settings.application)
        switch event {
        case .activation(let state): passed(through: state)
        case .refused(let error):
            // No connection follows by itself that could submit again.
            transfers.refused(error)
            publish()
            finishActivating(.failure(error))
            onEvent?(.refused(error))
        case .stateChanged:
            contexts.keepOnly(state?.pairings.map(\.pairing) ?? [])
            publish()
            onEvent?(.state)
        case .disconnected:
            messages.forgetRequests()
            gate.forgetConnection()
        case .requestsLost(let pairing, let loss): fail(to: pairing, loss)
        case .switching(let number): awaitArrivals(number)
        case .daemonLeaves: leaveWithDaemon()
        case .frame(let envelope):
            do throws(WireError) { try received(envelope) } catch { connection.refuse(error, in: envelope.kind) }
        }
    }

    private func passed(through state: ActivationState) {
        publish(state)
        guard state == .activated else {
            gate.cancelOpening()
            return onEvent?(.activation(state)) ?? ()
        }
        guard let configuration, let role = states.snapshot.role else { return activated() }
        let number = gate.close()
        configuration.load(role, states.snapshot.directory) { [weak self] in
            self?.run { core in core.gate.open(number) { core.activated() } }
        }
    }

    /// The app is at its start: it has activated, or registers its first receiver or handler (SES-34).
    private func starts() {
        messages.starts()
        items.starts()
    }

    private func activated() {
        onEvent?(.activation(.activated))
        if activatedOn == 0 { starts() }
        transfers.connected()
        activatedOn = daemon.number
        publish()
        finishActivating(.success(()))
    }

    private func awaitArrivals(_ number: Int) {
        // At once on a new connection: the app may wait for it in the method that the switch has to wait for (SES-89).
        transfers.connected()
        guard let deliverArrivals else {
            return _ = scheduler.schedule(after: .zero) { [weak connection] in connection?.arrivalsDelivered(number) }
        }
        deliverArrivals { [weak self] in self?.run { $0.connection.arrivalsDelivered(number) } }
    }

    private func publish(_ passing: ActivationState? = nil) {
        states.publish(
            connection.machine, scheduler.reading, passing: passing, contexts.contexts,
            hasContentPending: items.hasWaiting)
        if connection.knows(.settings), activatedOn == daemon.number { configuration?.follow(states.snapshot.pairings) }
    }

    /// Publishes whether an item waits for a handler, if that has changed.
    private func publishPending() {
        if states.snapshot.hasContentPending != items.hasWaiting { publish() }
    }

    /// Completes what waits for one pairing, or all of it.
    private func fail(to pairing: UniqueIdentifier?, _ loss: ClientSession.RequestLoss) {
        let error = SessionError(loss, because: connection.failure, messageID: nil)
        guard let pairing else {
            // A lost daemon is dialled again, and what it has not accepted is submitted again.
            if loss == .ended { transfers.failAll(error) } else { transfers.disconnected() }
            queries.fail(to: nil, error)
            broadcasts.failAll(error)
            return requests.failAll(error)
        }
        if loss == .switched { return requests.failFollowers(of: pairing, error) }
        transfers.fail(to: pairing, error)
        queries.fail(to: pairing, error)
        requests.fail(to: pairing, error)
    }

    /// A daemon that stops answers what it has taken before it closes (SES-18); callers that still wait let it.
    private func leaveWithDaemon() {
        if connection.isDaemonLeaving, !requests.hasRequests { connection.lost() }
    }

    // MARK: frames

    private func received(_ envelope: Envelope) throws(WireError) {
        switch envelope.kind {
        case .message, .messageData, .configuration: messageArrived(try MessageFrame(envelope))
        case .reply: replyArrived(try MessageFrame(envelope))
        case .failure: failureArrived(try FailureFrame(envelope))
        case .pong: if let id = PingFrame(envelope).id { broadcasts.pongArrived(id) }
        case .delivery:
            let frame = try DeliveryFrame(envelope)
            gate.pass(isOfConnection: true) { [weak self] in self?.assumeIsolated { $0.delivered(frame) } }
        case .accepted: transfers.accepted(try AcceptedFrame(envelope))
        case .progress: progressed(try ProgressFrame(envelope))
        case .finished:
            let frame = try FinishedFrame(envelope)
            transfers.finished(frame, peer: state?.pairing(frame.item.queue.pairing)?.peer)
        case .context:
            let frame = try ContextFrame(envelope)
            if contexts.arrived(frame, on: daemon.number) { states.publishContexts(contexts.contexts) }
        case .answer:
            let answer = try AnswerFrame(envelope)
            if contexts.answered(answer, on: daemon.number) { states.publishContexts(contexts.contexts) }
            queries.answered(answer)
        // A kind that a daemon sends to other clients only, such as `result`.
        default: connection.refuse(.notForApps(envelope.kind))
        }
    }

    private func messageArrived(_ frame: MessageFrame) {
        let (id, pairing, number) = (frame.id, frame.pairing, daemon.number)
        let token = ReplyToken(wantsReply: frame.wantsReply, topic: frame.topic) { [weak self] answer in
            self?.run { $0.send(answer, to: id, pairing: pairing, ifOn: number) }
        }
        guard let message = ReceivedMessage(frame, peer: state?.pairing(pairing)?.peer, token) else { return }
        if message.isConfiguration, let configuration { return configuration.take(message) }
        guard !gate.isFull else { return message.refuseFull() }
        gate.pass(isMessage: true, isOfConnection: frame.wantsReply) { [messages] in messages.arrived(message) }
    }

    private func send(
        _ answer: Result<[UInt8], SessionError>, to id: UniqueIdentifier, pairing: UniqueIdentifier, ifOn number: UInt64
    ) {
        guard number == daemon.number else { return }
        switch answer {
        case .success(let body):
            daemon.send(MessageFrame(.reply, app: settings.application, pairing: pairing, id: id, body: body[...]))
        case .failure(let error):
            daemon.send(FailureFrame(app: settings.application, pairing: pairing, id: id, error))
        }
    }

    private func replyArrived(_ frame: MessageFrame) {
        requests.answered(frame.id, from: frame.pairing, .success(Array(frame.body)))
        leaveWithDaemon()
    }

    /// The body may be another app's, and one that does not read must not end the connection.
    private func failureArrived(_ frame: FailureFrame) {
        defer { leaveWithDaemon() }
        let (pairing, id) = (frame.pairing, frame.id)
        let error = (try? frame.error()) ?? .malformedMessage
        if frame.channel != nil { return transfers.submissionFailed(id, error) }
        if let broadcast = broadcasts.broadcast(of: id) { return broadcasts.failed(broadcast, pairing, error) }
        requests.answered(id, from: pairing, .failure(error))
    }

    private func delivered(_ frame: DeliveryFrame) {
        let item = frame.item
        let known = items.delivered(frame) { [weak self] verdict in self?.run { $0.decided(verdict, item) } }
        if let known { daemon.send(known.frame(of: item)) }
        publishPending()
    }

    private func progressed(_ frame: ProgressFrame) {
        switch frame.step {
        case .stored: transfers.stored(frame.item)
        case .taking(let offset): files.taken(frame.item.id, offset)
        case .transferred(let offset, nil): transfers.transferred(frame.item.id, offset)
        case .transferred(let offset, let file?): items.fileProgressed(frame.item, file, offset)
        case .unknown: break
        }
    }

    private func decided(_ verdict: HandlingVerdict, _ item: ItemKey) {
        items.ended(item, verdict)
        if daemon.isRegistered { daemon.send(verdict.frame(of: item)) }
        publishPending()
    }

    // MARK: sending messages

    /// Sends a message that wants a reply.
    /// - Parameters:
    ///   - pairing: nil: the active one at this moment.
    ///   - reply: called once.
    package func request(
        _ content: OutgoingContent, to pairing: UniqueIdentifier? = nil, id: UniqueIdentifier = .random(),
        timeout: Duration = Limits.standardDeadline, reply: @escaping Completion<[UInt8]>
    ) {
        let peer = state?.pairing(pairing)?.peer
        let reply: Completion<[UInt8]> = { reply($0.mapError { $0.about(message: id, peer: peer) }) }
        begin(id, reply) { () throws(SessionError) in
            let (frame, target) = try admission.message(
                content, to: pairing, id: id, timeout: timeout, wantsReply: true)
            requests.request(frame, id, to: target, followsActive: pairing == nil, timeout: timeout, reply: reply)
        }
    }

    /// Sends a message without a reply.
    /// - Parameters:
    ///   - pairing: nil: the active one at this moment.
    ///   - given: called once: when the message was sent, or never will be.
    ///   - laterFailure: called at most once, for a failure that comes back.
    package func note(
        _ content: OutgoingContent, to pairing: UniqueIdentifier? = nil, given: @escaping Completion<[UInt8]>,
        laterFailure: ((SessionError) -> Void)? = nil
    ) {
        let (id, peer) = (UniqueIdentifier.random(), state?.pairing(pairing)?.peer)
        let given: Completion<[UInt8]> = { given($0.mapError { $0.about(message: id, peer: peer) }) }
        begin(id, given) { () throws(SessionError) in
            let (frame, target) = try admission.message(
                content, to: pairing, id: id, timeout: Limits.standardDeadline, wantsReply: false)
            requests.note(
                frame, id, to: target, followsActive: pairing == nil, given: given,
                laterFailure: laterFailure.map { later in { later($0.about(message: id, peer: peer)) } })
        }
    }

    /// The caller gives up: its request completes now.
    package func abandon(_ id: UniqueIdentifier) { requests.abandon(id) }

    /// Sends a message without a reply to several devices; the completion is called once.
    package func broadcast(
        _ content: OutgoingContent, to receivers: BroadcastReceivers = .all, id: UniqueIdentifier = .random(),
        laterFailure: (@Sendable (UniqueIdentifier, SessionError) -> Void)? = nil,
        completion: @escaping Completion<[BroadcastOutcome]>
    ) {
        begin(id, completion) { () throws(SessionError) in
            let pairings = try admission.broadcast(content, id: id)
            broadcasts.send(
                content, id, to: pairings.filter(receivers.includes), isToAll: receivers == .all,
                laterFailure: laterFailure, completion: completion)
        }
    }

    // MARK: receiving

    /// Adds a handler of durable items, called on the scheduler; its number, or nil if the session has ended.
    @discardableResult
    package func handleItems(
        _ channels: Set<Channel>, pairing: UniqueIdentifier? = nil, topic: String? = nil,
        take: @escaping (DeliveredItem, HandlingToken) -> Void, ended: @escaping () -> Void = {}
    ) -> UInt64? {
        guard !isEnded else { return nil }
        defer { publishPending() }
        if items.hasNoHandler { starts() }
        let interest = ItemInbox.Interest(channels: channels, pairing: pairing, topic: topic)
        return items.add(interest, take: take, ended: ended)
    }

    // MARK: durable items

    /// Submits an item; the completion is called once, when the item is durable here or never will be.
    package func submit(_ submission: Submission, accepted: @escaping Completion<Acceptance>) {
        begin(submission.id, accepted) { () throws(SessionError) in
            transfers.submit(submission, to: try admission.item(submission), accepted: accepted)
        }
    }

    /// Submits an item, and follows it once it is durable here.
    package func transfer(_ submission: Submission, accepted: @escaping Completion<Transfer>) {
        begin(submission.id, accepted) { () throws(SessionError) in
            let target = try admission.item(submission)
            transfers.transfer(submission, to: target, session: WeakSession(self), accepted: accepted)
        }
    }

    /// Submits an item for each of several devices.
    /// - Parameter completion: called once, when it has got far enough on each, or after the time.
    package func broadcast(
        _ submission: Submission, to receivers: BroadcastReceivers, until level: AcknowledgementLevel,
        within limit: Duration, completion: @escaping Completion<[DeviceReceipt]>
    ) {
        begin(submission.id, completion) { () throws(SessionError) in
            let entries = try admission.broadcast(submission).sorted { $0.pairing < $1.pairing }
            let round = ReceiptRound(until: level, scheduler: scheduler, completion: completion)
            for entry in entries where receivers.includes(entry) {
                var own = submission
                own.id = .random()
                own.pairing = entry.pairing
                let index = round.add(entry.pairing, entry.name)
                transfer(own) { round.accepted(index, $0) }
            }
            round.begin(within: limit)
        }
    }

    /// - Parameter acknowledging: the observer acknowledges each end itself (``acknowledgeEnd(of:)``).
    package func observeTransfers(acknowledging: Bool = false, _ observer: @escaping (TransferEvent) -> Void) {
        if !isEnded { transfers.observe(acknowledging: acknowledging, observer) }
    }

    /// Acknowledges an end that the app's delegate has received (SES-85).
    package func acknowledgeEnd(of item: ItemKey) { transfers.acknowledge(item) }

    func observeIncomingFiles(_ observer: @escaping (IncomingFileProgress) -> Void) {
        if !isEnded { items.observeFiles(observer) }
    }

    // MARK: files

    /// Opens the file and submits it to the pairing that is active at the call, also if another one is once the file is
    /// open; the transfer reports the rest.
    func transferFile(
        _ transfer: FileTransfer, metadata: PropertyListDictionary?, options: TransferOptions,
        to pairing: UniqueIdentifier?
    ) {
        begin(transfer.id, files.handOver(transfer)) { () throws(SessionError) in
            // The size is not known yet, and admission does not judge it.
            let target = try admission.item(Submission(of: transfer, size: 0, metadata, options, to: pairing)).pairing
            files.inspect(transfer) { [weak self] source in
                let submission = Submission(of: transfer, size: source.size, metadata, options, to: target)
                self?.assumeIsolated { $0.submit(transfer, source, submission) }
            }
        }
    }

    private func submit(_ transfer: FileTransfer, _ source: FileSource, _ submission: Submission) {
        let answered = files.answer(of: transfer.id)
        begin(transfer.id, answered) { () throws(SessionError) in
            let target = try admission.item(submission)
            // Before the daemon can answer.
            files.offer(transfer, source, to: target.pairing)
            transfers.transfer(
                submission, of: transfer, to: target, session: WeakSession(self), accepted: answered)
        }
    }

    /// Returns when the app's files have been read as far as they are asked for.
    package func waitForFiles() { files.waitUntilIdle() }

    // MARK: queries

    /// Asks the daemon about this app's own items; the completion is called once.
    package func ask(
        _ question: QueryFrame.Question, pairing: UniqueIdentifier?, channel: Channel,
        then completion: @escaping Completion<AnswerFrame>
    ) {
        begin(nil, completion) {
            queries.ask(question, of: state?.pairing(pairing)?.pairing, named: pairing, on: channel, then: completion)
        }
    }

    /// Takes an item back, in any phase; its end says what is not known when the completion is called, once.
    /// - Parameter pairing: of an item that a former process submitted.
    package func takeBack(
        _ id: UniqueIdentifier, on channel: Channel, in pairing: UniqueIdentifier? = nil,
        then completion: @escaping Completion<TransferCancellation> = { _ in }
    ) {
        begin(id, completion) { () throws(SessionError) in
            if files.stopInspecting(id) { return completion(.success(.cancelled)) }
            // The item's own pairing, also while the daemon of another device answers.
            guard let target = transfers.pairing(of: id) ?? state?.pairing(pairing)?.pairing else {
                throw SessionError(.withoutPairing(pairing), messageID: id)
            }
            files.ended(id)
            transfers.takeBack(id, on: channel, in: target, then: completion)
        }
    }

    /// The items of this app that have not ended: `page` is called with those of each page as it comes, before each
    /// later step of them; `completion` once, with all that have not ended by then.
    package func outstanding(
        _ kind: Transfer.Kind, to pairing: UniqueIdentifier?,
        page: @escaping ([OutstandingTransfer]) -> Void = { _ in },
        then completion: @escaping Completion<[OutstandingTransfer]>
    ) {
        begin(nil, completion) {
            let target = state?.pairing(pairing)?.pairing
            let noted = { [transfers] in page(transfers.noteOutstanding($0)) }
            queries.outstanding(kind, of: target, named: pairing, page: noted) { [transfers] result in
                completion(
                    result.map { items in
                        target.map { transfers.noteAllOutstanding(items, of: kind, to: $0) } ?? items
                    })
            }
        }
    }

    package func urgentBudget(of pairing: UniqueIdentifier?, then completion: @escaping Completion<AnswerFrame>) {
        begin(nil, completion) {
            queries.budget(of: state?.pairing(pairing)?.pairing, named: pairing, then: completion)
        }
    }

    // MARK: for layers above

    /// Registers the configuration's part, from the next connection on, and gives it what concerns it.
    /// - Throws: 7008 `identifier` for a custom one that cannot be, `configuration` after `activate` or another one.
    package nonisolated func install(_ configuration: InstalledConfiguration) throws(SessionError) {
        let registration = try settings.registration(with: configuration)
        try installationWindow.take {
            run { core in
                core.configuration = configuration
                core.connection.register(registration, for: configuration)
            }
        }
    }

    /// The pairing that the default session is bound to; nil without one, or without a daemon.
    package var activePairing: UniqueIdentifier? { daemon.isRegistered ? state?.active : nil }

    /// A daemon has accepted the registration, and its connection is there.
    package var isRegistered: Bool { daemon.isRegistered }

    /// A daemon is there that keeps items that the app puts off (``HandlingVerdict/later``).
    package var keepsForLater: Bool { daemon.isRegistered && connection.knows(.later) }

    /// Reports each step in order, on the scheduler; for layers that must not miss one.
    package func observeEvents(_ observer: @escaping (SessionEvent) -> Void) { onEvent = observer }

    /// Reports a step of a layer above to the observer of events.
    package func report(_ event: SessionEvent) { onEvent?(event) }

    /// Called at a switch, to call back from any thread when the app has got what had arrived before. Without it the
    /// switch continues in the next turn.
    package func beforeSwitching(_ deliver: @escaping (_ done: @escaping @Sendable () -> Void) -> Void) {
        deliverArrivals = deliver
    }

    /// Runs the action on the actor after a time.
    package func schedule(after wait: Duration, _ action: @escaping @Sendable (isolated SessionActor) -> Void) {
        scheduler.schedule(after: wait) { [weak self] in self?.assumeIsolated { action($0) } }
    }

    /// Replaces the random numbers; for runs that can be repeated.
    package func draw(_ random: @escaping () -> UInt64) { connection.draw(random) }

    nonisolated var statistics: SessionStatistics { counts.statistics }

    /// Whether this device is linked to the other one of a pairing, as far as it is known.
    func isLinked(_ pairing: UniqueIdentifier) -> Bool {
        daemon.isRegistered && connection.machine.counterpart(of: pairing).map { $0.level != .unreachable } ?? false
    }

    private var state: SessionState? { connection.machine.state }
}
