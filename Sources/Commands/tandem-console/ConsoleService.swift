// Composition of the console: the web server, the state machine that answers, and requests to the daemon.

import TandemConsole
import TandemControl
import TandemCrypto
import TandemReactor
import TandemTransport

/// A running console; confined to its loop's thread.
final class ConsoleService {
    private let loop: EventLoop
    private let daemon: DaemonPort
    private let streams: LiveStreams
    private let address: String
    private let print: (String) -> Void
    private let warn: (String) -> Void
    private var refusedUsers = RefusedUsers()
    private var console: Console
    private var server: WebServer?

    /// Serves at once.
    /// - Parameters:
    ///   - warn: takes lines about what was refused.
    ///   - print: takes the lines for the person who started it.
    init(
        _ options: ConsoleOptions, loop: EventLoop, warn: @escaping (String) -> Void,
        print: @escaping (String) -> Void
    ) throws {
        self.loop = loop
        self.warn = warn
        self.print = print
        daemon = DaemonPort(path: options.daemon, loop: loop)
        streams = LiveStreams(daemon: daemon, loop: loop)
        let socket = try BoundSocket.bind(to: options.address, access: .owner)
        let bound = socket.address
        let hosts = options.hosts(at: bound)
        address = "\(options.scheme)://\(hosts[0])"
        let port = if case .tcp(_, let port) = bound { "\(port)" } else { "local" }
        console = Console(
            scheme: options.scheme, hosts: hosts, cookie: "tandem-\(port)", random: SecureRandom.bytes)
        server = try WebServer(
            on: socket, identity: options.identity, loop: loop,
            refusal: { [unowned self] in console.refusal(of: $0) },
            handler: { [unowned self] in take($0) }, hangsUp: { [unowned self] in report($0) })
        printAddress()
    }

    /// Ends all connections.
    func stop() {
        streams.stop()
        server?.stop()
        server = nil
    }

    private func printAddress() { print("\(address)/#\(console.entryToken)") }

    private func report(_ user: UInt32) {
        if let line = refusedUsers.line(about: user, own: Linux.user) { warn(line) }
    }

    private func take(_ exchange: WebExchange) {
        follow(console.answer(to: exchange.request, now: loop.now), exchange)
    }

    private func follow(_ step: ConsoleStep, _ exchange: WebExchange) {
        switch step {
        case .answer(let answer): exchange.answer(answer)
        case .welcome(let answer):
            exchange.answer(answer)
            printAddress()
        case .ask(let questions, let then):
            daemon.ask(questions) { [self] replies in follow(then(replies), exchange) }
        case .stream(let instance, let mark):
            guard streams.hasRoom else {
                return exchange.answer(WebAnswer(503, "too many pages are open\n"))
            }
            exchange.answer(with: streams.open(instance, mark: mark))
        }
    }
}

/// The way to the daemon: requests in turn, each over a connection of its own and under a deadline.
final class DaemonPort {
    private let path: String
    private let loop: EventLoop
    private lazy var line = QuestionLine { [unowned self] question, completion in ask(question, completion) }

    init(path: String, loop: EventLoop) {
        self.path = path
        self.loop = loop
    }

    /// Asks one; the caller may cancel it.
    @discardableResult
    func ask(_ question: ConsoleQuestion, _ completion: @escaping (ConsoleReply) -> Void) -> ControlExchange {
        ControlExchange(
            question.command, question.body, time: question.time, path: path,
            software: "tandem-console \(Version.text)", loop: loop, completion: completion)
    }

    /// Asks all when their turn comes; calls back with their answers in their order.
    func ask(_ questions: [ConsoleQuestion], _ completion: @escaping ([ConsoleReply]) -> Void) {
        line.ask(questions, completion)
    }
}
