// What `receive` does with durable items: it prints each as one line, and handles it, or fails as it is told, so that
// redelivery and dead letters can be tried without an app of one's own.

import PairedSession
import TandemBase
import TandemPropertyList

/// What becomes of received items.
enum ItemVerdict: String {
    case handle, fail, reject

    static let option = Option.valued(
        "items", "handle|fail|reject", "what to do with durable items once they are printed (default handle)")

    init(_ arguments: Arguments) throws(CommandFailure) {
        let word = arguments.value("items") ?? "handle"
        guard let verdict = Self(rawValue: word) else {
            throw .usage("--items '\(word)' is none of handle, fail, reject")
        }
        self = verdict
    }

    /// Throws what tells the daemon so.
    func judge() throws {
        switch self {
        case .handle: break
        case .fail: throw CommandFailure.refused("told to fail")
        case .reject: throw ItemRejection(reason: "told to reject")
        }
    }
}

extension ReceivedUserInfo {
    var line: PropertyListDictionary { facts.line(isUrgent ? "urgent" : "userInfo", userInfo) }
}

extension ReceivedContext {
    var line: PropertyListDictionary {
        var line = facts.line("context", context)
        line["revision"] = PropertyListValue(revision)
        return line
    }
}

extension ItemFacts {
    fileprivate func line(_ channel: String, _ content: PropertyListDictionary) -> PropertyListDictionary {
        var line: PropertyListDictionary = [
            "channel": .string(channel), "id": .string("\(id)"), "attempt": .integer(Int64(attempt)),
            "body": .dictionary(content),
        ]
        line["topic"] = topic.map { .string($0) }
        return line
    }
}
