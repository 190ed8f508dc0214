// What the subcommands that ask a running daemon have in common.

import TandemBase
import TandemPropertyList

extension Arguments {
    /// Asks the daemon that `--device` names, or the one that is right for the command.
    func ask(
        _ command: String, _ body: PropertyListDictionary = [:], of role: DeviceRole? = nil, time: Duration = .zero
    ) throws -> PropertyListDictionary {
        let path = try DaemonChoice(device: value("device"), role: role).path()
        return try ControlClient(path: path).ask(command, body, time: time)
    }

    /// The application identifier that `--app` names.
    func application() throws -> ApplicationIdentifier { try ApplicationIdentifier(try required("app")) }

    /// The role that `--role` names.
    func role() throws(CommandFailure) -> DeviceRole {
        let word = try required("role")
        guard let role = DeviceRole(rawValue: word) else {
            throw .usage("--role '\(word)' is neither primary nor secondary")
        }
        return role
    }
}

extension Arguments {
    /// The pairing that the first operand names.
    func pairing() throws(CommandFailure) -> UniqueIdentifier {
        guard let pairing = UniqueIdentifier(text: operands[0]) else {
            throw .usage("'\(operands[0])' is not a pairing's UUID; 'tandem status' shows them")
        }
        return pairing
    }
}
