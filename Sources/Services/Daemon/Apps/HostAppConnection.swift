// Host app's connection on a local socket, from hello to its end. It decides which frames may come when, and passes
// them on: messages and answers to the relay, items to the durable channels, answers to configurations to the pending
// offers, control requests to the responder. A fault earns one refusal, and then the connection closes.

import TandemBase
import TandemReactor
import TandemSession
import TandemTransport
import TandemWire

/// A host app's or a command's connection to its daemon.
final class HostAppConnection {
    private enum Phase {
        /// Nothing but `hello`.
        case opening
        /// `register` or `control` decides what the connection is. The client's capabilities matter until then.
        case greeted([Capability])
        /// Its app's ownership is being stored; it is not read meanwhile.
        case registering
        /// It sends, and does not take its app's messages.
        case registered
        /// It takes its app's messages. Boxed: the others need no room for it.
        indirect case receiving(ConnectedApplication)
        case controlling(OpenControls)
        /// Refused or sent away; nothing more is read.
        case closing
    }

    /// The control requests that wait for their answer.
    private final class OpenControls {
        var identifiers: Set<UniqueIdentifier> = []
    }

    /// Requests that one connection may have open (LIM-18): a person's or a script's, never a flood.
    private static var openControlLimit: Int { 64 }
    /// One array for all connections whose clients know every capability, as most do.
    private static let allCapabilities = Capability.allCases

    // No weak reference to this, and no property without need: thousands are idle, and each must be small.
    let number: ConnectionNumber
    let channel: FrameChannel
    private let endpoint: LocalEndpoint
    private var phase = Phase.opening
    /// The relay's port while the connection is registered: frames are passed on from here without asking the phase.
    /// Unchecked, because it is only loaded and stored.
    @exclusivity(unchecked) private(set) var port: RelayPort?
    let credentials: PeerCredentials
    private(set) var seat: LocalSeats.Seat
    /// Whether its user is charged for an app that nobody owns (SES-75).
    private var isBorrowing = false
    /// Whether its app was asked for its schema and has not sent one yet (SES-71).
    private(set) var owesSchema = false

    init(
        _ number: ConnectionNumber, channel: FrameChannel, credentials: PeerCredentials, seat: LocalSeats.Seat,
        endpoint: LocalEndpoint
    ) {
        self.number = number
        self.channel = channel
        self.credentials = credentials
        self.seat = seat
        self.endpoint = endpoint
    }

    func start() {
        channel.delegate = self
        channel.start()
    }

    /// The app whose messages the connection takes; nil if it takes none.
    var receiving: ConnectedApplication? { if case .receiving(let application) = phase { application } else { nil } }

    /// The app has sent a schema, whatever becomes of it: it was asked once.
    func schemaCame() { owesSchema = false }

    // MARK: sending and ending

    /// Sends a frame of this daemon's own.
    func send(_ frame: some TypedFrame) { send { () throws(WireError) in try frame.frame() } }

    /// The same with a frame that is written in its own way.
    func send(_ frame: () throws(WireError) -> Frame) {
        do throws(WireError) { send(try frame()) } catch {
            endpoint.log(LogEvent(.error, "frame not written", .text("error", "\(error)")))
            channel.close()
        }
    }

    /// Sends the reason, and ends the connection.
    func refuse(_ refusal: Refusal) {
        endpoint.accounts.log(
            LogEvent(
                .warning, "local connection refused", .text("name", refusal.word), .outside("text", refusal.text),
                .integer("uid", credentials.user), .integer("pid", credentials.process)), of: credentials.user)
        if case .closing = phase { return }
        send(refusal)
        finish()
    }

    func refuse(_ name: RefusalName, _ text: String = "") { refuse(Refusal(name, text)) }

    /// Whether a control request waits for its answer.
    var hasOpenRequest: Bool { if case .controlling(let open) = phase { !open.identifiers.isEmpty } else { false } }

    /// Gives up its seat to a later connection, which has taken it.
    func cedeSeat() {
        seat = .none
        refuse(.tooManyConnections, "a later connection needs the seat")
    }

    /// Begins work that is more than a look into a table: now, or in a later turn of the loop (SES-93). The connection
    /// is not read while it waits, so that no other work of it can wait beside it.
    /// - Parameters:
    ///   - bytes: of the request, which is held while it waits.
    ///   - isControl: it is a control request.
    /// - Returns: false if it would have to wait, and others of its user leave no room for it (LIM-159).
    func inTurn(holding bytes: Int, isControl: Bool = false, _ work: @escaping () -> Void) -> Bool {
        let turns = endpoint.accounts.work
        if turns.beginsNow() {
            work()
            return true
        }
        let held = port
        let waits = turns.wait(of: credentials.user, holding: bytes, isControl: isControl) { [self] in
            if let held { held.resumeReading() } else { channel.resumeReading() }
            // The connection may have ended meanwhile.
            if case .closing = phase { return }
            work()
        }
        guard waits else { return false }
        if let held { held.pauseReading() } else { channel.pauseReading() }
        return true
    }

