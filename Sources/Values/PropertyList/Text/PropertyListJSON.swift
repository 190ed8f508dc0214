// Property-list values as JSON for people and programs. Deterministic: keys come in their own order, and every value
// has one spelling, so that equal values are equal text. What JSON cannot say is an object with one reserved key:
// data is {"$data": base64url}, a date is {"$date": milliseconds since 1970}. JSONReader reads both back.

import TandemBase

/// Writes values as JSON text.
package enum PropertyListJSON {
    static let dataKey = "$data"
    static let dateKey = "$date"

    /// The JSON text, on one line, or indented by two spaces if `pretty`. Ends without a newline.
    package static func text(_ value: PropertyListValue, pretty: Bool = false) -> String {
        var text = ""
        append(value, to: &text, indent: pretty ? 0 : nil)
        return text
    }

    private static func append(_ value: PropertyListValue, to text: inout String, indent: Int?) {
        switch value {
        case .boolean(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .unsigned(let value): text += String(value)
        // A value in memory may be infinite though none on the wire is; JSON has no word for it.
        case .real(let value): text += value.isFinite ? "\(value)" : "null"
        case .string(let value): text += quoted(value)
        case .data(let bytes): text += "{\"\(dataKey)\":\(quoted(Base64URL.encode(bytes)))}"
        case .date(let date): text += "{\"\(dateKey)\":\(date.millisecondsSince1970)}"
        case .array(let values): list(values, "[", "]", to: &text, indent) { append($0, to: &$1, indent: $2) }
        case .dictionary(let pairs):
            list(Array(pairs), "{", "}", to: &text, indent) { pair, text, indent in
                text += quoted(pair.key) + (indent == nil ? ":" : ": ")
                append(pair.value, to: &text, indent: indent)
            }
        }
    }

    private static func list<Element>(
        _ elements: [Element], _ open: String, _ close: String, to text: inout String, _ indent: Int?,
        _ write: (Element, inout String, Int?) -> Void
    ) {
        text += open
        for (place, element) in elements.enumerated() {
            text += place == 0 ? "" : ","
            text += newLine(indent.map { $0 + 2 })
            write(element, &text, indent.map { $0 + 2 })
        }
        text += (elements.isEmpty ? "" : newLine(indent)) + close
    }

    private static func newLine(_ indent: Int?) -> String {
        indent.map { "\n" + String(repeating: " ", count: $0) } ?? ""
    }

    /// Control characters, also those that only some terminals obey, are escaped: the text may be a peer's.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                quoted += "\\u" + Hexadecimal.encode([UInt8(scalar.value >> 8), UInt8(scalar.value & 0xFF)])
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
