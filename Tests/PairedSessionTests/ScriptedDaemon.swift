// A daemon that does what a test says: it greets and registers like a real one, and everything else is the test's. It
// stands at the other end of in-process streams on a manual clock, so every schedule can be repeated.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

final class ScriptedDaemon: Dialer, FrameChannelDelegate {
    let scheduler: ManualScheduler
    let app: ApplicationIdentifier
    var device = UniqueIdentifier.random()
    var situation: SessionState
    var role = DeviceRole.primary
    /// False: nobody answers the next dials.
    var isRunning = true
    var failure: String? { isRunning ? nil : "no daemon" }
    /// The daemon's answer in place of `registered`.
    var refusal: Refusal?
    /// Changes the body of `registered`.
    var spoil: (inout PropertyListDictionary) -> Void = { _ in }
    /// False: it accepts connections and says nothing.
    var greets = true
    var capabilities = Capability.allCases
    /// Sent after `registered`, as a daemon does with what it has stored (SES-52).
    var contexts: [(direction: ContextFrame.Direction, body: PropertyListDictionary)] = []
    /// The answers to `outstanding` and `budget`; nil: the test's own.
    var stored: Stored? = Stored()
    /// Called for each frame that is no part of the opening and has no answer here.
    var onFrame: (Envelope) -> Void = { _ in }
    private(set) var channel: FrameChannel?
    /// Below the channel, for bytes that are no frame.
    private var stream: (any ByteStream)?
    private(set) var dials = 0
    /// It asks for the schema that an app names.
    var wantsSchema = false
    /// The app's own directory.
    var directory = "/apps/x"
    private(set) var registrations: [TandemSession.Registration] = []
    private(set) var received: [Envelope] = []

    /// The items of the app that a daemon keeps, and the rest of its budget.
    struct Stored {
        var outstanding: [Channel: [OutstandingPage.Item]] = [:]
        var budget = BudgetAnswer(remaining: 0, limit: 50, resets: .zero)
    }

    init(_ scheduler: ManualScheduler) throws {
        self.scheduler = scheduler
        app = try ApplicationIdentifier("com.example.app")
        situation = SessionState(revision: 1, active: nil, pairings: [])
    }

    /// Adds a reachable pairing, the active one if it is the first.
    @discardableResult
    func pair(
        _ level: ReachabilityLevel = .immediate, _ reason: ReachabilityReason = .none
    ) -> UniqueIdentifier {
        let pairing = UniqueIdentifier.random()
        situation.pairings.append(
            PairingState(
                pairing: pairing, peer: .random(), name: "panel", role: role, target: .vendor(device),
                isInstalled: reason != .notInstalled, level: level, reason: reason, since: scheduler.now))
        situation.active = situation.active ?? pairing
        return pairing
    }

    func dial(_ completion: @escaping ((any ByteStream)?) -> Void) {
        dials += 1
        guard isRunning else {
            scheduler.schedule(after: .zero) { completion(nil) }
            return
        }
        let (own, other) = InProcessStream.pair(on: scheduler)
        let channel = FrameChannel(stream: other)
        channel.delegate = self
        (self.channel, stream) = (channel, other)
        channel.start()
        scheduler.schedule(after: .zero) { completion(own) }
    }

    func cancel() {}

    /// Stays alive for the app, which asks when it hears nothing.
    func answerPings() {
        onFrame = { [unowned self] in if $0.kind == .ping { send(Envelope(.pong, id: $0.id)) } }
    }

    /// The connection breaks.
    func cut() {
        channel?.close()
        channel = nil
    }

    func send(_ envelope: Envelope) {
        do { channel?.send(try envelope.frame()) } catch { Issue.record("cannot send: \(error)") }
    }

    /// Sends bytes that need not be a frame.
    func send(bytes: [UInt8]) { stream?.send(bytes) }

    func send(_ kind: FrameKind, body: PropertyListDictionary) {
        do { send(try Envelope(kind, app: app).with(body: body)) } catch { Issue.record("cannot send: \(error)") }
    }

