// Failures of a command. The kind decides the exit code, so that scripts can tell a wrong call, a negative answer and
// an absent daemon apart.

/// A failed command: what to print on standard error, and the exit code.
enum CommandFailure: Error, Equatable {
    /// The call itself is wrong: exit code 2, with a pointer to the help.
    case usage(String)
    /// Refused or failed: exit code 1.
    case refused(String)
    /// The answer is no, with a line for each reason: exit code 1.
    case no([String])
    /// No daemon answers: exit code 3.
    case unanswered(String)

    var exitCode: Int32 {
        switch self {
        case .usage: 2
        case .refused, .no: 1
        case .unanswered: 3
        }
    }

    var text: String {
        switch self {
        case .usage(let text), .refused(let text), .unanswered(let text): text
        case .no(let reasons): reasons.joined(separator: "\n")
        }
    }
}
