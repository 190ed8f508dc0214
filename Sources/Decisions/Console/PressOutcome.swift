// Outcome of a press of an app's button, for the page that is shown after it. The answer to the press leads the browser
// to that page by its address: a page that answers the form itself would press again when it is loaded again.

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

    // MARK: the address

    private static let (done, refused, code) = ("done", "refused", "code")
    /// Bytes of a text in an address: three times as many and the rest fit a request's head (LIM-127).
    private static let textLimit = 2048

    /// The query of the address of the page that says so, for one browser alone.
    func query(for route: ConsoleRoute, cookie: String) -> String {
        let (word, text) = (
            isDone ? Self.done : Self.refused,
            String(decoding: text.utf8.prefix(Self.textLimit).filter { $0 != 0 }, as: UTF8.self)
        )
        return "\(word)=\(PercentText.encode(text))&\(Self.code)=\(Self.code(word, text, route, cookie))"
    }

    /// Reads a query; nil for one that this console has not made for the browser and the page: no other site puts a
    /// text on a page.
    init?(_ query: FormFields, for route: ConsoleRoute, cookie: String) {
        for word in [Self.done, Self.refused] {
            guard let text = query[word], let code = query[Self.code],
                BrowserCode.isEqual(code, Self.code(word, text, route, cookie))
            else { continue }
            (isDone, self.text) = (word == Self.done, text)
            return
        }
        return nil
    }

    private static func code(_ word: String, _ text: String, _ route: ConsoleRoute, _ cookie: String) -> String {
        BrowserCode.make("press", for: route, cookie: cookie, [word, text])
    }
}