    private func unexpected(_ envelope: Envelope, _ place: String) {
        refuse(.unexpected, "\(envelope.kind.rawValue) is not taken \(place)")
    }

    /// Flushes and closes.
    /// - Parameter inOrder: the client has ended its session.
    func finish(inOrder: Bool = false) {
        leave(inOrder: inOrder)
        channel.closeAfterFlush()
    }

    /// Leaves the relay and the durable channels.
    private func leave(inOrder: Bool = false) {
        let (last, port) = (phase, port)
        phase = .closing
        self.port = nil
        port?.closed()
        if let port, let app = port.app {
            giveBack(app)
            endpoint.items?.left(self, app, receives: port.receives)
        }
        if case .receiving(let application) = last { endpoint.left(self, application, inOrder: inOrder) }
    }

    // MARK: frames

    /// Which frames a connection takes in which phase (SES-1, SES-5, CTL-1).
    private func receive(_ frame: Frame, _ envelope: Envelope) throws(WireError) {
        switch phase {
        case .opening: try greet(envelope)
        case .greeted(let capabilities): try begin(frame, envelope, capabilities)
        case .registered, .receiving: if let port { try take(frame, envelope, port) }
        case .controlling(let open): try control(envelope, frame.count, open)
        case .registering, .closing: break
        }
    }

    /// The client's hello: the highest common version and the common capabilities (SES-2, SES-3).
    private func greet(_ envelope: Envelope) throws(WireError) {
        switch envelope.kind {
        case .hello where !envelope.has(.pairing): break
        // Nothing answers either (SES-1).
        case .bye, .refusal: return finish()
        default: return refuse(.helloExpected, "the first frame must be hello, without a pairing")
        }
        let hello = try HelloFrame(envelope).hello(from: .app)
        guard case .offered(let versions) = hello.versions, let version = ProtocolVersion.chosen(from: versions) else {
            return refuse(.version, "this daemon speaks version \(ProtocolVersion.first)")
        }
        let common = Capability.allCases.filter(hello.capabilities.contains)
        let capabilities = common.count == Self.allCapabilities.count ? Self.allCapabilities : common
        let answer = Hello(
            .chosen(version), capabilities: capabilities, software: endpoint.options.software,
            role: endpoint.options.role, device: endpoint.options.device)
        phase = .greeted(capabilities)
        send(HelloFrame(answer))
    }

    private func begin(_ frame: Frame, _ envelope: Envelope, _ capabilities: [Capability]) throws(WireError) {
        guard envelope.kind.mayBeSent(by: .greeted) else { return unexpected(envelope, "before register") }
        switch envelope.kind {
        case .register where seat == .reserved: refuse(endpoint.seats.refusal(of: credentials.user))
        case .register: try register(envelope, capabilities)
        case .control:
            let open = OpenControls()
            phase = .controlling(open)
            try control(envelope, frame.count, open)
        default: takeUpkeep(envelope)
        }
    }

    private func take(_ frame: Frame, _ envelope: Envelope, _ port: RelayPort) throws(WireError) {
        guard envelope.kind.mayBeSent(by: .app) else { return unexpected(envelope, "after register") }
        switch envelope.kind {
        case .message, .messageData: pass(frame, envelope, port)
        case .reply, .failure:
            if try !endpoint.pendingOffers.answered(envelope, of: port.app, by: number) { pass(frame, envelope, port) }
        case .ping, .pong, .bye: takeUpkeep(envelope)
        default:
            guard let items = endpoint.items else { return unexpected(envelope, "after register") }
            if let refusal = items.receive(envelope, from: self) { refuse(refusal) }
        }
    }

    /// Takes `ping`, `pong` or `bye`.
    private func takeUpkeep(_ envelope: Envelope) {
        switch envelope.kind {
        case .ping: send(PingFrame(envelope).answer)
        case .bye: finish(inOrder: true)
        case .pong: break
        default: unexpected(envelope, "before register")
        }
    }

    private func pass(_ frame: Frame, _ envelope: Envelope, _ port: RelayPort) {
        if let name = port.receive(frame, envelope) { refuse(port.refusal(name, of: envelope)) }
    }

    /// Whether the relay takes a frame of a registered connection without a look at the rest of the envelope.
    private func isForRelay(_ head: EnvelopeHead) -> Bool {
        switch head.kind {
        case .message, .messageData: true
        case .reply, .failure: !endpoint.pendingOffers.isOpen(head.id, to: number)
        default: false
        }
    }

    // MARK: registration

