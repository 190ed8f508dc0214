// Receives an app's messages and durable items and prints each as one line of JSON, answering messages that want a
// reply. It takes no configuration: that needs an app with a schema and a key of its own.

import PairedSession
import TandemPropertyList

extension Subcommand {
    static let receive = Subcommand(
        path: ["receive"], summary: "receive an app's messages and queued items, one line of JSON each",
        options: [
            .device, .application.required, .valued("reply", "JSON", "what to answer to messages (default {})"),
            .valued("count", "N", "end after N messages and items, or N files"), ItemVerdict.option,
            .valued("files", "DIR", "receive files in place of messages, and move each into DIR"),
        ],
        notes: """
            A message is printed as it is. A user info or context is an object with 'channel', 'id', 'attempt' and
            'body'. One connection of an app receives at a time. Ends with Ctrl-C.
            """,
        examples: [
            "receive --app org.example.lamp", "receive --app org.example.lamp --files Downloads",
            "receive --app org.example.lamp --count 1 --reply '{\"ok\":true}'",
        ]
    ) { arguments, console in
        let reply = try arguments.value("reply").map(MessageText.dictionary) ?? [:]
        let verdict = try ItemVerdict(arguments)
        let places = Places(try arguments.integer("count", in: 1...Int.max) ?? .max)
        let session = try arguments.session(receives: true)
        if let directory = arguments.value("files") {
            try await ReceiveFiles(directory: directory).run(session, places, console)
            return await session.end()
        }
        // All handlers are there before the first thing can arrive.
        let messages = session.messages
        let userInfos = session.handleUserInfo { info in
            try places.take { console.print(json: .dictionary(info.line)) }
            try verdict.judge()
        }
        let contexts = session.handleApplicationContext { context in
            try places.take { console.print(json: .dictionary(context.line)) }
            try verdict.judge()
        }
        let answering = Task {  // ends with this command
            for await message in messages { try MessageAnswer.take(message, reply, places, console) }
        }
        try await session.activate(timeout: HostSession.patience)
        await places.allTaken()
        // The session ends behind the last verdict.
        for handling in [userInfos, contexts] { await handling.finish() }
        answering.cancel()
        await session.end()
    }
}

private enum MessageAnswer {
    static func take(
        _ message: ReceivedMessage, _ reply: PropertyListDictionary, _ places: Places, _ console: Console
    ) throws {
        if message.isConfiguration { return message.fail("'tandem receive' takes no configuration") }
        try places.take {
            console.print(json: message.dictionary.map { .dictionary($0) } ?? .data(message.data ?? []))
            do { try answer(message, with: reply) } catch { message.fail("\(error)") }
        }
    }

    /// Data is answered with no data: a dictionary is not allowed there.
    private static func answer(_ message: ReceivedMessage, with reply: PropertyListDictionary) throws {
        guard message.wantsReply else { return }
        if message.dictionary != nil { try message.reply(reply) } else { try message.reply(data: []) }
    }
}
