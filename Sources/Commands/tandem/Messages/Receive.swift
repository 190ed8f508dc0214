// Receives an app's messages and prints each as one line of JSON, answering those that want a reply. It takes no
// configuration: that needs an app with a schema and a key of its own.

import PairedSession
import TandemPropertyList

extension Subcommand {
    static let receive = Subcommand(
        path: ["receive"], summary: "receive an app's messages, one line of JSON each",
        options: [
            .device, .application.required, .valued("reply", "JSON", "what to answer (default {})"),
            .valued("count", "N", "end after N messages"),
        ],
        notes: "One connection of an app receives at a time. Ends with Ctrl-C.",
        examples: [
            "receive --app org.example.lamp", "receive --app org.example.lamp --count 1 --reply '{\"ok\":true}'",
        ]
    ) { arguments, console in
        let reply = try arguments.value("reply").map(MessageText.dictionary) ?? [:]
        let count: Int = try arguments.integer("count", in: 1...Int.max) ?? .max
        let session = try arguments.session(receives: true)
        // The sequence begins before the first message can arrive.
        var messages = session.messages.makeAsyncIterator()
        try await session.activate(timeout: .seconds(10))
        var received = 0
        while received < count, let message = await messages.next() {
            if message.isConfiguration {
                message.fail("'tandem receive' takes no configuration")
                continue
            }
            received += 1
            console.print(json: message.dictionary.map { .dictionary($0) } ?? .data(message.data ?? []))
            try MessageAnswer.answer(message, with: reply)
        }
        await session.end()
    }
}

private enum MessageAnswer {
    /// Data is answered with no data: a dictionary is not allowed there.
    static func answer(_ message: ReceivedMessage, with reply: PropertyListDictionary) throws {
        guard message.wantsReply else { return }
        if message.dictionary != nil { try message.reply(reply) } else { try message.reply(data: []) }
    }
}
