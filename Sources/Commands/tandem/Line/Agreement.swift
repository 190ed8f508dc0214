// Agreement of an operator to the consequences of a command: the command prints them first and then requires --yes or
// an answer on the terminal. A script that forgets --yes changes nothing, except where an app's settings are edited.

import Glibc
import TandemBase
import TandemControl
import TandemOperations
import TandemPropertyList
import TandemWire

extension Arguments {
    /// Asks a daemon for a change in two steps (CTL-29): what it would end, and once the operator has agreed to that,
    /// the change itself.
    /// - Parameter consequences: the lines that tell what the change ends, from the daemon's answer.
    /// - Parameter shown: the key of what was agreed to, for a command that changes nothing else.
    /// - Returns: the answer to the change.
    func askTwice(
        _ command: ControlName, _ body: PropertyListDictionary, of role: DeviceRole? = nil, _ console: Console,
        confirming shown: String? = nil, consequences: (Fact) -> [String]
    ) throws -> Fact {
        // One path for both: a daemon that begins to serve between them knows nothing of the question.
        let path = try daemonPath(of: role)
        let first = Fact(try ControlClient.answer(at: path, command, body))
        guard first.body["done"] == .boolean(false) else {
            console.warn("the daemon is of an earlier version and has made the change without asking")
            return first
        }
        for line in consequences(first) { console.warn(line) }
        try agree(console)
        return Fact(
            try ControlClient.answer(at: path, command, first.confirmation(of: body, confirming: shown)))
    }

    private func agree(_ console: Console) throws(CommandFailure) {
        if has("yes") { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw .usage("nothing was changed: without a terminal to ask on, --yes is needed")
        }
        guard isAnsweredYes(console) else { throw .refused("nothing was changed") }
    }

    /// Whether a change of several values may be made (PAG-37).
    /// - Parameters:
    ///   - consequence: the sentence that says what goes.
    ///   - prompt: stands before the answer.
    func agrees(to consequence: String, _ console: Console, prompt: String = "") -> Bool {
        mayChangeSeveral(isTerminal: isatty(STDIN_FILENO) == 1) {
            console.warn(Printable.text(consequence))
            return isAnsweredYes(console, prompt: prompt)
        }
    }

    /// The decision of PAG-37. A script has named what it does, so that without a terminal nobody is asked.
    /// - Parameter isAgreed: asks the person.
    func mayChangeSeveral(isTerminal: Bool, isAgreed: () -> Bool) -> Bool {
        has("yes") || !isTerminal || isAgreed()
    }

    /// The body of `settings reset`: the keys that the command names, or all edits once that is agreed to (PAG-37).
    /// - Parameter agrees: whether the change may be made that the sentence describes.
    func settingsToReset(agrees: (String) -> Bool) throws -> PropertyListDictionary {
        guard has("all") else { return ["keys": .array(operands.map { .string($0) })] }
        let app = try application()
        let lost = "This removes every edit of \(app) that can be made here, also of settings that no page shows."
        guard agrees(lost) else { throw CommandFailure.refused("nothing was changed") }
        return [:]
    }

    private func isAnsweredYes(_ console: Console, prompt: String = "") -> Bool {
        console.warn("Go on? Type yes:")
        if !prompt.isEmpty { console.write(prompt) }
        return readLine() == "yes"
    }
}

extension Fact {
    /// The request that makes the change. It names a pairing by its identifier, because another device may have the
    /// name by now (CTL-29).
    /// - Parameters:
    ///   - question: the request that was answered.
    ///   - shown: as in ``Arguments/askTwice(_:_:of:_:confirming:consequences:)``.
    func confirmation(of question: PropertyListDictionary, confirming shown: String? = nil) -> PropertyListDictionary {
        var request = question
        if question["who"] != nil, let pairing = body["pairing"] {
            request["who"] = nil
            request["pairing"] = pairing
        }
        if let shown { request[shown] = body[shown] }
        request["yes"] = true
        return request
    }

    /// `1 item`, `2 items`.
    func count(_ key: String, _ noun: String) -> String {
        let number = body[key]?.integerValue ?? 0
        return "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    func isPositive(_ key: String) -> Bool { (body[key]?.integerValue ?? 0) > 0 }
}
