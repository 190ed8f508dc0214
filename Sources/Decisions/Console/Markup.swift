// HTML as a value that cannot carry foreign markup: names of elements and attributes are literals of the program, and
// every other text is escaped where it comes in. There is no way to add raw text.

import TandemBase
import TandemPages

/// A piece of a page.
package struct Markup: Sendable, Equatable {
    package struct Attribute: Sendable {
        fileprivate let text: String

        /// An attribute with a value; a value from outside never is an address (see ``link(_:_:)``).
        package init(_ name: StaticString, _ value: String) { text = " \(name)=\"\(Markup.escaped(value))\"" }

        private init(text: String) { self.text = text }

        /// An attribute without a value, if the condition holds.
        package static func flag(_ name: StaticString, if isSet: Bool = true) -> Attribute {
            Attribute(text: isSet ? " \(name)" : "")
        }

        package static func optional(_ name: StaticString, _ value: String?) -> Attribute {
            value.map { Attribute(name, $0) } ?? Attribute(text: "")
        }

        /// The address of a page of the console.
        package static func link(_ name: StaticString, _ route: ConsoleRoute, fragment: String? = nil) -> Attribute {
            Attribute(name, route.path + (fragment.map { "#" + PercentText.encode($0) } ?? ""))
        }

        /// The address of the stream of a page, which was made of the state with this mark.
        static func events(of instance: AppInstance?, mark: String) -> Attribute {
            Attribute("data-events", "\(ConsoleRoute.events(instance).path)?\(WebRequest.markField)=\(mark)")
        }

        /// An address from outside; nil for one that is neither of the web nor of a mail, such as a script, and for one
        /// of the web without a host: a browser takes `http:/x` for a path of the console itself.
        package static func address(_ url: String) -> Attribute? {
            let scheme = url.prefix { $0 != ":" }
            switch scheme.lowercased() {
            case "mailto": return Attribute("href", url)
            case "http", "https":
                let rest = url.dropFirst(scheme.count + 1)
                guard rest.hasPrefix("//"), let first = rest.dropFirst(2).first, !"/\\?#".contains(first) else {
                    return nil
                }
                return Attribute("href", url)
            default: return nil
            }
        }
    }

    package private(set) var html: String

    package init(_ text: String) { html = Self.escaped(text) }

    package init(_ pieces: [Markup]) { html = pieces.map(\.html).joined() }

    private init(html: String) { self.html = html }

    package static func tag(_ name: StaticString, _ attributes: Attribute..., of pieces: [Markup]) -> Markup {
        element(name, attributes, pieces)
    }

    package static func tag(_ name: StaticString, _ attributes: Attribute..., text: String) -> Markup {
        element(name, attributes, [Markup(text)])
    }

    /// An element around a text whose direction is its own, as of a name from outside.
    package static func tag(_ name: StaticString, _ attributes: Attribute..., foreign text: String) -> Markup {
        element(name, attributes, [.tag("bdi", text: text)])
    }

    /// An element that has no end, such as `input`.
    package static func single(_ name: StaticString, _ attributes: Attribute...) -> Markup { single(name, attributes) }

    package static func single(_ name: StaticString, _ attributes: [Attribute]) -> Markup {
        Markup(html: "<\(name)\(attributes.map(\.text).joined())>")
    }

    /// A text of an app, in the language that it is translated to (PAG-10).
    static func spoken(_ text: String, _ languages: [String: String]) -> Markup {
        .tag("bdi", .optional("lang", language(of: text, languages)), text: text)
    }

    /// The language of a text: none for one that takes long to compare, which may be any value of an app.
    private static func language(of text: String, _ languages: [String: String]) -> String? {
        CombiningMarks.areMany(in: text) ? nil : languages[text]
    }

    /// The name of a row or a page where it does not stand itself (LIM-92).
    static func name(_ text: String, _ languages: [String: String]) -> Markup {
        .tag("bdi", .optional("lang", language(of: text, languages)), text: PageText.short(text))
    }

    /// A part of a text, as ``spoken(_:_:)``; its direction is that of the whole.
    static func inLanguage(_ text: String, _ languages: [String: String]) -> Markup {
        language(of: text, languages).map { .tag("span", .init("lang", $0), text: text) } ?? Markup(text)
    }

    /// An image that says nothing beside the text that it stands with; its bytes are within the page.
    static func image(_ image: PageImage) -> Markup {
        let bytes = String(decoding: Base64.encode(image.bytes), as: UTF8.self)
        return .single("img", .init("src", "data:\(image.kind.rawValue);base64,\(bytes)"), .init("alt", ""))
    }

    /// A mistake or a failure, which a screen reader says at once; the direction of the text is its own.
    static func alert(_ text: String) -> Markup {
        .tag("p", .init("role", "alert"), .init("class", "mistake"), foreign: text)
    }

    /// A field that nobody sees.
    static func hidden(_ name: String, _ value: String) -> Markup {
        .single("input", .init("type", "hidden"), .init("name", name), .init("value", value))
    }

    /// A form that is sent to a route, with its token.
    static func form(
        to route: ConsoleRoute, cookie: String, _ attributes: Attribute..., of pieces: [Markup]
    ) -> Markup {
        let token = hidden(FormToken.field, FormToken.make(for: route, cookie: cookie))
        return element("form", [.init("method", "post"), .link("action", route)] + attributes, [token] + pieces)
    }

    package static func document(_ attributes: Attribute..., of pieces: [Markup]) -> Markup {
        Markup(html: "<!DOCTYPE html>\n" + element("html", attributes, pieces).html)
    }

    private static func element(_ name: StaticString, _ attributes: [Attribute], _ pieces: [Markup]) -> Markup {
        // A browser passes over a line feed that begins one of these, so that the text's own would be lost.
        let start = "\(name)" == "textarea" ? "\n" : ""
        return Markup(
            html: "<\(name)\(attributes.map(\.text).joined())>\(start)\(pieces.map(\.html).joined())</\(name)>")
    }

    /// The text with all characters that mean anything to a reader of HTML replaced; control characters, which HTML
    /// does not allow, become U+FFFD.
    fileprivate static func escaped(_ text: String) -> String {
        // Nearly all texts stay as they are, and a page has thousands of them.
        guard text.utf8.contains(where: mayMean) else { return text }
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case "`": escaped += "&#96;"
            case "\r": escaped += "&#13;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            case _ where isForbidden(scalar): escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// The text as a page has it and a form gives it back: with U+FFFD for control characters.
    static func carried(_ text: String) -> String {
        var carried = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { carried.append(isForbidden(scalar) ? "\u{FFFD}" : scalar) }
        return String(carried)
    }

    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\t", "\n", "\r": false
        case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}": true
        default: false
        }
    }

    /// Whether a byte may begin a character that is replaced: 0xC2 begins the control characters from U+0080.
    private static func mayMean(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\n"), UInt8(ascii: "\t"): false
        case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "'"),
            UInt8(ascii: "`"), 0...0x1F, 0x7F, 0xC2:
            true
        default: false
        }
    }
}
