// Failure of a request to a daemon (Protocol/Control.md), as a person is shown it.

package import TandemPropertyList

/// The reason why a request to a daemon has no result.
package enum ControlError: Error, Sendable, Equatable {
    /// The daemon refused the request, by a name of CTL-4.
    case refused(name: String, text: String)
    /// The daemon refused a change for an app on another device, by a name of CTL-4, and has not sent it (CTL-42).
    case unsent(name: String, text: String)
    /// The running app's own checks do not take an edit, each with its text (CTL-60).
    case unfit(text: String, checks: PropertyListDictionary)
    /// The daemon, or a process in its place, ended the connection.
    case failed(String)
    /// No daemon answers at these sockets.
    case unanswered(String, at: [String] = [])
    /// A process takes connections at these sockets, and gives no result in time.
    case silent(String, at: [String] = [])
    /// No daemon can be asked through the socket, and waiting does not change that (CTL-73).
    case unusable(String)
}

extension ControlError {
    /// The daemon's refusal, for programs (CTL-67); nil where no daemon has refused the request.
    package var refusal: PropertyListDictionary? {
        switch self {
        case .refused(let name, let text): ["error": .string(name), "text": .string(text)]
        case .unsent(let name, let text): ["error": .string(name), "text": .string(text), "sent": false]
        case .unfit(let text, let checks):
            ["error": "refused", "text": .string(text), "checks": .dictionary(checks)]
        case .failed, .unanswered, .silent, .unusable: nil
        }
    }
}

extension ControlError: CustomStringConvertible {
    /// `text [name]` of a refusal; safe to print.
    package var description: String {
        switch self {
        case .refused(let name, let text), .unsent(let name, let text):
            text.isEmpty ? Printable.text(name) : "\(Printable.text(text)) [\(Printable.text(name))]"
        case .unfit(let text, _): "\(Printable.text(text)) [refused]"
        case .failed(let text), .unanswered(let text, _), .silent(let text, _), .unusable(let text): text
        }
    }
}
