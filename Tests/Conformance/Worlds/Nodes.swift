// Operations of a world on daemons in its own process: control requests, pairing, an orderly end.

import TandemBase
import TandemDaemon
import TandemOperations
import TandemPropertyList
import TandemReactor

extension Place {
    /// Of its state directory and its socket; short, because a socket's path has at most 107 bytes.
    var fileName: String {
        switch self {
        case .primary: "primary"
        case .secondary(let number): "secondary-\(number)"
        }
    }
}

/// Lets time pass for nodes.
protocol NodeKeeper {
    func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool
}

extension ManualWorld: NodeKeeper {}
extension EventLoop: NodeKeeper {}

extension NodeKeeper {
    /// Asks a daemon as its operator does.
    func ask(_ node: Node, _ command: String, _ body: PropertyListDictionary = [:]) throws -> PropertyListDictionary {
        var answer: ControlAnswer?
        let caller = Caller(Linux.user, isOperator: true)
        node.respond(to: ControlRequest(command: command, body: body, caller: caller)) { answer = $0 }
        _ = wait(within: .seconds(60)) { answer != nil }
        guard let answer, answer.code == 0 else { throw Violation("a daemon refuses \(command): \(answer as Any)") }
        return answer.body
    }

    /// Pairs two daemons with a join link.
    func pair(_ primary: Node, _ secondary: Node) throws -> UniqueIdentifier {
        let made = try ask(primary, "pair")
        let joined = try ask(secondary, "join", ["link": made["link"] ?? ""])
        guard let pairing = joined["pairing"]?.dataValue.flatMap({ UniqueIdentifier(bytes: $0) }) else {
            throw Violation("a join gives no pairing")
        }
        return pairing
    }

    /// Lets a daemon finish what it has accepted.
    func stop(_ node: Node) throws {
        var isStopped = false
        node.stop { isStopped = true }
        try demand(wait(within: .seconds(60)) { isStopped }, "a daemon stops in 60 s")
    }
}
