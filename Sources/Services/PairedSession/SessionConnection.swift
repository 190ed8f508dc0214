// Connection of a session to its daemon: it dials, greets, registers and connects again, as the activation machine
// decides. Frames for the application, and the machine's decisions about it, are events for the actor.

import TandemBase
import TandemReactor
import TandemSession
package import TandemTransport
import TandemWire

/// Makes connections to the daemon; confined to the session's scheduler. The in-process daemons of the tests are the
/// other implementers.
package protocol Dialer: AnyObject {
    /// Tries once; the completion is called once, never from inside this call, with nil if there is no daemon.
    func dial(_ completion: @escaping ((any ByteStream)?) -> Void)

    /// Ends an attempt; its completion is not called.
    func cancel()

    /// Why the last attempt found no daemon: each address with its error; nil if it found one, or nobody can say.
    var failure: String? { get }
}

extension Dialer {
    package var failure: String? { nil }
}

/// Dials the daemon's socket at the first address that answers.
final class SocketDialer: Dialer {
    private let addresses: [SocketAddress]
    private let loop: EventLoop
    private var attempt: StreamConnector?
    /// Errors of the last completed attempt: kept while the next one runs, so that a report always has a reason.
    private var failures: [String] = []

    var failure: String? { failures.isEmpty ? nil : failures.joined(separator: "; ") }

    init(addresses: [SocketAddress], loop: EventLoop) {
        self.addresses = addresses
        self.loop = loop
    }

    func dial(_ completion: @escaping ((any ByteStream)?) -> Void) {
        dial(addresses[...], failed: [], completion)
    }

    func cancel() {
        attempt?.cancel()
        attempt = nil
    }

    private func dial(
        _ addresses: ArraySlice<SocketAddress>, failed: [String], _ completion: @escaping ((any ByteStream)?) -> Void
    ) {
        guard let address = addresses.first else {
            failures = failed
            return completion(nil)
        }
        attempt = StreamConnector(to: address, loop: loop) { [weak self] outcome in
            switch outcome {
            case .success(let stream):
                self?.failures = []
                completion(stream)
            case .failure(let error):
                self?.dial(addresses.dropFirst(), failed: failed + ["\(error)"], completion)
            }
        }
    }
}

/// One session's connection; confined to the session's scheduler.
final class SessionConnection {
    enum Event: Sendable {
        /// The activation state passes through this value.
        case activation(ActivationState)
        /// The daemon refused the application, and waiting cannot cure it.
        case refused(SessionError)
        /// Pairings or reachability may have changed.
        case stateChanged
        /// Messages that wait for a reply of the app can no longer be answered.
        case disconnected
        /// Open requests to one pairing, or all for nil, get no answer.
        case requestsLost(UniqueIdentifier?, ClientSession.RequestLoss)
        /// Call ``arrivalsDelivered(_:)`` with this number when the app has got what had arrived before: only then does
        /// the switch continue (SES-31).
        case switching(Int)
        /// The daemon stops: it answers what it has taken (SES-18).
        case daemonLeaves
        /// A frame of the application.
        case frame(Envelope)
    }

    private let settings: SessionSettings
    private let scheduler: any Scheduler
    private let channel: DaemonChannel
    private var onEvent: (Event) -> Void = { _ in }
    /// The known state of daemon and counterparts.
    private(set) var machine: ClientSession
    private var stepTimer = PendingTimer()
    /// Spreads the waits between attempts to connect.
    private var random: () -> UInt64 = { .random(in: .min ... .max) }
    private var switches = 0
    private var refusalText = ""
    private var registration: TandemSession.Registration
    /// The schema whose digest is registered.
    private var schema: InstalledConfiguration.Schema?
    /// The anchor of an installed configuration by the daemon's role; nil: the registration has it.
    private var anchor: ((DeviceRole) -> String?)?
    /// The hello of the present daemon, or of the last one.
    private var hello: Hello?
    /// The daemon has said `bye` on this connection.
    private(set) var isDaemonLeaving = false
    /// Why one of the ends refused the last connection; nil once the daemon has accepted a registration since.
    private(set) var failure: String?

    init(settings: SessionSettings, scheduler: any Scheduler, channel: DaemonChannel) {
        self.settings = settings
        self.scheduler = scheduler
        self.channel = channel
        registration = settings.registration
        machine = ClientSession(now: Linux.bootTime)
    }

    /// Begins, or does nothing when it has begun already.
    func activate(_ onEvent: @escaping (Event) -> Void) {
        self.onEvent = onEvent
        perform(machine.activate())
    }

    /// Whether both ends know the capability, by the daemon's hello (SES-3).
    func knows(_ capability: Capability) -> Bool { hello?.capabilities.contains(capability) ?? false }

    /// Changes the content of the registration, from the next one on.
    func register(_ registration: TandemSession.Registration, for configuration: InstalledConfiguration) {
        (self.registration, schema, anchor) = (registration, configuration.schema, configuration.anchor)
    }

    /// The app ends the session.
    func end() {
        channel.send(ByeFrame())
        perform(machine.end(now: scheduler.now))
    }

    /// The connection is over; the machine decides when the daemon is dialled again.
    func lost() { perform(machine.lost(now: scheduler.now, random: random())) }

    /// The daemon broke the protocol: it gets the reason, and is dialled again later.
    func refuse(_ refusal: Refusal) {
        channel.send(refusal)
        broken(refusal)
    }

    /// A frame of the daemon reads, and a value in it does not: the refusal names its kind and the key.
    func refuse(_ fault: WireError, in kind: FrameKind) { refuse(Refusal(fault.refusalName, in: kind, fault)) }

