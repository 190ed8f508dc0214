// How a command can end other than done. The two kinds decide the exit code, so that scripts can tell "you called me
// wrongly" from "the answer is no".

/// A failed command: what to print on standard error, and the exit code.
enum CommandFailure: Error, Equatable {
    /// The call itself is wrong: exit code 2, with a pointer to the help.
    case usage(String)
    /// Refused or failed: exit code 1.
    case refused(String)

    var exitCode: Int32 {
        switch self {
        case .usage: 2
        case .refused: 1
        }
    }

    var text: String {
        switch self {
        case .usage(let text), .refused(let text): text
        }
    }
}
