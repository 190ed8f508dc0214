// The library against any bytes of its daemon: a real session, with a WCSession and its delegate, beside a daemon that
// sends what it is given. Whatever that is, the session neither traps nor falls silent: it answers the next well-formed
// message, or leaves the daemon, comes back, and answers then. Each call of the app completes once, and whatever the
// session sends is well formed.

import Foundation
import PairedSession
import PairedSessionFoundation
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire

/// One session and its hostile daemon; confined to one thread.
final class SessionOracle {
    /// A broken promise, for people.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private let scheduler: ManualScheduler
    private let daemon: HostileDaemon
    private let session: PairedSession
    private let named: WCSession
    private let delegate = AnsweringDelegate()
    private let calls = CallCount()

    init(on scheduler: ManualScheduler = ManualScheduler()) throws {
        self.scheduler = scheduler
        daemon = HostileDaemon(scheduler, try DaemonFrames.Facts())
        var options = PairedSessionOptions(application: "com.example.app")
        // Thousands of connections end by a fault here, each a line of the report.
        options.onMissingDaemon = nil
        let settings = try SessionSettings(options, environment: { _ in nil })
        // Used on the manual scheduler's thread only, as the session is.
        nonisolated(unsafe) let dialer: any Dialer = daemon
        session = PairedSession(settings, on: scheduler, dialer: dialer)
        named = WCSession(over: session)
        named.delegate = delegate
        session.core.run { core in
            core.draw { 7 }
            core.observeTransfers { _ in }
        }
        session.observeIncomingFiles { _ in }
        named.activate()
        settle()
        guard named.activationState == .activated else { throw Fault(description: "the session was not activated") }
    }

    /// Sends the bytes while calls of every kind wait for their answers.
    /// - Throws: what is wrong after them.
    func check(_ bytes: [UInt8]) throws {
        begin()
        daemon.send(filled(bytes))
        settle()
        try look()
        if try isAnswering() { return }
        // It may wait for the rest of a frame, or for its next attempt: but not for ever.
        for _ in 0..<120 {
            scheduler.advance(by: .seconds(1))
            settle()
            if try isAnswering() { return }
            // After some refusals it is the app that has to ask.
            named.activate()
        }
        throw Fault(description: "the session neither answers nor comes back")
    }

    /// Ends the session.
    /// - Throws: if a call of the app has not completed once.
    func finish() throws {
        // Beyond the deadlines of all requests.
        for _ in 0..<4 {
            scheduler.advance(by: .seconds(10))
            settle()
        }
        session.end {}
        settle()
        scheduler.advance(by: .seconds(10))
        daemon.stop()
        settle()
        guard calls.isEven else { throw Fault(description: "of \(calls)") }
    }

    // MARK: the app

    /// Calls of each kind, whose identifiers the daemon then knows.
    private func begin() {
        daemon.isQuiet = true
        let (message, item) = (OutgoingContent(["q": 1]), OutgoingContent(["n": 1]))
        session.core.run { [calls] core in
            core.request(message, reply: calls.began())
            core.note(message, given: calls.began(), laterFailure: { _ in })
            core.broadcast(message, laterFailure: { _, _ in }, completion: calls.began())
            core.transfer(Submission(.userInfo, to: nil, item), accepted: calls.began())
            core.submit(Submission(.context, to: nil, item), accepted: calls.began())
            core.outstanding(.userInfo, to: nil, then: calls.began())
            core.ask(.budget, pairing: nil, channel: .urgent, then: calls.began())
        }
        settle()
        daemon.isQuiet = false
    }

    /// Reads as an app may at any time.
    private func look() throws {
        if let fault = daemon.fault { throw Fault(description: fault) }
        _ = (session.pairedDevices, session.reachability, session.receivedApplicationContext, session.statistics)
        _ = (named.receivedApplicationContext, named.applicationContext, named.outstandingUserInfoTransfers)
        _ = (named.outstandingFileTransfers, named.isPaired, named.watchDirectoryURL, named.hasContentPending)
    }

    private func isAnswering() throws -> Bool {
        let id = daemon.ask()
        settle()
        try look()
        return daemon.answered.contains(id)
    }

    private func settle() {
        for _ in 0..<3 {
            scheduler.run()
            named.callbacks.sync {}
        }
        scheduler.run()
    }

    /// The bytes with the identifiers that the app has sent in place of their placeholders.
    private func filled(_ bytes: [UInt8]) -> [UInt8] {
        let known = daemon.identifiers
        guard !known.isEmpty else { return bytes }
        var (filled, start) = (bytes, 0)
        while start + 16 <= filled.count {
            let (byte, end) = (filled[start], start + 16)
            let number = Int(byte) - Int(DaemonFrames.firstPlaceholder)
            guard number >= 0, filled[start..<end].allSatisfy({ $0 == byte }) else {
                start += 1
                continue
            }
            filled.replaceSubrange(start..<end, with: known[number % known.count].bytes)
            start = end
        }
        return filled
    }
}