    /// Reads a registration (SES-5); one with an anchor, or with a long answer, waits for its turn (SES-93).
    private func register(_ envelope: Envelope, _ capabilities: [Capability]) throws(WireError) {
        let frame = try ApplicationFrame(envelope)
        let (app, registration) = (frame.app, try TandemSession.Registration(body: frame.body))
        let application = ConnectedApplication(
            app: app, role: endpoint.options.role, user: credentials.user, registration: registration,
            takesConfiguration: capabilities.contains(.configuration))
        // Reading an anchor may take many signatures. The registration as a whole waits for its turn, so that an
        // operator's decision about the app or its key is before it or after it. The answer tells of each pairing: with
        // a thousand of them one costs milliseconds, and a user's connections register in bursts.
        let isShort = endpoint.side.pairings.count <= Limits.pairingsReportedAtOnce
        if registration.anchor == nil, isShort { return admit(application, capabilities) }
        // It holds no bytes, so that it has room in any case (LIM-159).
        _ = inTurn(holding: 0) { [self] in admit(application, capabilities) }
    }

    /// From `register` to `registered` (SES-6): the app's owner first, then its receiver, and only then a port of the
    /// relay.
    private func admit(_ registering: ConnectedApplication, _ capabilities: [Capability]) {
        // Otherwise the app would get items, and each would use up an attempt without a handler.
        guard !endpoint.isStopping else { return refuse(.daemonStops) }
        var application = registering
        let (app, receives) = (application.app, application.registration.receives)
        let admission = endpoint.admit(self, to: app, receives: receives)
        if receives, let anchor = application.registration.anchor, !admission.isRefusal {
            application.anchor = endpoint.outlets?.readAnchor(app, anchor)
        }
        guard endpoint.mustWait(admission, for: app) else { return proceed(admission, application, capabilities) }
        phase = .registering
        channel.pauseReading()
        // Not weakly: a weak reference would make each later use of the connection slower, and it ends in any case.
        endpoint.scheduler.start { [self, application] in await claim(application, capabilities) }
    }

    private func claim(_ application: ConnectedApplication, _ capabilities: [Capability]) async {
        let admission = await endpoint.claim(
            application.app, for: self, receives: application.registration.receives)
        // Before the phase: `abandon` gives the app back.
        if case .borrowed = admission { isBorrowing = true }
        // The connection may have ended meanwhile.
        guard case .registering = phase else { return abandon(application.app) }
        channel.resumeReading()
        proceed(endpoint.isStopping ? .refused(.daemonStops) : admission, application, capabilities)
    }

    private func proceed(
        _ admission: ApplicationRegistrations.Admission, _ application: ConnectedApplication,
        _ capabilities: [Capability]
    ) {
        switch admission {
        case .owned, .new: break
        case .borrowed: isBorrowing = true
        case .unclaimed: preconditionFailure("a claim has ended")
        case .refused(let refusal):
            abandon(application.app)
            return refuse(refusal)
        }
        enter(application, capabilities)
    }

    /// Releases what an admission took: the place of the receiver, and a borrowed app.
    private func abandon(_ app: ApplicationIdentifier) {
        endpoint.release(app, from: self)
        giveBack(app)
    }

    private func giveBack(_ app: ApplicationIdentifier) {
        guard isBorrowing else { return }
        isBorrowing = false
        endpoint.registrations.giveBack(app, by: credentials.user)
    }

    private func enter(_ application: ConnectedApplication, _ capabilities: [Capability]) {
        let app = application.app
        let registration = application.registration
        // A connection that only sends does not speak for the app, and installs none that nobody owns.
        if !isBorrowing {
            endpoint.relay.install(
                app, on: endpoint.side, identifier: registration.receives ? registration.identifier : nil,
                features: registration.receives ? registration.features : nil)
        }
        let port = endpoint.relay.attach(
            self, app: app, of: credentials.user, on: endpoint.side, receives: registration.receives,
            capabilities: capabilities)
        self.port = port
        answer(application)
        // An answer that fits no frame has ended the connection, which then was never registered.
        guard self.port != nil else { return endpoint.release(app, from: self) }
        phase = registration.receives ? .receiving(application) : .registered
        endpoint.entered(application)
        let channels = Channel.forApps.intersection(capabilities.compactMap(\.channel))
        endpoint.items?.entered(self, app, receives: registration.receives, channels)
    }

    private func answer(_ application: ConnectedApplication) {
        let state = endpoint.relay.state(of: application.app, on: endpoint.side)
        owesSchema = endpoint.lacksSchema(of: application)
        do throws(WireError) {
            let frame = try state.fitted { state throws(WireError) in
                let answer = RegistrationAnswer(
                    device: endpoint.options.device, role: application.role,
                    directory: endpoint.directory(of: application.app), uid: UInt64(application.user),
                    state: state, wantsSchema: owesSchema)
                let body = answer.body(now: endpoint.scheduler.now)
                return try ApplicationFrame(.registered, application.app, body).frame()
            }
            send(frame)
        } catch {
            refuse(Refusal(.tooLarge, "\(error)"))
        }
    }