    /// Tells the app the situation under a new revision.
    func tellSituation() {
        situation.revision += 1
        send(.state, body: situation.body(now: scheduler.now))
    }

    /// Sends an item for the app's handlers.
    /// - Parameter pairing: nil: the active one.
    func deliver(
        _ body: PropertyListDictionary = ["n": 1], on channel: Channel = .userInfo,
        through pairing: UniqueIdentifier? = nil, id: UniqueIdentifier = .random(), attempt: Int = 1,
        topic: String? = nil
    ) throws {
        let envelope = Envelope(
            .delivery, app: app, pairing: pairing ?? situation.active, id: id, channel: channel, attempt: attempt,
            topic: topic)
        send(try envelope.with(body: body))
    }

    /// Sends a message of the counterpart's.
    /// - Parameter pairing: nil: the active one.
    /// - Returns: its identifier.
    @discardableResult
    func message(
        _ body: PropertyListDictionary = ["n": 1], _ kind: FrameKind = .message,
        from pairing: UniqueIdentifier? = nil, reply: Bool? = nil
    ) throws -> UniqueIdentifier {
        let id = UniqueIdentifier.random()
        let envelope = Envelope(kind, app: app, pairing: pairing ?? situation.active, id: id, reply: reply)
        send(try envelope.with(body: body))
        return id
    }

    /// The last question of this command.
    func question(_ command: String) throws -> Envelope { try #require(received.last { $0.command == command }) }

    /// Answers the last `cancel`.
    func answerCancel(_ name: String, _ body: PropertyListDictionary = [:], code: Int = 0) throws {
        send(try answer(to: question("cancel"), name, body, code: code))
    }

    func answer(
        to question: Envelope, _ name: String?, _ body: PropertyListDictionary = [:], code: Int = 0
    ) throws -> Envelope {
        try Envelope(.answer, app: app, id: question.id, code: code, name: name, command: question.command)
            .with(body: body)
    }

    func channelDidOpen(_ channel: FrameChannel) {}
    func channelDidDrain(_ channel: FrameChannel) {}
    func channel(_ channel: FrameChannel, didCloseWith reason: CloseReason) {
        if channel === self.channel { self.channel = nil }
    }

    func channel(_ channel: FrameChannel, didReceive frame: Frame) {
        guard channel === self.channel else { return }
        do {
            let envelope = try Envelope(reading: frame)
            received.append(envelope)
            switch envelope.kind {
            case .hello where greets:
                var hello = Hello(.chosen(.first), software: "scripted", role: role, device: device)
                hello.capabilities = capabilities
                send(try Envelope(.hello).with(body: hello.body))
            case .register:
                registrations.append(try TandemSession.Registration(body: envelope.dictionaryBody()))
                if let refusal { return send(try refusal.envelope) }
                let answer = RegistrationAnswer(
                    device: device, role: role, directory: directory, uid: 1, state: situation,
                    wantsSchema: wantsSchema)
                var body = answer.body(now: scheduler.now)
                spoil(&body)
                send(.registered, body: body)
                try sendContexts()
            case .query where try answered(QueryFrame(envelope)): break
            default: onFrame(envelope)
            }
        } catch {
            Issue.record("the app sent nonsense: \(error)")
        }
    }

    private func sendContexts() throws {
        guard let active = situation.active else { return }
        for (index, context) in contexts.enumerated() {
            let frame = ContextFrame(
                app: app, pairing: active, context.direction, revision: UInt64(index + 1),
                body: try Body.bytes(context.body)[...])
            send(frame.envelope)
        }
    }

    /// Answers a question about what is stored; false for another one.
    private func answered(_ query: QueryFrame) throws -> Bool {
        guard let stored, let question = try? query.question() else { return false }
        let body: PropertyListDictionary
        switch question {
        case .outstanding:
            let items = query.channel.flatMap { stored.outstanding[$0] } ?? []
            body = OutstandingPage(items: items, more: nil).body
        case .budget: body = stored.budget.body
        case .cancel, .subscribe, .apply, .schema: return false
        }
        send(try AnswerFrame(to: (query.id, query.app, query.command), body: body).envelope)
        return true
    }
}
