// Host app (or any other peer) at the other end of a local connection, without the library's code: it sends what a test
// asks for and records each frame that arrives.

package import TandemBase
package import TandemCrypto
package import TandemDaemon
package import TandemPages
package import TandemPropertyList
import TandemReactor
package import TandemSession
package import TandemSignedConfiguration
package import TandemTestSupport
package import TandemTransport
package import TandemWire
import Testing

package final class Client: ByteStreamDelegate {
    package let stream: any ByteStream
    package private(set) var frames: [Frame] = []
    /// Whether each frame that comes is remembered.
    package var keepsFrames = true
    package private(set) var closeReasons: [CloseReason] = []
    /// Answers what comes; called for each frame after it was remembered.
    package var onFrame: ((Client, Frame, Envelope) -> Void)?
    private var decoder = FrameDecoder(limit: Limits.frame)
    /// The configurations that the daemon has offered to ``answerOffers(_:)``.
    package private(set) var offers: [ConfigurationOffer] = []
    package private(set) var reloads = 0
    /// The answer to a reload.
    package var reloadAnswer: PropertyListDictionary = ["tandem.verdict": "applied"]
    private var answer: ((ConfigurationOffer) -> OfferReply?)?
    /// The failure that is the answer to everything that the daemon offers.
    package var offerFailure: SessionError?
    /// The questions about its pages that it has got.
    package private(set) var questions: [PageQuestion] = []
    /// The person whom each of them has named.
    package private(set) var persons: [PagePerson?] = []
    /// The body of the reply to a question; nil leaves it without an answer.
    package var answerQuestion: (PageQuestion) -> PropertyListDictionary? = { _ in nil }

    package init(_ stream: any ByteStream) {
        self.stream = stream
        stream.delegate = self
        stream.start()
    }

    /// Connects to a device's local socket.
    package convenience init(to endpoint: LocalEndpoint, on scheduler: ManualScheduler, user: UInt32) {
        let (near, far) = InProcessStream.pair(on: scheduler)
        endpoint.accept(far, credentials: PeerCredentials(user: user, process: 4711))
        self.init(near)
        scheduler.run()
    }

    package func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice) {
        decoder.append(bytes)
        do {
            while let frame = try decoder.next() {
                if keepsFrames { frames.append(frame) }
                let envelope = try Envelope(reading: frame)
                onFrame?(self, frame, envelope)
                if envelope.kind == .configuration { try answer(envelope) }
            }
        } catch {
            Issue.record("the daemon sent \(error)")
        }
    }

    package func streamDidDrain(_ stream: any ByteStream) {}

    package func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason) { closeReasons.append(reason) }

    package var isClosed: Bool { !closeReasons.isEmpty }

    package func send(_ envelope: Envelope) throws { stream.send(try envelope.frame().bytes) }

    /// Sends, and lets all happen that is due then on the clock of the test.
    package func deliver(_ envelope: Envelope) throws {
        try send(envelope)
        try #require(stream.scheduler as? ManualScheduler).run()
    }

    package func disconnect() { stream.close(.closedHere) }

    // MARK: what has come

    package var envelopes: [Envelope] { frames.compactMap { try? Envelope(reading: $0) } }

    package func received(_ kind: FrameKind) -> [Envelope] { envelopes.filter { $0.kind == kind } }

    /// The name of the refusal that came, if one did.
    package var refusal: String? { received(.refusal).last?.name }

    /// The error of the only failure that came.
    package func onlyFailure() throws -> SessionError {
        let failures = received(.failure)
        try #require(failures.count == 1)
        return try SessionError(failure: failures[0])
    }

    /// The states told so far, the one in `registered` first.
    package func states(now: MonotonicTime) throws -> [SessionState] {
        try envelopes.filter { $0.kind == .registered || $0.kind == .state }.map {
            try SessionState(body: $0.dictionaryBody(), now: now)
        }
    }

    // MARK: what every host app says

    package func hello(_ capabilities: [Capability] = Capability.allCases) throws {
        var hello = Hello.offer(software: "client of a test")
        hello.capabilities = capabilities
        try send(Envelope(.hello).with(body: hello.body))
    }

    package func register(_ app: ApplicationIdentifier, _ registration: TandemSession.Registration = .init()) throws {
        try send(Envelope(.register, app: app).with(body: registration.body))
    }

    /// Asks for a control command; returns the identifier of the request.
    @discardableResult
    package func ask(_ command: String, _ body: PropertyListDictionary = [:]) throws -> UniqueIdentifier {
        let id = UniqueIdentifier.random()
        try deliver(Envelope(.control, id: id, command: command).with(body: body))
        return id
    }

    /// Answers a message.
    package func reply(to message: Envelope) throws {
        try send(Envelope(.reply, app: message.app, pairing: message.pairing, id: message.id).with(body: [:]))
    }

    /// Handles each item that comes at once.
    package func handleItems() {
        onFrame = { client, _, envelope in
            if envelope.kind == .delivery { try? client.send(envelope.verdict()) }
        }
    }

    // MARK: signed configuration

    /// Answers what the daemon offers from now on; nil leaves an offer without an answer.
    package func answerOffers(_ answer: @escaping (ConfigurationOffer) -> OfferReply?) { self.answer = answer }

    /// Judges what the daemon offers by all steps, as the library does.
    package func judgeOffers(
        to app: ApplicationIdentifier, as role: DeviceRole = .secondary, trusting signer: ConfigurationPrivateKey,
        on clock: ManualScheduler, allowsInvalidSignatures: Bool = false
    ) {
        let keys = KeySetHistory(TrustedKeySet(signer.publicKey))
        judgeOffers(to: app, as: role, on: clock, allowsInvalidSignatures: allowsInvalidSignatures) { keys }
    }

    /// The same by the chain of keys of that moment; without one an offer gets no answer.
    package func judgeOffers(
        to app: ApplicationIdentifier, as role: DeviceRole = .secondary, on clock: ManualScheduler,
        allowsInvalidSignatures: Bool = false, by keys: @escaping () -> KeySetHistory?
    ) {
        answerOffers { offer in
            keys().map {
                OfferReply(
                    judging: offer, for: app, as: role, by: $0, now: clock.wallNow,
                    allowsInvalidSignatures: allowsInvalidSignatures)
            }
        }
    }

    private func answer(_ envelope: Envelope) throws {
        if let offerFailure, let app = envelope.app, let pairing = envelope.pairing, let id = envelope.id {
            return try send(offerFailure.failure(app: app, pairing: pairing, id: id))
        }
        guard let answer else { return }
        let message = try envelope.dictionaryBody()
        var body: PropertyListDictionary?
        if let question = PageQuestion(message) {
            questions.append(question)
            persons.append(PagePerson(message))
            body = answerQuestion(question)
        } else if ConfigurationOffer.isReload(message) {
            reloads += 1
            body = reloadAnswer
        } else {
            let offer = try ConfigurationOffer(message)
            offers.append(offer)
            body = answer(offer)?.message
        }
        guard let body else { return }
        try send(Envelope(.reply, app: envelope.app, pairing: envelope.pairing, id: envelope.id).with(body: body))
    }
}

