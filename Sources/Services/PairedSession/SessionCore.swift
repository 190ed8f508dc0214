// The shell around the session's machines: it owns the connection, the timers and the waiting callers, and does what
// the machines decide. Everything here runs on the session's scheduler; callers on other threads come through
// SessionHandle.

import TandemBase
import TandemFiles
package import TandemReactor
import TandemSession
import TandemTransport
package import TandemWire

/// One host app's session; confined to its scheduler.
package final class SessionCore {
    package let scheduler: any Scheduler
    let dialer: any Dialer
    let settings: SessionSettings
    let board: SessionBoard
    let counts = SessionCounts()
    /// Spreads the waits between attempts to connect.
    package var random: () -> UInt64 = { .random(in: .min ... .max) }
    var machine: ClientSession
    var replies = ReplyTable<ReplyWaiter>(capacity: Limits.openRequests)
    /// Messages without reply whose failure can still be told.
    var notes = ReplyTable<ReplyWaiter>(capacity: Limits.openRequests)
    var broadcasts: [UniqueIdentifier: OpenBroadcast] = [:]
    /// Messages of broadcasts that go to some devices only, and of which broadcast each is.
    var broadcastParts: [UniqueIdentifier: UniqueIdentifier] = [:]
    var inbox = Inbox()
    /// May fire when less waits than at its start: then it looks again.
    var inboxTimer: (due: MonotonicTime, timer: TimerToken)?
    /// What this app has submitted and not heard the end of, and who hears of it.
    var transfers = TransferTable<TransferToken>(capacity: Limits.queuedItems)
    var followed: [UniqueIdentifier: Transfer] = [:]
    /// A connection was made and does not know them yet.
    private var followsAgain = false
    /// Ends of former processes' items that nobody here has asked about yet.
    var unheard: [TransferEvent] = []
    var toldEnds = ToldEnds()
    var onTransfer: ((TransferEvent) -> Void)?
    var questions = ReplyTable<AnswerWaiter>(capacity: Limits.openRequests)
    /// What this app was given, and its handlers.
    var items = ItemInbox()
    var handling = HandlingMemory<HandlingVerdict>()
    var contexts: [UniqueIdentifier: ContextPair] = [:]
    /// Of the last context that the daemon told.
    var contextSerial: UInt64 = 0
    /// Files that are opened, handed over to the daemon, and followed after it has accepted them.
    var opening: Set<UniqueIdentifier> = []
    var feeds: [UniqueIdentifier: FileFeed] = [:]
    var fileTransfers: [UniqueIdentifier: FileTransfer] = [:]
    var fileWorker: FileWorker?
    var onIncomingFile: [(IncomingFileProgress) -> Void] = []
    var outbox: [Outgoing] = []
    /// The daemon carries topics (SES-3).
    var takesTopics = false
    var channel: FrameChannel?
    /// The connection that was ended, until its last bytes have left.
    var closing: FrameChannel?
    var whenEnded: [() -> Void] = []
    var heartbeat: Heartbeat?
    var heartbeatTimer: TimerToken?
    private var stepTimer: TimerToken?
    private var watched: (deadline: MonotonicTime, timer: TimerToken)?
    private var activationWaiters: [UInt64: (Result<Void, SessionError>) -> Void] = [:]
    var lastRefusalText = ""
    /// It has said `bye` on this connection.
    var isDaemonLeaving = false
    /// Ended by the app, or released: nothing begins any more.
    private(set) var isEnded = false
    /// Told each step in order, on the scheduler; for layers that must not miss one.
    package var onEvent: ((SessionEvent) -> Void)?
    /// Asked at a switch to call back, on the scheduler, when the app has been given what had arrived before; without
    /// it the switch goes on in the next turn.
    package var deliverArrivals: ((_ done: @escaping () -> Void) -> Void)?
    private var switches = 0
    private var history = ReachabilityHistory()

    init(settings: SessionSettings, scheduler: any Scheduler, dialer: any Dialer, board: SessionBoard) {
        self.settings = settings
        self.scheduler = scheduler
        self.dialer = dialer
        self.board = board
        machine = ClientSession(now: Linux.bootTime)
    }

    /// Begins, and tells the caller once how it ended: activated, or a refusal that waiting cannot cure.
    package func activate(waiter number: UInt64, _ completion: @escaping (Result<Void, SessionError>) -> Void) {
        if machine.activation == .activated { return completion(.success(())) }
        guard !isEnded else { return completion(.failure(SessionError(.ended, messageID: nil))) }
        activationWaiters[number] = completion
        perform(machine.activate())
    }

    /// A caller of `activate` waits no longer; the session goes on trying.
    func stopWaiting(_ number: UInt64, _ error: SessionError) {
        activationWaiters.removeValue(forKey: number)?(.failure(error))
    }

    /// Ends the session for good; everyone who waits is told. `completion` is called when what was queued has left.
    package func end(then completion: @escaping () -> Void) {
        end()
        if closing == nil { completion() } else { whenEnded.append(completion) }
    }

    /// Ends the session for good; everyone who waits is told.
    package func end() {
        guard !isEnded else { return }
        isEnded = true
        send(Envelope(.bye))
        perform(machine.end(now: scheduler.now))
        finishWaiters(.failure(SessionError(.ended, messageID: nil)))
        fail(to: nil, .ended)
        inbox.removeAll()
        items.removeAll()
        endFiles()
        board.finish()
    }

    /// Does what the machine decided, in order.
    func perform(_ effects: [ClientSession.Effect]) {
        for effect in effects { perform(effect) }
    }

    private func perform(_ effect: ClientSession.Effect) {
        switch effect {
        case .connect:
            followsAgain = true
            connect()
        case .sendHello: send(.offer(software: settings.software))
        case .sendRegister: send(settings.registration)
        case .disconnect: disconnect()
        case .startTimer(let wait): startStepTimer(wait)
        case .stopTimer: stopStepTimer()
        case .failRequests(let pairing, let loss): fail(to: pairing, loss)
        case .activation(let state): passed(through: state)
        case .activationRefused(let name):
            publish()
            finishWaiters(.failure(SessionError(refused: name, lastRefusalText)))
            onEvent?(.refused(SessionError(refused: name, lastRefusalText)))
        case .situationChanged:
            forgetContexts()
            publish()
            onEvent?(.situation)
        case .deliverArrivals: awaitArrivals()
        }
    }

    /// Goes on with the switch, unless it has been overtaken by another one or a lost daemon.
    private func awaitArrivals() {
        switches += 1
        let done = { [weak self, switches] in
            guard let self, self.switches == switches else { return }
            perform(machine.arrivalsDelivered())
        }
        if let deliverArrivals { deliverArrivals(done) } else { scheduler.schedule(after: .zero, done) }
    }

    private func passed(through state: ActivationState) {
        publish(state)
        onEvent?(.activation(state))
        guard state == .activated else { return }
        submitAgain()
        if followsAgain { followAgain() }
        followsAgain = false
        finishWaiters(.success(()))
    }

    private func finishWaiters(_ result: Result<Void, SessionError>) {
        let waiters = activationWaiters
        activationWaiters = [:]
        for waiter in waiters.values { waiter(result) }
    }

    func publish(_ passing: ActivationState? = nil) {
        var snapshot = SessionSnapshot(machine, Clocks(now: scheduler.now, wall: scheduler.wallNow), &history)
        if let passing { snapshot.activation = passing }
        snapshot.contexts = contexts
        snapshot.hasContentPending = items.hasWaiting
        board.publish(snapshot)
    }

    /// Publishes whether something waits for a handler, if that has changed.
    func publishPending() {
        if board.snapshot.hasContentPending != items.hasWaiting { publish() }
    }

    // MARK: timers

    private func startStepTimer(_ wait: Duration) {
        stopStepTimer()
        stepTimer = scheduler.schedule(after: wait) { [weak self] in
            guard let self else { return }
            stepTimer = nil
            perform(machine.timerFired(now: scheduler.now, random: random()))
        }
    }

    private func stopStepTimer() {
        if let stepTimer { scheduler.cancel(stepTimer) }
        stepTimer = nil
    }

    /// Makes sure that the timer fires no later than at this deadline. It may fire for one that was answered meanwhile:
    /// cheaper than to search the table at each answer.
    func watch(deadline: MonotonicTime) {
        if let watched, watched.deadline <= deadline { return }
        if let watched { scheduler.cancel(watched.timer) }
        let timer = scheduler.schedule(after: deadline.since(scheduler.now)) { [weak self] in
            self?.watched = nil
            self?.expire()
        }
        watched = (deadline, timer)
    }
}

/// One step of a session's life, in order.
package enum SessionEvent: Sendable {
    case activation(ActivationState)
    /// How a call of `activate` by a layer above ended.
    case asked(Result<Void, SessionError>)
    case refused(SessionError)
    /// Pairings or reachability may have changed.
    case situation
}
