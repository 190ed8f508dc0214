// Outcome of a press of an app's button, for the page that is shown after it.

import TandemOperations
import TandemPropertyList
import TandemWire

/// The app's answer to a press.
struct PressOutcome {
    let isDone: Bool
    /// For people.
    let text: String

    /// Reads the answer to `settings-press`.
    /// - Parameter name: the button's title.
    init(_ reply: ConsoleReply, of name: String) {
        switch reply {
        case .success(let body):
            isDone = true
            text = "\(name): \(body[BodyKey.text]?.stringValue ?? "done.")"
        case .failure(.refused(_, let text)):
            isDone = false
            self.text = "\(name): \(text)"
        case .failure(let error):
            isDone = false
            text = "\(name): \(error)"
        }
    }
}