    // MARK: control requests

    /// Takes a control request (CTL-1): each is answered once under its own identifier.
    private func control(_ envelope: Envelope, _ bytes: Int, _ open: OpenControls) throws(WireError) {
        switch envelope.kind {
        case .control: break
        case .ping, .pong, .bye: return takeUpkeep(envelope)
        default: return unexpected(envelope, "on a control connection")
        }
        let frame = try ControlFrame(envelope)
        let (id, command) = (frame.id, frame.command)
        guard !open.identifiers.contains(id) else {
            return refuse(.unexpected, "a control request with this identifier is open")
        }
        guard open.identifiers.count < Self.openControlLimit else {
            let text = "\(Self.openControlLimit) requests are open on this connection"
            return answer(id, command, .failed(ControlFailure(.full, text)))
        }
        guard let body = frame.body else {
            return answer(id, command, .failed(ControlFailure(.badRequest, "'body' is not a property list")))
        }
        let caller = endpoint.registrations.caller(credentials.user)
        let request = ControlRequest(command: command, body: body, caller: caller)
        ask(request, bytes, id, open)
    }

    private func ask(_ request: ControlRequest, _ bytes: Int, _ id: UniqueIdentifier, _ open: OpenControls) {
        guard let responder = endpoint.controlResponder else {
            return answer(id, request.command, .failed(ControlFailure(.unknownCommand, "there are no commands here")))
        }
        // Before it waits: what is not carried out needs no turn.
        if let refusal = responder.refusal(of: request) { return answer(id, request.command, .failed(refusal)) }
        open.identifiers.insert(id)
        let hasRoom = inTurn(holding: bytes, isControl: true) { [self] in
            responder.respond(to: request) { [self] answer in
                guard open.identifiers.remove(id) != nil else { return }
                self.answer(id, request.command, answer)
            }
        }
        guard !hasRoom else { return }
        open.identifiers.remove(id)
        answer(id, request.command, .failed(ControlFailure(.full, "other requests of this user wait")))
    }

    private func answer(_ id: UniqueIdentifier, _ command: String, _ answer: ControlAnswer) {
        if case .closing = phase { return }
        if let frame = answer.frame(to: id, command) { return send(frame) }
        let failure = ControlAnswer.failed(ControlFailure(.full, "the answer does not fit a frame"))
        if let frame = failure.frame(to: id, command) { send(frame) }
    }
}

extension HostAppConnection: RelayEndpoint {
    var queuedBytes: Int { channel.queuedBytes }
    var isCongested: Bool { channel.isCongested }
    // The relay uses only a link's: a host app's open requests fail as 7011 whether sent or not (SES-11).
    var acceptedBytes: UInt64 { 0 }
    var departedBytes: UInt64 { 0 }

    func send(_ frame: Frame) { channel.send(frame) }

    func write(_ frames: RawSpan) { channel.write(frames) }

    /// It does not read: a refusal would only wait behind all the rest.
    func overflowed() { channel.close(.slowConsumer) }

    func pauseReading() { channel.pauseReading() }

    func resumeReading() { channel.resumeReading() }
}

extension HostAppConnection: FrameChannelDelegate {
    func channelDidOpen(_ channel: FrameChannel) {}

    func channel(_ channel: FrameChannel, didReceive frame: Frame) {
        if let port, let head = EnvelopeHead(plain: frame), isForRelay(head), port.receive(frame, head) { return }
        // Anything but a broadcast may be answered, or end the connection: the broadcasts before it go first (SES-30).
        port?.sendBroadcasts()
        let envelope: Envelope
        do throws(WireError) { envelope = try Envelope(reading: frame, of: port?.app) } catch {
            return refuse(refusal(for: error))
        }
        do throws(WireError) { try receive(frame, envelope) } catch {
            refuse(Refusal(error.refusalName, in: envelope.kind, error))
        }
    }

    func channelDidDrain(_ channel: FrameChannel) {
        port?.drained()
        endpoint.items?.drained(self)
    }

    func channel(_ channel: FrameChannel, didCloseWith reason: CloseReason) {
        leave()
        endpoint.closed(self, reason)
    }

    /// The refusal of an envelope that does not read. A malformed identifier has another name where it comes first
    /// (SES-6).
    private func refusal(for error: WireError) -> Refusal {
        guard case .greeted = phase, case .invalidValue(EnvelopeKey.app.rawValue, _) = error else {
            return Refusal(error)
        }
        return Refusal(.application, error.description)
    }
}
