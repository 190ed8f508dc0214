// `receive`: prints an app's messages, durable items and files, each as one line of JSON, and answers messages that
// want a reply. It takes no configuration: that needs an app with a schema and a key.

import PairedSession
import TandemBase
import TandemControl
import TandemFiles
import TandemPropertyList
import TandemWire

extension Subcommand {
    static let receive = Subcommand(
        path: ["receive"], summary: "receive an app's messages and queued items, one line of JSON each",
        options: [
            .device, .application.required, .valued("reply", "JSON", "what to answer to messages (default {})"),
            .valued("count", "N", "end after N messages and items, or N files"), ItemVerdict.option,
            .valued("files", "DIR", "receive files and nothing else, and move each into DIR"),
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
        let reply = try arguments.value("reply").map { try MessageText.dictionary($0, of: "--reply") } ?? [:]
        let verdict = try ItemVerdict(arguments)
        let places = Places(try arguments.integer("count", in: 1...Int.max) ?? .max)
        if let directory = arguments.value("files") {
            let session = try arguments.session(receives: true, channels: [.file])
            try await ReceiveFiles(directory: directory).run(session, places, console)
            return await session.end()
        }
        let session = try arguments.session(receives: true, channels: [.userInfo, .urgent, .context])
        // All handlers are there before the first thing can arrive.
        let messages = session.messages.makeAsyncIterator()
        let userInfos = session.handleUserInfo { info in
            try places.take { console.handOver(json: .dictionary(info.line)) }
            try verdict.judge()
        }
        let contexts = session.handleApplicationContext { context in
            try places.take { console.handOver(json: .dictionary(context.line)) }
            try verdict.judge()
        }
        let answering = Task {  // ends with this command
            var messages = messages
            while let message = await messages.next() { try MessageAnswer.take(message, reply, places, console) }
        }
        try await session.activate(timeout: HostSession.patience)
        try await session.whileAdmitted { await places.allTaken() }
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
            console.handOver(json: message.dictionary.map { .dictionary($0) } ?? .data(message.data ?? []))
            do { try answer(message, with: reply) } catch { message.fail("\(error)") }
        }
    }

    /// Data is answered with no data: a dictionary is not allowed there.
    private static func answer(_ message: ReceivedMessage, with reply: PropertyListDictionary) throws {
        guard message.wantsReply else { return }
        if message.dictionary != nil { try message.reply(reply) } else { try message.reply(data: []) }
    }
}

enum ItemVerdict: String {
    case handle, fail, reject

    static let option = Option.valued(
        "items", "handle|fail|reject", "what to do with durable items once they are printed (default handle)")

    init(_ arguments: Arguments) throws(CommandFailure) {
        let word = arguments.value("items") ?? "handle"
        guard let verdict = Self(word: word) else {
            throw .usage("--items '\(word)' is none of handle, fail, reject")
        }
        self = verdict
    }

    /// Throws unless items are handled.
    func judge() throws {
        switch self {
        case .handle: break
        case .fail: throw CommandFailure.refused("told to fail")
        case .reject: throw ItemRejection(reason: "told to reject")
        }
    }
}

extension ReceivedUserInfo {
    var line: PropertyListDictionary { facts.line(isUrgent ? .urgent : .userInfo, userInfo) }
}

extension ReceivedContext {
    var line: PropertyListDictionary {
        var line = facts.line(.context, context)
        line["revision"] = PropertyListValue(revision)
        return line
    }
}

extension ItemFacts {
    fileprivate func line(_ channel: Channel, _ content: PropertyListDictionary) -> PropertyListDictionary {
        PropertyListDictionary(present: [
            "channel": .string(channel.rawValue), "id": .string("\(id)"), "attempt": .integer(Int64(attempt)),
            "body": .dictionary(content), "topic": topic.map { .string($0) },
        ])
    }
}

/// Receives files into a directory.
struct ReceiveFiles: Sendable {
    private static let attempts = 1_000

    let directory: String

    /// Takes a file for each place, then returns.
    func run(_ session: PairedSession, _ places: Places, _ console: Console) async throws {
        guard (try? OwnedDirectory(existing: directory)) != nil else {
            throw CommandFailure.refused(
                "\(directory) must be a directory that you own and others cannot write to ('mkdir -m 700', or 'chmod go-w')"
            )
        }
        let handling = session.handleFiles { file in try places.take { try take(file, console) } }
        try await session.activate(timeout: HostSession.patience)
        try await session.whileAdmitted { await places.allTaken() }
        // The session ends behind the last verdict.
        await handling.finish()
    }

    private func take(_ file: ReceivedFile, _ console: Console) throws {
        let line = PropertyListDictionary(present: [
            "file": .string(try move(file)), "name": .string(file.name), "size": .integer(file.size),
            "sha256": .string(Hexadecimal.encode(file.digest)), "id": .string("\(file.facts.id)"),
            "attempt": .integer(Int64(file.facts.attempt)), "metadata": file.metadata.map { .dictionary($0) },
        ])
        console.print(json: .dictionary(line))
    }

    /// Nothing is overwritten: a name that is taken gets a number.
    private func move(_ file: ReceivedFile) throws(SessionError) -> String {
        let name = file.path.lastPathPart ?? "file"
        for number in 1...Self.attempts {
            let path = "\(directory)/\(number == 1 ? name : Self.numbered(name, number))"
            do throws(SessionError) {
                try file.move(to: path)
                return path
            } catch {
                guard error.isNamed(.fileExists), number < Self.attempts else { throw error }
            }
        }
        throw SessionError(
            .fileAccessDenied, .fileExists, reason: "\(directory) has too many files of this name")
    }

    private static func numbered(_ name: String, _ number: Int) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "\(name)-\(number)" }
        return "\(name[..<dot])-\(number)\(name[dot...])"
    }
}
