// Failure of a command as a value: its text and its exit code, the same in every executable of the package.

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
    /// No daemon answers: exit code 3.
    case unanswered(String)
    /// No daemon can be asked through the socket, also not later: exit code 3.
    case unusable(String)
    /// A daemon was reached and its state is not known: exit code 3.
    case unknownState(String)

    /// The exit code of the process.
    package var exitCode: Int32 {
        switch self {
        case .usage, .misconfigured: 2
        case .refused, .no: 1
        case .unanswered, .unusable, .unknownState: 3
        }
    }

    /// A further line that says how to go on; nil where the text says it.
    package var advice: String? {
        guard case .unanswered = self else { return nil }
        return
            "If no daemon runs, start it with 'tandem primary' or 'tandem secondary'; --device PATH names another's socket."
    }

    /// The text for standard error.
    package var text: String {
        switch self {
        case .usage(let text), .refused(let text), .unanswered(let text), .unusable(let text),
            .unknownState(let text):
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
            case .refused, .unfit, .failed: .refused(failure.description)
            case .unanswered(let text): .unanswered(text)
            case .unusable(let text): .unusable(text)
            }
    }

    /// The failure of a request for a daemon's state. A supervisor takes exit code 1 for the answer "degraded", which
    /// a daemon that cannot answer, for one because it is out of descriptors, has not given.
    package init(ofState failure: ControlError) {
        self =
            switch failure {
            case .unanswered, .unusable: CommandFailure(failure)
            case .refused, .unfit, .failed: .unknownState(failure.description)
            }
    }
}
