// `send`: one message to the counterpart app. It ends with the reply or with a numbered error.

import PairedSession
import TandemBase
import TandemControl
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
        ] + QueuedSend.options + SendFile.options,
        notes: """
            A message is answered, or fails, at once: its reply is printed. With --queue the item is durable when its
            identifier is printed, and is delivered once, in order, when the counterpart is there. JSON is one object.
            Data is {"$data": base64url}, a date {"$date": milliseconds since 1970}. The app must be registered on both
            devices: 'tandem receive' is one.
            """,
        examples: [
            "send --app org.example.lamp '{\"on\":true}'",
            "send --app org.example.lamp --device secondary --timeout 5s '{\"on\":true}'",
            "send --app org.example.lamp --topic scene '{\"name\":\"evening\"}'",
            "send --app org.example.lamp --all '{\"on\":false}'",
            "send --app org.example.lamp --queue --wait stored --ttl 1h '{\"log\":17}'",
            "send --app org.example.lamp --file photo.jpg --metadata '{\"album\":7}'",
        ]
    ) { arguments, console in
        let file = try SendFile(arguments)
        let topic = arguments.value("topic")
        let message = file == nil ? try MessageText.operand(arguments) : [:]
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

    /// Fails only if it left for no device; the line of a device that is away says so.
    private static func broadcast(
        _ message: PropertyListDictionary, _ topic: String?, _ session: PairedSession, _ console: Console
    ) async throws {
        let outcomes = try await session.broadcast(message, topic: topic)
        let names = [UniqueIdentifier: String](
            session.pairedDevices.map { ($0.pairing, $0.name) }, uniquingKeysWith: { first, _ in first })
        for outcome in outcomes {
            var line: PropertyListDictionary = ["sent": .boolean(outcome.failure == nil)]
            line["device"] = .string(names[outcome.pairing] ?? "\(outcome.pairing)")
            if let failure = outcome.failure { line["error"] = .string("\(failure)") }
            console.print(json: .dictionary(line))
        }
        if outcomes.allSatisfy({ $0.failure != nil }) {
            throw CommandFailure.refused("the message left for none of \(outcomes.count) paired devices")
        }
    }
}

/// Messages as people write them.
enum MessageText {
    static func operand(_ arguments: Arguments) throws(CommandFailure) -> PropertyListDictionary {
        guard let text = arguments.operands.first else { throw .usage("a message as JSON, or --file, is missing") }
        return try dictionary(text)
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