/// Answers messages, and activates its session again after a switch.
private final class AnsweringDelegate: WCSessionDelegate {
    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
    }
    func sessionDidDeactivate(_ session: WCSession) { session.activate() }
    func session(_ session: WCSession, didReceiveMessage message: [String: Any]) {}

    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping @Sendable ([String: Any]) -> Void
    ) { replyHandler(message.filter { !$0.key.hasPrefix("tandem.") }) }

    func session(_ session: WCSession, didReceiveMessageData messageData: Data) {}

    func session(
        _ session: WCSession, didReceiveMessageData messageData: Data, replyHandler: @escaping @Sendable (Data) -> Void
    ) { replyHandler(messageData) }

    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {}
    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any]) {}
    func session(_ session: WCSession, didReceive file: WCSessionFile) {}
}

/// Calls and their completions.
///
/// `@unchecked`: used on the manual scheduler's thread only.
private final class CallCount: CustomStringConvertible, @unchecked Sendable {
    private var begun = 0
    private var completed = 0
    private var twice = 0

    /// The completion of one more call.
    func began<Value>() -> Completion<Value> {
        begun += 1
        var isCompleted = false
        return { [self] _ in
            if isCompleted { twice += 1 } else { completed += 1 }
            isCompleted = true
        }
    }

    var isEven: Bool { begun == completed && twice == 0 }

    var description: String { "\(begun) calls \(completed) have completed, and \(twice) twice" }
}

/// A daemon that greets and registers the app, answers what it asks for at its activation, and sends any bytes.
private final class HostileDaemon: Dialer, ByteStreamDelegate {
    private let scheduler: ManualScheduler
    let facts: DaemonFrames.Facts
    /// Queries stay without an answer.
    var isQuiet = false
    /// The first fault in the app's own frames.
    private(set) var fault: String?
    /// Of the messages of ``ask()``.
    private(set) var answered: Set<UniqueIdentifier> = []
    /// Those that the app has sent last.
    private(set) var identifiers: [UniqueIdentifier] = []
    private var stream: InProcessStream?
    private var decoder = FrameDecoder(limit: Limits.frame)
    private var questions: UInt8 = 0

    init(_ scheduler: ManualScheduler, _ facts: DaemonFrames.Facts) {
        self.scheduler = scheduler
        self.facts = facts
    }

    func dial(_ completion: @escaping ((any ByteStream)?) -> Void) {
        let (own, other) = InProcessStream.pair(on: scheduler)
        stream?.close(.closedHere)
        (stream, decoder) = (other, FrameDecoder(limit: Limits.frame))
        other.delegate = self
        other.start()
        scheduler.schedule(after: .zero) { completion(own) }
    }

    func cancel() {}

    func stop() { stream?.close(.closedHere) }

    func send(_ bytes: [UInt8]) { stream?.send(bytes) }

    private func send(_ frame: some TypedFrame) throws { stream?.send(try frame.frame().bytes) }

    /// Sends a well-formed message; its identifier.
    func ask() -> UniqueIdentifier {
        questions &+= 1
        let id = UniqueIdentifier(bytes: [0xAA, questions] + Array(repeating: 0xAA, count: 14)) ?? .zero
        answered.remove(id)
        let question = Envelope(.message, app: facts.app, pairing: facts.pairings[0], id: id, reply: true)
        if let question = try? question.with(body: ["well": "formed"]) { try? send(question) }
        return id
    }

    // MARK: the app's frames

    func streamDidDrain(_ stream: any ByteStream) {}

    func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason) {
        if stream === self.stream { self.stream = nil }
    }

    func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice) {
        guard stream === self.stream else { return }
        decoder.append(bytes)
        do {
            while let frame = try decoder.next() { try received(Envelope(reading: frame)) }
        } catch {
            fault = fault ?? "the session sent \(error)"
        }
    }

    private func received(_ envelope: Envelope) throws {
        let kind = envelope.kind
        if ![FrameSender.stranger, .greeted, .app].contains(where: kind.mayBeSent) {
            fault = fault ?? "the session sent \(kind)"
        }
        switch kind {
        case .hello:
            try send(HelloFrame(Hello(.chosen(.first), software: "hostile", role: .primary, device: facts.device)))
        case .register:
            _ = try TandemSession.Registration(body: envelope.dictionaryBody())
            let state = SessionState(revision: 1, active: facts.pairings[0], pairings: facts.pairings.map(entry))
            let answer = RegistrationAnswer(
                device: facts.device, role: .primary, directory: "/apps/x", uid: 1, state: state)
            try send(ApplicationFrame(.registered, facts.app, answer.body(now: scheduler.now)))
        case .ping:
            note(envelope.id)
            if !isQuiet { try send(PingFrame(envelope).answer) }
        case .query:
            let query = try QueryFrame(envelope)
            note(query.id)
            let empty = OutstandingPage(items: [], more: nil)
            if !isQuiet { try send(AnswerFrame(to: (query.id, query.app, query.command), body: empty.body)) }
        case .reply, .failure: if let id = envelope.id { answered.insert(id) }
        case .message, .messageData, .submit: note(envelope.id)
        default: break
        }
    }

    private func note(_ id: UniqueIdentifier?) {
        identifiers = (identifiers + [id].compactMap(\.self)).suffix(DaemonFrames.placeholders)
    }

    private func entry(_ pairing: UniqueIdentifier) -> PairingState {
        PairingState(
            pairing: pairing, peer: facts.device, name: "panel", role: .primary, target: .vendor(facts.device),
            isInstalled: true, level: .immediate, reason: .none, since: scheduler.now)
    }
}
