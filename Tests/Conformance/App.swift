// A host app of a case: the public library's session, and what has come of everything it did. The calls are those below
// the async API, because a clock that a test moves cannot wait for tasks.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire

/// The results of a call, as they arrive.
///
/// `@unchecked`: only the world's thread uses it.
final class Later<Value>: @unchecked Sendable {
    private(set) var values: [Value] = []

    var value: Value? { values.first }

    func add(_ value: Value) { values.append(value) }
}

/// A message that came.
struct Receipt {
    let number: Int64?
    let data: [UInt8]?
    let wantsReply: Bool
    let pairing: UniqueIdentifier
}

/// One app in one process.
///
/// `@unchecked`: only the world's thread uses it, which is the session's too.
final class App: @unchecked Sendable {
    let place: Place
    let session: PairedSession
    let scheduler: any Scheduler
    private let draws: Draws
    /// Events in order, each with the world's time: the same in each run of one seed.
    private(set) var log: [String] = []
    private(set) var messages: [Receipt] = []
    private(set) var items: [DeliveredItem] = []
    /// Ends of items as they were reported, also of a former process's.
    private(set) var endings: [UniqueIdentifier: [TransferOutcome]] = [:]
    private(set) var storedItems: Set<UniqueIdentifier> = []
    private var kept: [ReceivedMessage] = []
    /// Reported ends of contexts; none are allowed.
    private(set) var contextEnds = 0

    /// - Parameter draws: its random numbers.
    init(at place: Place, scheduler: any Scheduler, dialer: any Dialer, draws: Draws) throws {
        (self.place, self.scheduler, self.draws) = (place, scheduler, draws)
        let options = PairedSessionOptions(application: Stage.appName)
        let settings = try SessionSettings(options, environment: { _ in nil })
        // Used on the world's thread only, as the session is.
        nonisolated(unsafe) let own = dialer
        session = PairedSession(settings, on: scheduler, dialer: own)
    }

    /// Why the library or the daemon has refused its last connection; nil while it is registered.
    var connectionEnd: String? {
        session.core.assumeIsolated { $0.connectionFailure }.map { "\(place)'s app is not registered: \($0)" }
    }

    var isReachable: Bool { session.reachability.level == .immediate }

    func note(_ text: String) { log.append("\(scheduler.now.nanoseconds / 1_000_000) \(text)") }

    /// Runs the action with the session's core, on its thread.
    func run(_ action: @escaping (isolated SessionActor) -> Void) {
        let bound = LoopBound(action, to: scheduler)
        session.core.run { bound.value($0) }
    }

    @discardableResult
    func activate() -> Later<Result<Void, SessionError>> {
        let later = Later<Result<Void, SessionError>>()
        let draws = draws
        run { core in core.draw { draws.next() } }
        run { core in core.observeTransfers { [weak self] in self?.observed($0) } }
        run { core in core.activate(waiter: draws.next()) { later.add($0) } }
        return later
    }

    /// Runs what the app has on threads of its own.
    var runCallbacks: () -> Void = {}

    /// Returns when the app's files have been read as far as they are asked for, and its own threads have done what
    /// they have.
    func waitForThreads() {
        session.core.assumeIsolated { $0.waitForFiles() }
        runCallbacks()
    }

    // MARK: messages

    func send(
        _ message: PropertyListDictionary, to pairing: UniqueIdentifier? = nil, timeout: Duration = .seconds(30)
    ) -> Later<Result<[UInt8], SessionError>> { send(OutgoingContent(message), pairing, timeout) }

    func send(data: [UInt8]) -> Later<Result<[UInt8], SessionError>> {
        send(OutgoingContent(data: data), nil, .seconds(30))
    }

    private func send(
        _ content: OutgoingContent, _ pairing: UniqueIdentifier?, _ timeout: Duration
    ) -> Later<Result<[UInt8], SessionError>> {
        let later = Later<Result<[UInt8], SessionError>>()
        run { core in
            core.request(content, to: pairing, timeout: timeout) { [weak self] result in
                self?.note("answer \(result.summary)")
                later.add(result)
            }
        }
        return later
    }

    /// A message without a reply.
    func tell(_ message: PropertyListDictionary) -> Later<Result<[UInt8], SessionError>> {
        let later = Later<Result<[UInt8], SessionError>>()
        run { core in core.note(OutgoingContent(message), to: nil, given: { later.add($0) }) }
        return later
    }

    func broadcast(_ message: PropertyListDictionary) -> Later<Result<[BroadcastOutcome], SessionError>> {
        let later = Later<Result<[BroadcastOutcome], SessionError>>()
        run { core in core.broadcast(OutgoingContent(message)) { later.add($0) } }
        return later
    }

