// HTTP request and answer as values, the form of a browser's body, and the checks that come before any page: the name
// and the origin that the browser used, and the size of what it sends.

import TandemBase
import TandemPages

package struct WebRequest: Sendable {
    package let method: String
    /// The target as it was sent, with its query.
    package let target: String
    /// The header fields in their order.
    package let fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(_ method: String, _ target: String, fields: [(name: String, value: String)], body: [UInt8] = []) {
        self.method = method.plain
        self.target = target
        self.fields = fields
        self.body = body
    }

    package var path: String { String(decoding: target.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self) }

    /// The fields of the query; nil if it has none that read.
    var query: FormFields? { FormFields(Array(target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())) }

    /// The text that the query seeks, at most 256 bytes of it; empty without one.
    package var sought: String {
        query?["q"].map { String(decoding: $0.utf8.prefix(256), as: UTF8.self) } ?? ""
    }

    /// The mark of the state that a page shows, for its stream: that of the last event if the browser connects again.
    package var mark: String { values("last-event-id").last ?? query?[Self.markField] ?? "" }

    /// The field of a stream's query with the mark.
    static let markField = "mark"

    /// The languages of the person at the browser, preferred first, at most as many as a bundle has.
    package var languages: [String] {
        let parts = values("accept-language").flatMap { $0.split(separator: ",") }
        let known = parts.prefix(StringsTables.languageLimit).compactMap { part -> (tag: String, weight: Double)? in
            let words = part.split(separator: ";").map { $0.filter { $0 != " " } }
            guard let tag = words.first, (1...35).contains(tag.utf8.count),
                tag.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || $0.isASCIIAlphanumeric })
            else { return nil }
            guard words.count > 1 else { return (tag, 1) }
            let weight = words[1].hasPrefix("q=") ? Double(words[1].dropFirst(2)) : nil
            return weight.flatMap { 0 < $0 && $0 <= 1 ? (tag, $0) : nil }
        }
        return known.enumerated().sorted { one, other in
            one.element.weight == other.element.weight
                ? one.offset < other.offset : one.element.weight > other.element.weight
        }.map(\.element.tag)
    }

    /// The values of a field, with marks in the place of what is not ASCII: no field that the console reads has it, and
    /// anybody may send what Unicode compares slowly.
    /// - Parameter name: in lower case.
    package func values(_ name: String) -> [String] {
        fields.filter { $0.name.utf8.count == name.utf8.count && $0.name.lowercased().utf8.elementsEqual(name.utf8) }
            .map(\.value.plain)
    }

    /// All values of the cookies of a name, in their order.
    package func cookies(_ name: String) -> [String] {
        values("cookie").flatMap { $0.split(separator: ";") }.compactMap { (pair: Substring) -> String? in
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 && parts[0] == name ? String(parts[1]) : nil
        }
    }
}

