// Failure of a request to a daemon (Protocol/Control.md), as a person is shown it.

/// The reason why a request to a daemon has no result.
package enum ControlError: Error, Sendable, Equatable {
    /// The daemon refused the request, by a name of CTL-4.
    case refused(name: String, text: String)
    /// The daemon, or a process in its place, ended the connection.
    case failed(String)
    /// No daemon answers.
    case unanswered(String)
}

extension ControlError: CustomStringConvertible {
    /// `text [name]` of a refusal; safe to print.
    package var description: String {
        switch self {
        case .refused(let name, let text):
            text.isEmpty ? Printable.text(name) : "\(Printable.text(text)) [\(Printable.text(name))]"
        case .failed(let text), .unanswered(let text): text
        }
    }
}