    /// The connection is over because the daemon broke the protocol. The reason is in the errors of the calls that end
    /// with the connection or wait for the next one (SES-21): without it a faulty daemon looks like an absent one.
    private func broken(_ refusal: Refusal) {
        let app = LogField.text("app", settings.application.description)
        PairedLog.write(LogEvent(.warning, "refused a frame of the daemon", app, .outside("reason", "\(refusal)")))
        failure = "this library refused a frame of the daemon: \(refusal)"
        lost()
    }

    /// The app has got what had arrived before a switch. Ignored if another switch has begun since.
    func arrivalsDelivered(_ number: Int) {
        if number == switches { perform(machine.arrivalsDelivered()) }
    }

    /// Replaces the random numbers; for runs that can be repeated.
    func draw(_ random: @escaping () -> UInt64) { self.random = random }

    // MARK: the machine's decisions

    private func perform(_ effects: [ClientSession.Effect]) {
        for effect in effects { perform(effect) }
    }

    private func perform(_ effect: ClientSession.Effect) {
        switch effect {
        case .connect:
            isDaemonLeaving = false
            channel.connect { [weak self] in self?.happened($0) }
        case .sendHello: channel.send(HelloFrame(.offer(settings.capabilities, software: settings.software)))
        case .sendRegister:
            // The key is sent when the role is known.
            if let anchor { registration.anchor = hello?.role.flatMap(anchor) }
            channel.send(ApplicationFrame(.register, settings.application, registration.body))
        case .disconnect:
            channel.disconnect()
            onEvent(.disconnected)
        case .startTimer(let wait):
            stepTimer.cancel(on: scheduler)
            stepTimer.token = scheduler.schedule(after: wait) { [weak self] in self?.stepTimerFired() }
        case .stopTimer: stepTimer.cancel(on: scheduler)
        case .failRequests(let pairing, let loss): onEvent(.requestsLost(pairing, loss))
        case .activation(let state): onEvent(.activation(state))
        case .activationRefused(let name): onEvent(.refused(SessionError(refused: name, refusalText)))
        case .stateChanged: onEvent(.stateChanged)
        case .deliverArrivals:
            switches += 1
            onEvent(.switching(switches))
        }
    }

    private func stepTimerFired() {
        stepTimer.token = nil
        perform(machine.timerFired(now: scheduler.now, random: random()))
    }

    // MARK: the daemon's frames

    private func happened(_ event: DaemonChannel.Event) {
        switch event {
        case .opened: perform(machine.connected())
        case .lost: lost()
        case .broken(let fault): broken(Refusal(fault))
        case .received(let frame):
            let envelope: Envelope
            do throws(WireError) { envelope = try Envelope(reading: frame) } catch { return refuse(Refusal(error)) }
            do throws(WireError) { try received(envelope) } catch { refuse(error, in: envelope.kind) }
        }
    }

    private func received(_ envelope: Envelope) throws(WireError) {
        guard envelope[.app] ?? settings.application == settings.application else {
            return refuse(Refusal(foreign: .app, in: envelope.kind))
        }
        switch envelope.kind {
        case .hello: try greeted(HelloFrame(envelope).hello(from: .server))
        case .refusal: refused(try Refusal(envelope))
        case .registered:
            let answer = try RegistrationAnswer(body: ApplicationFrame(envelope).body, now: scheduler.now)
            if machine.phase == .registering {
                channel.registered()
                failure = nil
            }
            perform(machine.registered(answer))
            if answer.wantsSchema { sendSchema() }
        case .state:
            perform(machine.stateArrived(try SessionState(body: ApplicationFrame(envelope).body, now: scheduler.now)))
        case .ping: channel.send(PingFrame(envelope).answer)
        case .bye:
            isDaemonLeaving = true
            onEvent(.daemonLeaves)
        case .pong, .reply, .failure: onEvent(.frame(envelope))
        default:
            guard envelope.kind.mayBeSent(by: .daemon) else { return refuse(.notForApps(envelope.kind)) }
            guard machine.phase == .active else {
                return refuse(Refusal(.unexpected, "\(envelope.kind.rawValue) before registered"))
            }
            onEvent(.frame(envelope))
        }
    }

    /// Brings the daemon the schema. Nobody waits for the answer: a daemon that refuses it says why in its log.
    private func sendSchema() {
        guard let schema else { return }
        let question = QueryFrame.Question.schema(document: schema.document)
        channel.send(QueryFrame(question, id: .random(), app: settings.application, pairing: nil, channel: nil))
    }

    private func greeted(_ hello: Hello) {
        guard machine.phase == .greeting else { return refuse(Refusal(.unexpected, "hello is sent once")) }
        let own = HelloOffer(capabilities: Set(settings.capabilities))
        guard case .chosen(let version) = hello.versions,
            (try? own.accept(version: version, capabilities: Set(hello.capabilities))) != nil
        else { return refuse(Refusal(.version)) }
        self.hello = hello
        perform(machine.greeted())
    }

    private func refused(_ refusal: Refusal) {
        failure = "the daemon refused the connection: \(refusal)"
        guard let name = refusal.name else { return lost() }
        refusalText = refusal.text
        perform(machine.refused(name, now: scheduler.now, random: random()))
    }
}

extension Refusal {
    /// The refusal of a kind that no daemon sends to a host app.
    static func notForApps(_ kind: FrameKind) -> Refusal {
        Refusal(.unexpected, "\(kind.rawValue) is not sent to host apps")
    }
}
