// `send`: one message to the counterpart app. It ends with the reply or with a numbered error.

import PairedSession
import TandemBase
import TandemControl
import TandemOperations
import TandemPropertyList

extension Subcommand {
    static let send = Subcommand(
        path: ["send"], summary: "send a message, a queued item or a file to an app's counterpart",
        operands: [.optional("JSON")],
        options: [
            .device, .application.required,
            .valued("topic", "TOPIC", "which of the counterpart's handlers is meant"),
            .valued("timeout", "TIME", "how long to wait for the reply (default 30s), or with --wait for that"),
            .flag("no-reply", "do not wait for a reply"),
            .flag("all", "send to the counterparts on all paired devices, without replies; one line for each device"),
            MessageText.option,
        ] + QueuedSend.options + SendFile.options,
        notes: """
            A message is answered, or fails, at once: its reply is printed. With --queue the item is durable when its
            identifier is printed, and is delivered once, in order, when the counterpart is there. JSON is one object.
            Data is {"$data": base64url}, a date {"$date": milliseconds since 1970}. '-' is standard input: for content
            that is long, or secret, because arguments are visible to other users. The app must be registered on both
            devices: 'tandem receive' is one. With --all exit code 0 means that the message has left for every paired
            device.
            """,
        examples: [
            "send --app org.example.lamp '{\"on\":true}'",
            "send --app org.example.lamp --device secondary --timeout 5s '{\"on\":true}'",
            "send --app org.example.lamp --topic scene '{\"name\":\"evening\"}'",
            "send --app org.example.lamp --all '{\"on\":false}'",
            "send --app org.example.lamp --queue --wait stored --ttl 1h '{\"log\":17}'",
            "send --app org.example.lamp - < large.json",
            "send --app org.example.lamp --file photo.jpg --metadata '{\"album\":7}'",
        ]
    ) { arguments, console in
        let file = try SendFile(arguments)
        let topic = arguments.value("topic")
        let message = file == nil ? try MessageText.content(arguments) : [:]
        let timeout = try arguments.duration("timeout") ?? PairedSession.standardTimeout
        let queued = file == nil ? try QueuedSend(message, arguments) : nil
        let session = try arguments.session(receives: false)
        try await session.activate(timeout: HostSession.patience)
        if let file {
            try await file.run(session, console)
        } else if let queued {
            try await queued.run(session, console)
        } else if arguments.has("all") {
            try await broadcast(message, topic, session, console)
        } else if arguments.has("no-reply") {
            try await session.sendMessageWithoutReply(message, topic: topic)
        } else {
            let reply = try await session.sendMessage(message, topic: topic, timeout: timeout)
            console.print(json: .dictionary(reply))
        }
        await session.end()
    }

    /// Prints a line for each device, also for one that is away.
    private static func broadcast(
        _ message: PropertyListDictionary, _ topic: String?, _ session: PairedSession, _ console: Console
    ) async throws {
        let outcomes = try await session.broadcast(message, topic: topic)
        let names = [UniqueIdentifier: String](
            session.pairedDevices.map { ($0.pairing, $0.name) }, uniquingKeysWith: { first, _ in first })
        let report = BroadcastReport(
            outcomes.map { outcome in
                let failure = outcome.failure.map { "\($0)" }
                return BroadcastReport.Row(device: names[outcome.pairing] ?? "\(outcome.pairing)", failure: failure)
            })
        for line in report.lines { console.print(json: .dictionary(line)) }
        try report.check()
    }
}

/// For which devices a message to all of them has left.
struct BroadcastReport {
    /// One paired device, and why the message has not left for it.
    struct Row {
        let device: String
        let failure: String?
    }

    private let rows: [Row]

    init(_ rows: [Row]) { self.rows = rows }

    var lines: [PropertyListDictionary] {
        rows.map { row in
            var line: PropertyListDictionary = ["sent": .boolean(row.failure == nil), "device": .string(row.device)]
            line["error"] = row.failure.map { .string($0) }
            return line
        }
    }

    /// Fails unless it has left for every paired device, as `apply` fails unless every secondary has applied (CTL-73).
    func check() throws(CommandFailure) {
        guard !rows.isEmpty else { throw .refused("no paired device; pair one first") }
        let failed = rows.filter { $0.failure != nil }
        guard !failed.isEmpty else { return }
        let names = failed.map { Printable.text($0.device) }.joined(separator: ", ")
        throw .refused("the message has not left for \(failed.count) of \(rows.count) paired devices (\(names))")
    }
}

/// Messages as people write them.
enum MessageText {
    static let option = Option.valued("values", "FILE", "the JSON from a file, in place of the operand")

    /// The object that the operand, standard input or a file has.
    static func content(_ arguments: Arguments) throws -> PropertyListDictionary {
        let operand = arguments.operands.first
        if let path = arguments.value("values") {
            guard operand == nil else { throw CommandFailure.usage("--values and the operand JSON do not go together") }
            return try ValuesInput.file(path)
        }
        guard let operand else {
            throw CommandFailure.usage("JSON is missing: an object, '-' for standard input, or --values FILE")
        }
        guard operand == "-" else { return try dictionary(operand) }
        return try ValuesInput.object(LocalFile.standardInput(), of: "standard input")
    }

    /// - Parameter place: the option whose value it is.
    static func dictionary(_ text: String, of place: String = "it") throws(CommandFailure) -> PropertyListDictionary {
        let form = place + #" must be one JSON object such as {"on":true}"#
        let value: PropertyListValue
        do { value = try JSONReader.read(text) } catch { throw .usage("\(form); \(error)") }
        guard let dictionary = value.dictionaryValue else { throw .usage(form) }
        return dictionary
    }
}