package struct WebAnswer: Sendable, Equatable {
    package let status: Int
    package let type: String
    package let body: [UInt8]
    /// Where a browser goes from here.
    package private(set) var location: ConsoleRoute?
    package private(set) var query: String?
    /// The part of that page where it begins to read; nil for its top.
    package private(set) var fragment: String?
    /// A cookie to set, as the header field has it.
    package private(set) var cookie: String?
    /// The methods that the address takes, where the request's is another one.
    package private(set) var methods: String?
    /// Whether the connection ends with the answer, because the rest of the request is unread or not believed.
    package let closes: Bool

    package init(
        _ status: Int, _ text: String, type: String = "text/plain; charset=utf-8", closes: Bool = false
    ) {
        self.status = status
        self.type = type
        body = Array(text.utf8)
        self.closes = closes
    }

    package init(_ status: Int, _ page: Markup) {
        self.init(status, page.html, type: "text/html; charset=utf-8")
    }

    /// The answer to an address that is no page.
    static func notFound(closes: Bool = false) -> WebAnswer {
        WebAnswer(404, "there is no such page\n", closes: closes)
    }

    /// The answer to a method that an address does not take.
    package static func methodRefused(_ text: String, by route: ConsoleRoute, closes: Bool = false) -> WebAnswer {
        var answer = WebAnswer(405, text, closes: closes)
        answer.methods = route.methods
        return answer
    }

    /// The answer to a request that waits for the daemon while the console stops: what a form asks for may be done.
    package static func stopping(_ request: WebRequest) -> WebAnswer {
        let isForm = request.method == "POST"
        let advice = isForm ? ": look whether it was done before you send the form again" : ""
        return WebAnswer(503, "the console is stopping\(advice)\n", closes: true)
    }

    /// The answer to a form that was taken: the browser fetches a page.
    package static func seeOther(
        _ route: ConsoleRoute, query: String? = nil, fragment: String? = nil, cookie: String? = nil
    ) -> WebAnswer {
        var answer = WebAnswer(303, "go to \(route.path)\n")
        (answer.location, answer.query, answer.fragment, answer.cookie) = (route, query, fragment, cookie)
        return answer
    }

    /// The header fields of every answer: nothing is kept, framed, guessed or fetched from elsewhere.
    package static let safety: [(name: String, value: String)] = [
        ("Cache-Control", "no-store"),
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
                + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        // With no-referrer a browser would not name the origin of a form either.
        ("Referrer-Policy", "same-origin"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
    ]
}

/// Checks of a request's head, before its body is read.
package struct RequestGate: Sendable {
    /// Bytes of a body (LIM-123).
    package static let bodyLimit = 10_485_760
    /// Bytes of the body of a browser that was not let in (LIM-123).
    static let strangerLimit = 1_048_576

    private let origins: Set<String>
    private let hosts: Set<String>

    /// - Parameters:
    ///   - scheme: `http`, or `https`.
    ///   - hosts: the names by which the console may be called, each with its port where that is not the scheme's own.
    package init(scheme: String, hosts: [String]) {
        self.hosts = Set(hosts.map { $0.lowercased() })
        origins = Set(self.hosts.map { "\(scheme)://\($0)" })
    }

    /// The refusal of a request by its head; nil for one whose body may be read.
    package func refusal(of request: WebRequest) -> WebAnswer? {
        guard request.fields.allSatisfy({ $0.name.utf8.allSatisfy { $0 < 0x80 } }) else {
            return WebAnswer(400, "the name of a field has ASCII only\n", closes: true)
        }
        let host = request.values("host")
        guard host.count == 1, hosts.contains(host[0].lowercased()) else {
            let text = "this console has another name; start it with --name HOST:PORT, as the browser calls it\n"
            return WebAnswer(421, text, closes: true)
        }
        guard ["GET", "HEAD", "POST"].contains(request.method) else {
            guard let route = ConsoleRoute(path: request.path) else { return .notFound(closes: true) }
            return .methodRefused("the console knows GET and POST\n", by: route, closes: true)
        }
        // A page of another site may not ask for anything; a form has to say that it is ours.
        let origin = request.values("origin")
        guard origin.allSatisfy({ origins.contains($0.lowercased()) }), origin.count < 2,
            request.method != "POST" || origin.count == 1
        else { return WebAnswer(403, "the request comes from another site\n", closes: true) }
        // An element of another site's page may not ask either, with the cookie that browsers add; a link there may.
        let site = request.values("sec-fetch-site")
        guard
            site.allSatisfy({ ["same-origin", "none"].contains($0) })
                || request.values("sec-fetch-dest") == ["document"]
        else { return WebAnswer(403, "the request comes from another site\n", closes: true) }
        return refusal(ofBody: request)
    }

    /// A body has one length, which is said before it comes.
    private func refusal(ofBody request: WebRequest) -> WebAnswer? {
        guard request.values("transfer-encoding").isEmpty else {
            return WebAnswer(411, "a body needs its length\n", closes: true)
        }
        let lengths = request.values("content-length")
        guard let length = lengths.first else {
            return request.method == "POST" ? WebAnswer(411, "a form needs its length\n", closes: true) : nil
        }
        guard lengths.count == 1, length.utf8.allSatisfy(\.isASCIIDigit), let count = Int(length) else {
            return WebAnswer(400, "one length is needed\n", closes: true)
        }
        guard count <= Self.bodyLimit else {
            let text = "the form is too long: go back in the browser, which has what you typed\n"
            return WebAnswer(413, text, closes: true)
        }
        guard request.method != "POST" || request.values("content-type") == ["application/x-www-form-urlencoded"]
        else { return WebAnswer(415, "forms are sent as application/x-www-form-urlencoded\n", closes: true) }
        guard request.method == "POST" || count == 0 else {
            return WebAnswer(400, "only a form has a body\n", closes: true)
        }
        return nil
    }
}

extension String {
    /// The text with `?` for each byte that is not ASCII.
    fileprivate var plain: String {
        guard !utf8.allSatisfy({ $0 < 0x80 }) else { return self }
        return String(decoding: utf8.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}

package struct FormFields: Sendable, Equatable {
    /// Fields of a form (LIM-124): three for each entry of the largest page, and room.
    package static let countLimit = 8192
    /// Bytes of a field's name (LIM-124): the escaped one of a property, and the word before it.
    package static let nameLimit = 1024

    private var values: [String: String] = [:]

    /// Reads a body; nil for one that is no form, or has too many fields. Of several values of a name the last counts,
    /// so that a box that is not ticked has one, too.
    package init?(_ body: [UInt8]) {
        guard !body.isEmpty else { return }
        let fields = body.split(
            separator: UInt8(ascii: "&"), maxSplits: Self.countLimit, omittingEmptySubsequences: false)
        guard fields.count <= Self.countLimit else { return nil }
        for field in fields {
            let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            // The console's own names are ASCII: others may be anybody's, and take long to compare.
            guard let name = PercentText.decode(parts[0], plusIsBlank: true), name.utf8.count <= Self.nameLimit,
                name.utf8.allSatisfy({ $0 < 0x80 }),
                let value = PercentText.decode(parts.dropFirst().first ?? [], plusIsBlank: true)
            else { return nil }
            values[name] = value
        }
    }

    /// The value of a field; nil if the form has none of the name.
    package subscript(_ name: String) -> String? { values[name] }

    /// The fields whose names begin with a text, by the rests of their names.
    package func values(after prefix: String) -> [String: String] {
        let found = values.filter { $0.key.hasPrefix(prefix) }
        return Dictionary(found.map { (String($0.key.dropFirst(prefix.count)), $0.value) }) { first, _ in first }
    }
}