    /// Receives messages from now on; the rule answers them, or keeps them open by returning true.
    func receive(_ rule: @escaping (ReceivedMessage) -> Bool = { _ in false }) {
        let rule = LoopBound(rule, to: scheduler)
        run { core in
            core.receive { [weak self] message in
                // The daemon's own word, not the counterpart's (CFG-42).
                guard let self, !message.isConfiguration else { return }
                note("message \(message.number ?? -1)")
                messages.append(message.withoutToken)
                if rule.value(message) { kept.append(message) }
            }
        }
    }

    /// Lets go of the messages that were kept open.
    func dropKept() { kept = [] }

    // MARK: durable items

    func submit(
        _ number: Int64, on channel: Channel = .userInfo, id: UniqueIdentifier? = nil,
        to pairing: UniqueIdentifier? = nil, options: TransferOptions = TransferOptions()
    ) -> Item { submit(["n": .integer(number)], on: channel, id: id, to: pairing, options: options) }

    func submit(
        _ content: PropertyListDictionary, on channel: Channel = .userInfo, id: UniqueIdentifier? = nil,
        to pairing: UniqueIdentifier? = nil, options: TransferOptions = TransferOptions()
    ) -> Item {
        var submission = Submission(channel, to: pairing, OutgoingContent(content))
        if let id { submission.id = id }
        submission.options = options
        let item = Item(submission.id)
        let ready = submission
        run { core in
            core.transfer(ready) { [weak self] result in
                self?.note("accepted \(content["n"]?.integerValue ?? -1): \(result.summary)")
                item.accepted(result)
            }
        }
        return item
    }

    func update(
        _ context: PropertyListDictionary, always: Bool = false
    ) -> Later<Result<Acceptance, SessionError>> {
        var submission = Submission(.context, to: nil, OutgoingContent(context))
        if always { submission.name = "always" }
        let (ready, later) = (submission, Later<Result<Acceptance, SessionError>>())
        run { core in core.submit(ready) { later.add($0) } }
        return later
    }

    func ask(
        _ question: QueryFrame.Question, channel: Channel = .userInfo
    ) -> Later<Result<AnswerFrame, SessionError>> {
        let later = Later<Result<AnswerFrame, SessionError>>()
        run { core in core.ask(question, pairing: nil, channel: channel) { later.add($0) } }
        return later
    }

    /// Handles items from now on; the handler of one of them does not return.
    /// - Parameter isMeant: whether it is this one.
    func hold(
        _ channels: Set<Channel> = [.userInfo, .urgent],
        _ isMeant: @escaping (DeliveredItem) -> Bool = { _ in true }
    ) -> HeldItem {
        let held = HeldItem()
        handle(channels) { item, token in
            guard isMeant(item) else { return .handled }
            held.token = token
            return nil
        }
        return held
    }

    /// Handles items from now on.
    /// - Parameter rule: the verdict; nil: none yet, for as long as the case keeps the token.
    func handle(
        _ channels: Set<Channel> = [.userInfo, .urgent], topic: String? = nil,
        _ rule: @escaping (DeliveredItem, HandlingToken) -> HandlingVerdict? = { _, _ in .handled }
    ) {
        let rule = LoopBound(rule, to: scheduler)
        run { core in
            core.handleItems(channels, topic: topic) { [weak self] item, token in
                guard let self else { return }
                note("item \(item.number) attempt \(item.facts.attempt)")
                items.append(item)
                switch rule.value(item, token) {
                case .handled?: token.returned()
                case let verdict?: token.threw(verdict)
                case nil: break
                }
            }
        }
    }

    private func observed(_ event: TransferEvent) {
        switch event.step {
        case .stored: storedItems.insert(event.id)
        case .finished(let outcome):
            if event.channel == .context { contextEnds += 1 }
            note("finished \(outcome.summary)")
            endings[event.id, default: []].append(outcome)
        }
    }
}

/// An item that a case has submitted.
///
/// `@unchecked`: only the world's thread uses it.
final class Item: @unchecked Sendable {
    let id: UniqueIdentifier
    private(set) var acceptance: Result<Transfer, SessionError>?

    init(_ id: UniqueIdentifier) { self.id = id }

    func accepted(_ result: Result<Transfer, SessionError>) { acceptance = result }

    var isAccepted: Bool { acceptance?.isSuccess ?? false }
    var transfer: Transfer? { try? acceptance?.get() }
    var error: SessionError? { acceptance?.error }

    var outcome: TransferOutcome? {
        if case .finished(let outcome)? = transfer?.state { outcome } else { nil }
    }
}

/// An item whose handler has not returned.
final class HeldItem {
    fileprivate var token: HandlingToken?

    var isGiven: Bool { token != nil }

    func returned() { token?.returned() }

    func failed() { token?.threw(.failed("the case lets its handler fail")) }
}
