// Failure of a command as a value: its text and its exit code, the same in every executable of the package.

import TandemBase
package import TandemOperations

/// A failed command: the text for standard error, and the exit code (CTL-73). Scripts can tell a wrong call, a negative
/// answer and an absent daemon apart.
package enum CommandFailure: Error, Equatable {
    /// The call itself is wrong: exit code 2, with a pointer to the help.
    case usage(String)
    /// The file of options has mistakes, with a line for each: exit code 2, since no other start mends them (CTL-52).
    case misconfigured([String])
    /// Refused or failed: exit code 1.
    case refused(String)
    /// The answer is no, with a line for each reason: exit code 1.
    case no([String])
    /// No daemon answers at these sockets: exit code 3.
    case unanswered(String, at: [String] = [])
    /// A daemon has one of these sockets and does not answer in time: exit code 3.
    case silent(String, at: [String] = [])
    /// No daemon can be asked through the socket, also not later: exit code 3.
    case unusable(String)
    /// A daemon was reached, and its state is not known or could not be written: exit code 3.
    case unknownState(String)

    /// The exit code of the process.
    package var exitCode: Int32 {
        switch self {
        case .usage, .misconfigured: 2
        case .refused, .no: 1
        case .unanswered, .silent, .unusable, .unknownState: 3
        }
    }

    /// A further line that says how to go on; nil where the text says it.
    package var advice: String? {
        switch self {
        case .unanswered(_, let sockets): Self.startAdvice(Self.services(at: sockets))
        case .silent(_, let sockets): Self.hangAdvice(Self.services(at: sockets))
        default: nil
        }
    }

    /// The package's services that have one of these sockets. A second daemon beside one of them has no place.
    private static func services(at sockets: [String]) -> [String] {
        DeviceRole.allCases.filter { sockets.contains(LocalSockets.ofService($0)) }.map { "tandem@\($0.rawValue)" }
    }

    private static func startAdvice(_ services: [String]) -> String {
        let commands = "'tandem primary' or 'tandem secondary'"
        let units = services.map { "'systemctl start \($0)'" }.joined(separator: " or ")
        let start = units.isEmpty ? commands : "\(units), or, on a host without the service, with \(commands)"
        return "If no daemon runs, start it with \(start); "
            + "to ask another daemon, name its socket with --device PATH."
    }

    private static func hangAdvice(_ services: [String]) -> String {
        guard let service = services.first else {
            return "Look at the log of the daemon that has this socket; end it before you start it again."
        }
        return "'systemctl status \(service)' shows it, and 'systemctl restart \(service)' starts it again."
    }

    /// The text for standard error.
    package var text: String {
        switch self {
        case .usage(let text), .refused(let text), .unanswered(let text, _), .silent(let text, _),
            .unusable(let text), .unknownState(let text):
            text
        case .misconfigured(let reasons), .no(let reasons): reasons.joined(separator: "\n")
        }
    }
}

extension CommandFailure {
    /// The failure of a request to a daemon.
    package init(_ failure: ControlError) {
        self =
            switch failure {
            case .refused, .unsent, .unfit, .failed: .refused(failure.description)
            case .unanswered(let text, let sockets): .unanswered(text, at: sockets)
            case .silent(let text, let sockets): .silent(text, at: sockets)
            case .unusable(let text): .unusable(text)
            }
    }

    /// The failure of a request for a daemon's state. A supervisor takes exit code 1 for the answer "degraded", which
    /// a daemon that cannot answer has not given, and neither has one that this process had no descriptors to ask.
    package init(ofState error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let failure as ControlError:
            self =
                switch failure {
                case .unanswered, .silent, .unusable: CommandFailure(failure)
                case .refused, .unsent, .unfit, .failed: .unknownState(failure.description)
                }
        default: self = .unknownState("\(error)")
        }
    }
}
