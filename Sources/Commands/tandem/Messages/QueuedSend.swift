// `send --queue` and `send --file`: one durable item, safe once the daemon has accepted it. The caller chooses which
// later state to wait for.

import PairedSession
import TandemBase
import TandemControl
import TandemPropertyList

/// One user info to be queued, as the command line tells it.
struct QueuedSend {
    static let options: [Option] = [
        .flag("queue", "queue it as a user info: durable, in order, delivered when the counterpart is there"),
        .valued(
            "urgent", "KIND",
            "queue it ahead of user infos, within the day's budget; the newest of a KIND is the current one"),
        .valued("wait", "accepted|stored|handled", "how far to wait for it (default accepted, of a file stored)"),
        .valued("key", "KEY", "with --queue or --file: it takes the place of a waiting item with this key"),
        .valued("ttl", "TIME", "with --queue: how long it may wait (default 30d)"),
        .valued("after", "UUID", "with --queue or --file: the item that must have ended before"),
    ]

    private let userInfo: PropertyListDictionary
    private let options: TransferOptions
    private let urgentKind: String?
    private let level: AcknowledgementLevel
    private let timeout: Duration?

    /// Nil if the arguments mean a message.
    init?(_ userInfo: PropertyListDictionary, _ arguments: Arguments) throws(CommandFailure) {
        guard arguments.has("queue") || arguments.has("urgent") else {
            guard let odd = ["wait", "key", "ttl", "after"].first(where: arguments.has) else { return nil }
            throw .usage("--\(odd) is for items: add --queue")
        }
        for odd in ["no-reply", "all"] where arguments.has(odd) { throw .usage("--\(odd) is for messages") }
        self.userInfo = userInfo
        level = try Self.level(arguments, absent: "accepted")
        urgentKind = arguments.value("urgent")
        timeout = try arguments.duration("timeout")
        options = try Self.options(arguments)
    }

    /// The level of `--wait`.
    static func level(_ arguments: Arguments, absent: String) throws(CommandFailure) -> AcknowledgementLevel {
        let word = arguments.value("wait") ?? absent
        guard let level = AcknowledgementLevel.allCases.first(where: { "\($0)" == word }) else {
            throw .usage("--wait '\(word)' is none of accepted, stored, handled")
        }
        return level
    }

    /// The options of any durable item, files too.
    static func options(_ arguments: Arguments) throws(CommandFailure) -> TransferOptions {
        TransferOptions(
            topic: arguments.value("topic"), supersedeKey: arguments.value("key"),
            timeToLive: try arguments.duration("ttl"),
            after: try arguments.value("after").map { (text) throws(CommandFailure) in
                try UniqueIdentifier(argument: text, "is no UUID", of: "--after ")
            })
    }

    /// Queues the item, prints its identifier, and waits for the level.
    func run(_ session: PairedSession, _ console: Console) async throws {
        let transfer =
            if let urgentKind {
                try await session.transferUrgentUserInfo(userInfo, kind: urgentKind, options: options)
            } else {
                try await session.transferUserInfo(userInfo, options: options)
            }
        var line: PropertyListDictionary = ["id": .string("\(transfer.id)"), "state": .string("accepted")]
        if transfer.isDemoted { line["demoted"] = .boolean(true) }
        console.print(json: .dictionary(line))
        guard level > .accepted else { return }
        let level = level
        guard try await ends(within: timeout, { try await transfer.reached(level) }) else {
            throw CommandFailure.no(["not there yet; the item stays queued"])
        }
        line["state"] = .string("\(level)")
        console.print(json: .dictionary(line))
    }
}

struct SendFile {
    static let options: [Option] = [
        .valued("file", "PATH", "send a file; ends when the other device has it (see --wait)"),
        .valued("metadata", "JSON", "what goes with the file"),
    ]

    let path: String
    let metadata: PropertyListDictionary?
    let level: AcknowledgementLevel
    let options: TransferOptions
    private let timeout: Duration?

    /// Nil if the arguments mean no file.
    init?(_ arguments: Arguments) throws(CommandFailure) {
        guard let path = arguments.value("file") else {
            guard !arguments.has("metadata") else { throw .usage("--metadata goes with --file") }
            return nil
        }
        guard arguments.operands.isEmpty, !arguments.has("values") else {
            throw .usage("--file and a message do not go together")
        }
        for odd in ["all", "queue", "urgent", "no-reply"] where arguments.has(odd) {
            throw .usage("--\(odd) does not go with --file: a file is always queued, for one device")
        }
        self.path = path
        level = try QueuedSend.level(arguments, absent: "stored")
        options = try QueuedSend.options(arguments)
        timeout = try arguments.duration("timeout")
        metadata = try arguments.value("metadata").map { (text) throws(CommandFailure) in
            try MessageText.dictionary(text, of: "--metadata")
        }
    }

    func run(_ session: PairedSession, _ console: Console) async throws {
        let bar = ProgressBar(label: path.lastPathPart ?? path)
        let transfer = session.beginFileTransfer(path, metadata: metadata, options: options)
        let drawing = Task {  // owned by this command: ends with the transfer, or is cancelled below
            for await progress in transfer.progressUpdates { bar.draw(progress) }
        }
        defer { drawing.cancel() }
        let level = level
        let isThere: Bool
        do {
            defer { bar.clear() }
            isThere = try await ends(within: timeout) { try await transfer.reached(level) }
        }
        guard isThere else {
            throw CommandFailure.no(["not there yet; the file stays queued if the daemon has all of it: \(transfer.id)"]
            )
        }
        console.print(json: .dictionary(result(transfer, bar.elapsed)))
    }

    private func result(_ transfer: FileTransfer, _ elapsed: Duration) -> PropertyListDictionary {
        [
            "id": .string("\(transfer.id)"), "size": .integer(transfer.progress.total),
            "state": .string("\(level)"), "milliseconds": .integer(elapsed.saturatingMilliseconds),
        ]
    }
}
