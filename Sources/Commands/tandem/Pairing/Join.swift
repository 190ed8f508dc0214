// `join`: pairs the running secondary, or its state while none runs, with the primary that made the link. The link
// comes from standard input or from a private file: an argument would be visible to other users and stay in the shell's
// history.

import Glibc
import TandemBase
import TandemControl
import TandemDaemon
import TandemOperations
import TandemPropertyList
import TandemReactor
import TandemTransport
import TandemWire

extension Subcommand {
    static let join = Subcommand(
        path: ["join"], summary: "pair a secondary with the primary that made a join link",
        options: [
            .device, .valued("file", "FILE", "read the link from this file (mode 0600)"),
            .valued("state", "DIR", "no daemon runs: join in this state directory"),
            .valued("name", "NAME", "with --state: the device's name (default: the host's name)"),
            .flag("replace", "drop what waits for a pairing that the primary has ended"), .json,
        ],
        notes: """
            Without --file the link is read from standard input; the whole output of 'tandem pair' will do. If no secondary
            runs, the pairing is stored in the state directory that --state names, or in the usual one if it exists, and
            becomes active at its next start. A device that joins again keeps its pairing, with all that waits in it, and takes
            the link's address; if the primary has ended the pairing, the answer says what would be lost, and --replace drops it.
            """,
        examples: [
            "join", "join --file link.txt", "join --device ./kiosk.sock < link.txt", "join --state kiosk < link.txt",
        ]
    ) { arguments, console in
        let link = try JoinInput.link(file: arguments.value("file"), console)
        let body: PropertyListDictionary = ["link": .string(link), "replace": .boolean(arguments.has("replace"))]
        let answer = Fact(
            try OfflineJoin.isWanted(arguments)
                ? try OfflineJoin.join(body, arguments)
                : try arguments.ask(.join, body, of: .secondary, time: .seconds(45)))
        if arguments.has("json") { return console.print(json: answer) }
        console.print("paired with \(answer.text("name"))  \(answer.text("peer"))")
        console.print("pairing     \(answer.text("pairing"))")
    }
}

private enum JoinInput {
    /// More than a link and a QR code around it.
    private static let largest = 65_536

    static func link(file: String?, _ console: Console) throws -> String {
        let bytes = try file.map { try LocalFile(path: $0).readPrivate() } ?? standardInput(console)
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard let link = words.first(where: { $0.hasPrefix("tandem:join/") }) else {
            throw CommandFailure.refused(
                "there is no join link in \(file ?? "standard input"); 'tandem pair' makes one")
        }
        return String(link)
    }

    /// A person's input ends with the line of the link; a pipe's with its end.
    private static func standardInput(_ console: Console) -> [UInt8] {
        let isPerson = isatty(STDIN_FILENO) == 1
        if isPerson { console.warn("Paste the join link and press Enter:") }
        var bytes: [UInt8] = []
        while bytes.count < largest, let line = readLine(strippingNewline: false) {
            bytes += Array(line.utf8)
            if isPerson, line.contains("tandem:join/") { break }
        }
        return bytes
    }
}

enum OfflineJoin {
    /// Whether the state is to be opened here: it is named, or nothing names a daemon, none runs, and a device has its
    /// state in the usual place. A new one would be a second device beside a daemon that listens elsewhere.
    static func isWanted(_ arguments: Arguments) throws -> Bool {
        if arguments.has("state") { return true }
        let environment = Environment()
        guard !arguments.has("device"), try environment.value("TANDEM_SOCKET") == nil else { return false }
        if try LocalSockets.candidates(for: .secondary, environment).contains(where: SocketAddress.isServed) {
            return false
        }
        let settings = try DaemonSettings(arguments, environment)
        guard let usual = try DaemonOptions(role: .secondary, settings: settings).knownState() else { return false }
        return access(usual, F_OK) == 0
    }

    /// Joins with the body of the control command `join`, and returns its answer.
    static func join(_ body: PropertyListDictionary, _ arguments: Arguments) throws -> PropertyListDictionary {
        try ProcessSignal.prepareProcess()
        try Linux.closeToOthers()
        let settings = try DaemonSettings(arguments, Environment())
        let options = try DaemonOptions(role: .secondary, settings: settings).withoutSockets()
        let loop = try EventLoop()
        let log = LogSink(lending: STDERR_FILENO, threshold: .error)
        let node = try Node(options, software: Version.text, loop: loop, log: log.handler)
        let caller = Caller(geteuid(), isOperator: true)
        let request = ControlRequest(command: ControlName.join.rawValue, body: body, caller: caller)
        let signals = try SignalSource(loop: loop) { signal in
            if signal != .hangUp { node.stop { loop.stop() } }
        }
        defer { signals.cancel() }
        var answer: ControlAnswer?
        node.respond(to: request) { result in
            answer = result
            node.stop { loop.stop() }
        }
        loop.run()
        guard let answer else { throw CommandFailure.refused("the join was ended; it may be stored") }
        // As a daemon refuses it: a program has the same object (CTL-67).
        if let name = answer.name {
            throw ControlError.refused(name: name, text: answer.body["text"]?.stringValue ?? "")
        }
        return answer.body
    }
}
