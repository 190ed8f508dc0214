// The result of each call in each state, as one table; Protocol/Session.md (SES-38) has the same table word for word. A
// number is the code of the error that the call ends with at once, and nothing leaves.

/// The table of SES-38.
enum StateMatrix {
    static let text = """
        | state | activate | sendMessage | sendMessageWithoutReply | broadcast | transferUserInfo | bound sendMessage | bound transferUserInfo | WCSession.sendMessage | WCSession.updateApplicationContext |
        |---|---|---|---|---|---|---|---|---|---|
        | not supported | 7002 | 7002 | 7002 | 7002 | 7002 | 7002 | 7002 | 7002 | 7002 |
        | no delegate | done | sent | sent | sent | queued | sent | queued | 7003 | 7003 |
        | not activated | waits | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 |
        | connecting | waits | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 |
        | inactive | waits | 7016 | 7016 | 7016 | 7016 | sent | queued | 7016 | 7016 |
        | deactivated | done | sent | sent | sent | queued | sent | queued | 7004 | 7004 |
        | without pairing | done | 7005 | 7005 | 7005 | 7005 | 7005 | 7005 | 7005 | 7005 |
        | not on the secondary | done | 7006 | 7006 | sent | 7006 | 7006 | 7006 | 7006 | 7006 |
        | not on the primary | done | 7018 | 7018 | sent | 7018 | 7018 | 7018 | 7018 | 7018 |
        | unreachable | done | 7007 | 7007 | sent | queued | 7007 | queued | 7007 | queued |
        | in the background | done | 7007 | 7007 | sent | queued | 7007 | queued | 7007 | queued |
        | reachable | done | sent | sent | sent | queued | sent | queued | sent | queued |
        | daemon lost | waits | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 |
        | ended | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 | 7004 |
        """

    static var lines: [String] { text.split(separator: "\n").map(String.init) }

    private static func cells(_ line: String) -> [String] {
        line.split(separator: "|").compactMap { (cell: Substring) -> String? in
            let words = cell.split(separator: " ")
            return words.isEmpty ? nil : words.joined(separator: " ")
        }
    }

    static var calls: [String] { Array(cells(lines[0]).dropFirst()) }

    /// Each state with the outcome of each call.
    static var rows: [(state: String, outcomes: [String])] {
        lines.dropFirst(2).map { line in
            let cells = cells(line)
            return (cells[0], Array(cells.dropFirst()))
        }
    }
}
