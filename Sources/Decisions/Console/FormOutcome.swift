// Outcome of a form that was taken, for the page that is shown after it: an edit, a reset or a press. The answer to the
// form leads the browser to that page by its address: a page that answers the form itself would press again when it is
// loaded again.

import TandemOperations
import TandemPages
import TandemPropertyList
import TandemWire

/// The sentence of the page after a form.
struct FormOutcome {
    let isDone: Bool
    /// For people.
    let text: String

    init(_ text: String) { (isDone, self.text) = (true, text) }

    /// An edit that was stored.
    /// - Parameters:
    ///   - names: those of the edited rows.
    ///   - answer: that to `settings-set`.
    ///   - name: the name of a property for the person.
    init(saved names: [String], _ answer: PropertyListDictionary, naming name: (String) -> String) {
        let sentences = EditReport(answer).warnings(naming: name)
        self.init(([EditReport.saved(names)] + sentences).joined(separator: " "))
    }

    /// Reads the answer to `settings-press`.
    /// - Parameter name: the button's title.
    init(_ reply: ConsoleReply, of name: String) {
        switch reply {
        case .success(let body):
            isDone = true
            text = "\(name): \(body[BodyKey.text]?.stringValue ?? "done.")"
        case .failure(.refused(_, let text)), .failure(.unsent(_, let text)):
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

    /// The way to the page that says so.
    func leading(to route: ConsoleRoute, at fragment: String? = nil, cookie: String) -> WebAnswer {
        .seeOther(route, query: query(for: route, cookie: cookie), fragment: fragment)
    }

    /// The query of its address, for one browser alone.
    private func query(for route: ConsoleRoute, cookie: String) -> String {
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
