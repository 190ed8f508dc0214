// `send --queue`: one durable item. It is safe once the daemon has accepted it, whatever ends then; how much more is
// waited for is the caller's choice.

import PairedSession
import TandemBase
import TandemPropertyList

/// One user info to be queued, as the command line tells it.
struct QueuedSend {
    static let options: [Option] = [
        .flag("queue", "queue it as a user info: durable, in order, delivered when the counterpart is there"),
        .valued("urgent", "KIND", "queue it ahead of user infos, within the day's budget; of a kind the newest counts"),
        .valued("wait", "accepted|stored|handled", "how far to wait for it (default accepted, of a file stored)"),
        .valued("topic", "TOPIC", "which handler is meant"),
        .valued("key", "KEY", "with --queue or --file: it takes the place of a waiting item with this key"),
        .valued("ttl", "TIME", "with --queue: how long it may wait (default 30d)"),
        .valued("after", "UUID", "with --queue or --file: the item that must have ended before"),
    ]

    static let levels: [String: AcknowledgementLevel] = [
        "accepted": .accepted, "stored": .stored, "handled": .handled,
    ]

    private let userInfo: PropertyListDictionary
    private let options: TransferOptions
    private let urgentKind: String?
    private let level: AcknowledgementLevel
    private let timeout: Duration?

    /// Nil if the arguments mean a message.
    init?(_ userInfo: PropertyListDictionary, _ arguments: Arguments) throws(CommandFailure) {
        guard arguments.has("queue") || arguments.has("urgent") else {
            guard let odd = ["wait", "topic", "key", "ttl", "after"].first(where: arguments.has) else { return nil }
            throw .usage("--\(odd) is for items: add --queue")
        }
        for odd in ["no-reply", "all"] where arguments.has(odd) { throw .usage("--\(odd) is for messages") }
        let word = arguments.value("wait") ?? "accepted"
        guard let level = Self.levels[word] else {
            throw .usage("--wait '\(word)' is none of accepted, stored, handled")
        }
        self.userInfo = userInfo
        self.level = level
        urgentKind = arguments.value("urgent")
        timeout = try arguments.duration("timeout")
        options = try Self.options(arguments)
    }

    /// What the command line says of any durable item, files too.
    static func options(_ arguments: Arguments) throws(CommandFailure) -> TransferOptions {
        TransferOptions(
            topic: arguments.value("topic"), supersedeKey: arguments.value("key"),
            timeToLive: try arguments.duration("ttl"), after: try identifier(arguments.value("after")))
    }

    private static func identifier(_ text: String?) throws(CommandFailure) -> UniqueIdentifier? {
        guard let text else { return nil }
        guard let id = UniqueIdentifier(text: text) else { throw .usage("--after '\(text)' is no UUID") }
        return id
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
        try await reached(transfer)
        line["state"] = .string(level == .stored ? "stored" : "handled")
        console.print(json: .dictionary(line))
    }

    private func reached(_ transfer: Transfer) async throws {
        let (level, timeout) = (level, timeout)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await transfer.reached(level)
                return true
            }
            if let timeout {
                group.addTask {
                    try await Task.sleep(for: timeout)
                    return false
                }
            }
            let isReached = try await group.next() ?? false
            group.cancelAll()
            if !isReached { throw CommandFailure.no(["not there yet; the item stays queued"]) }
        }
    }
}
