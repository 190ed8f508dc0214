// Requests to a daemon from a command: the daemon, the app, the role and the pairing that the arguments name.

import TandemBase
import TandemControl
import TandemOperations
import TandemPropertyList
import TandemWire

extension ControlClient {
    /// Asks the daemon at a path, for a command with several requests to one daemon, or with several daemons. It warns
    /// of the rows for which the answer had no room.
    static func answer(
        at path: String, _ command: ControlName, _ body: PropertyListDictionary, time: Duration = .zero,
        patience: Duration = ControlExchange.patience
    ) throws -> PropertyListDictionary {
        let answer = try ask(at: path, command, body, time: time, patience: patience, software: Version.text)
        Fact(answer).leftOut.forEach { Console().warn($0) }
        return answer
    }
}

extension Arguments {
    /// Asks the daemon that `--device` names, or the one that is right for the command.
    func ask(
        _ command: ControlName, _ body: PropertyListDictionary = [:], of role: DeviceRole? = nil,
        time: Duration = .zero, patience: Duration = ControlExchange.patience
    ) throws -> PropertyListDictionary {
        try ControlClient.answer(at: try daemonPath(of: role), command, body, time: time, patience: patience)
    }

    /// The local socket of the daemon that `--device` names, or of the one that is right for the command.
    func daemonPath(of role: DeviceRole? = nil) throws(CommandFailure) -> String {
        try DaemonChoice(device: value("device"), role: role).path()
    }

    /// With `--json` a refusal is printed as one line, too (CTL-67).
    func printForPrograms(_ error: ControlError, on console: Console) {
        guard has("json"), let refusal = error.refusal else { return }
        console.print(json: Fact(refusal))
    }

    /// The application identifier that `--app` names.
    func application() throws -> ApplicationIdentifier { try ApplicationIdentifier(try required("app")) }

    /// The role that `--role` names.
    func role() throws(CommandFailure) -> DeviceRole {
        let word = try required("role")
        guard let role = DeviceRole(word: word) else {
            throw .usage("--role '\(word)' is neither primary nor secondary")
        }
        return role
    }
}

extension Arguments {
    /// The body of a request about the pairing that the first operand names, by its UUID or its device's name.
    var pairingOrName: PropertyListDictionary { Self.pairingOrName(operands[0]) }

    /// The fields for a pairing that a text names in this way.
    static func pairingOrName(_ text: String) -> PropertyListDictionary {
        UniqueIdentifier(text: text).map { ["pairing": .data($0.bytes)] } ?? ["who": .string(text)]
    }

    /// The body of a request about the app that `--app` names, or about all.
    func applicationIfNamed() throws -> PropertyListDictionary {
        has("app") ? ["app": .string(try application().description)] : [:]
    }
}

extension UniqueIdentifier {
    /// Reads an argument.
    /// - Parameters:
    ///   - problem: the end of the sentence that begins with the argument.
    ///   - option: the option whose value it is.
    init(argument text: String, _ problem: String, of option: String = "") throws(CommandFailure) {
        guard let identifier = UniqueIdentifier(text: text) else { throw .usage("\(option)'\(text)' \(problem)") }
        self = identifier
    }
}
