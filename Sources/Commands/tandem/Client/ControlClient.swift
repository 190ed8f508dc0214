// Control client: one request to a running daemon (Protocol/Control.md), as connect, hello, request, result. It runs
// its own loop on the calling thread under a deadline, so that a daemon that hangs cannot hang a shell.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemTransport
import TandemWire

/// A connection for control requests; used on one thread.
final class ControlClient {
    /// Beyond what the request itself may take: for connecting, hello, and the daemon's own turn.
    private static let patience = Duration.seconds(15)

    /// A signal came before the answer.
    struct Interruption: Error {}

    private let loop: EventLoop
    private let path: String
    private var channel: FrameChannel?
    private var isGreeted = false
    private var answer: Result<PropertyListDictionary, CommandFailure>?
    private var request: ControlFrame?

    /// A client of the daemon whose local socket is at `path`.
    init(path: String) throws {
        self.path = path
        loop = try EventLoop()
    }

    /// Sends one command and waits for its result.
    /// - Parameters:
    ///   - time: how long the command itself may take in the daemon.
    ///   - isInterruptible: whether a signal ends it with ``Interruption``; the process is prepared for that.
    func ask(
        _ command: ControlName, _ body: PropertyListDictionary = [:], time: Duration = .zero,
        isInterruptible: Bool = false
    ) throws -> PropertyListDictionary {
        var isInterrupted = false
        let signals = isInterruptible ? try SignalSource(loop: loop) { _ in isInterrupted = true } : nil
        defer { signals?.cancel() }
        request = ControlFrame(command, id: .random(), body: body)
        connect(to: try SocketAddress.unix(checking: path))
        _ = loop.schedule(after: Self.patience + time) { [self] in
            finish(.unanswered("\(path): the daemon does not answer"))
        }
        loop.run { answer != nil || isInterrupted }
        channel?.close()
        if isInterrupted, answer == nil { throw Interruption() }
        guard let answer else { throw CommandFailure.unanswered("\(path): no answer") }
        return try answer.get()
    }

    private func connect(to address: SocketAddress) {
        StreamConnector(to: address, loop: loop) { [self] outcome in
            switch outcome {
            case .success(let stream): begin(FrameChannel(stream: stream))
            case .failure(let error): finish(.unanswered("no daemon answers: \(error)"))
            }
        }
    }

    private func begin(_ channel: FrameChannel) {
        self.channel = channel
        channel.delegate = self
        channel.start()
    }

    private func finish(_ failure: CommandFailure) { if answer == nil { answer = .failure(failure) } }

    private func received(_ envelope: Envelope) throws {
        switch envelope.kind {
        case .hello where !isGreeted:
            isGreeted = true
            if let request { channel?.send(try request.frame()) }
        case .result:
            let frame = try ResultFrame(envelope)
            if frame.id == request?.id { answer = result(frame) }
        case .ping: channel?.send(try PingFrame(envelope).answer.frame())
        case .refusal:
            let refusal = try Refusal(envelope)
            let text = explanation(refusal.word, refusal.text)
            finish(.refused("\(path): the daemon refused the connection: \(text)"))
        case .bye: finish(.refused("\(path): the daemon is stopping"))
        default: break
        }
    }

    private func result(_ frame: ResultFrame) -> Result<PropertyListDictionary, CommandFailure> {
        let body = frame.body ?? [:]
        guard frame.code == 0 else {
            return .failure(.refused(explanation(frame.name ?? "failed", body[BodyKey.text]?.stringValue ?? "")))
        }
        return .success(body)
    }

    /// `text [name]` of a refusal or a failed result.
    private func explanation(_ name: String, _ text: String) -> String {
        text.isEmpty ? name : "\(Printable.text(text)) [\(name)]"
    }
}

extension ControlClient: FrameChannelDelegate {
    func channelDidOpen(_ channel: FrameChannel) {
        let hello = Hello.offer(software: "tandem \(Version.text)")
        do { channel.send(try HelloFrame(hello).frame()) } catch {
            finish(.refused("\(error)"))
        }
    }

    func channel(_ channel: FrameChannel, didReceive frame: Frame) {
        do { try received(Envelope(reading: frame)) } catch {
            finish(.refused("\(path): what answers there is no Tandem daemon: \(error)"))
        }
    }

    func channelDidDrain(_ channel: FrameChannel) {}

    func channel(_ channel: FrameChannel, didCloseWith reason: CloseReason) {
        finish(.refused("\(path): the daemon closed the connection (\(reason))"))
    }
}

extension Arguments {
    /// Asks the daemon that `--device` names, or the one that is right for the command.
    func ask(
        _ command: ControlName, _ body: PropertyListDictionary = [:], of role: DeviceRole? = nil, time: Duration = .zero
    ) throws -> PropertyListDictionary {
        let path = try DaemonChoice(device: value("device"), role: role).path()
        return try ControlClient(path: path).ask(command, body, time: time)
    }

    /// The application identifier that `--app` names.
    func application() throws -> ApplicationIdentifier { try ApplicationIdentifier(try required("app")) }

    /// The role that `--role` names.
    func role() throws(CommandFailure) -> DeviceRole {
        let word = try required("role")
        guard let role = DeviceRole(rawValue: word) else {
            throw .usage("--role '\(word)' is neither primary nor secondary")
        }
        return role
    }
}

extension Arguments {
    /// The pairing that the first operand names.
    func pairing() throws(CommandFailure) -> UniqueIdentifier {
        try UniqueIdentifier(argument: operands[0], "is not a pairing's UUID; 'tandem status' shows them")
    }

    /// The body of a request about the pairing that the first operand names, by its UUID or its device's name.
    var pairingOrName: PropertyListDictionary {
        UniqueIdentifier(text: operands[0]).map { ["pairing": .data($0.bytes)] } ?? ["who": .string(operands[0])]
    }
}

extension UniqueIdentifier {
    /// Reads an argument.
    /// - Parameters:
    ///   - problem: the end of the sentence that begins with the argument.
    ///   - option: the option whose value it is.
    init(argument text: String, _ problem: String, of option: String = "") throws(CommandFailure) {
        guard let identifier = UniqueIdentifier(text: text) else { throw .usage("\(option)'\(text)' \(problem)") }
        self = identifier
    }
}