extension OfferReply {
    /// The library's answer to an offer, by all steps.
    package init(
        judging offer: ConfigurationOffer, for app: ApplicationIdentifier, as role: DeviceRole, by keys: KeySetHistory,
        now: WallTime, allowsInvalidSignatures: Bool = false
    ) {
        let context = VerificationContext(
            profile: .full, application: app, role: role, anchor: .trusted(keys), target: offer.target,
            device: offer.device, now: now, allowsInvalidSignatures: allowsInvalidSignatures)
        do throws(VerificationFailure) {
            self = OfferReply(applied: try ApplicableConfiguration(verifying: offer.envelope, in: context).verified)
        } catch {
            self = OfferReply(error, of: offer.envelope)
        }
    }
}

extension LocalEndpoint {
    /// A client that has exchanged hellos.
    package func greet(
        _ capabilities: [Capability] = Capability.allCases, on scheduler: ManualScheduler, user: UInt32
    ) throws -> Client {
        let client = Client(to: self, on: scheduler, user: user)
        try client.hello(capabilities)
        scheduler.run()
        try #require(client.received(.hello).count == 1)
        return client
    }

    /// A client that has asked to register an app; it may be refused.
    package func register(
        _ name: String = "com.example.app", _ registration: TandemSession.Registration = .init(),
        capabilities: [Capability] = Capability.allCases, on scheduler: ManualScheduler, user: UInt32
    ) throws -> Client {
        let client = try greet(capabilities, on: scheduler, user: user)
        try client.register(try ApplicationIdentifier(name), registration)
        scheduler.run()
        return client
    }

    /// A registered app.
    package func app(
        _ name: String, _ registration: TandemSession.Registration,
        capabilities: [Capability] = Capability.allCases, on scheduler: ManualScheduler, user: UInt32
    ) throws -> Client {
        let client = try register(name, registration, capabilities: capabilities, on: scheduler, user: user)
        try #require(client.received(.registered).count == 1)
        return client
    }
}

extension Envelope {
    /// Fills a key that nobody reads until the frame has this many bytes.
    package mutating func pad(to count: Int) throws {
        var room = count - 1024
        for _ in 0..<2 {
            extensions = ["x-padding": .data([UInt8](repeating: 7, count: room))]
            room += count - (try frame().count)
        }
        #expect(try frame().count == count)
    }
}

/// Without children, as ``TwoNodes``.
extension Client: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: []) }
}
