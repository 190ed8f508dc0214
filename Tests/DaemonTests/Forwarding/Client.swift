// A host app (or anybody else) at the other end of a local connection, without any of the library's code: it sends what
// a test says and remembers each frame that comes.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTransport
import TandemWire
import Testing

final class Client: ByteStreamDelegate {
    let stream: any ByteStream
    private(set) var frames: [Frame] = []
    private(set) var closeReasons: [CloseReason] = []
    /// Answers what comes; called for each frame after it was remembered.
    var onFrame: ((Client, Frame, Envelope) -> Void)?
    private var decoder = FrameDecoder(limit: Limits.frame)

    init(_ stream: any ByteStream) {
        self.stream = stream
        stream.delegate = self
        stream.start()
    }

    func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice) {
        decoder.append(bytes)
        do {
            while let frame = try decoder.next() {
                frames.append(frame)
                onFrame?(self, frame, try Envelope(reading: frame))
            }
        } catch {
            Issue.record("the daemon sent \(error)")
        }
    }

    func streamDidDrain(_ stream: any ByteStream) {}

    func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason) { closeReasons.append(reason) }

    var isClosed: Bool { !closeReasons.isEmpty }

    func send(_ envelope: Envelope) throws { stream.send(try envelope.frame().bytes) }

    func disconnect() { stream.close(.closedHere) }

    // MARK: what has come

    var envelopes: [Envelope] { frames.compactMap { try? Envelope(reading: $0) } }

    func received(_ kind: FrameKind) -> [Envelope] { envelopes.filter { $0.kind == kind } }

    /// The name of the refusal that came, if one did.
    var refusal: String? { received(.refusal).last?.name }

    /// The error of the only failure that came.
    func onlyFailure() throws -> SessionError {
        let failures = received(.failure)
        try #require(failures.count == 1)
        return try SessionError(failure: failures[0])
    }

    /// The states told so far, the one in `registered` first.
    func states(now: MonotonicTime) throws -> [SessionState] {
        try envelopes.filter { $0.kind == .registered || $0.kind == .state }.map {
            try SessionState(body: $0.dictionaryBody(), now: now)
        }
    }

    // MARK: what every host app says

    func hello(_ capabilities: [Capability] = Capability.allCases) throws {
        var hello = Hello.offer(software: "client of a test")
        hello.capabilities = capabilities
        try send(Envelope(.hello).with(body: hello.body))
    }

    func register(_ app: ApplicationIdentifier, _ registration: TandemSession.Registration = .init()) throws {
        try send(Envelope(.register, app: app).with(body: registration.body))
    }
}
