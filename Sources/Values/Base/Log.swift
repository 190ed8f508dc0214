// Something worth telling an operator, as a value: a message fixed in the code and facts as fields, so that lines can
// be searched and nothing from outside ever becomes a message. It reads no clock and writes nowhere: Decisions return
// events as effects, the sink of the Machinery floor (or a host app's closure) renders them.

/// Receives log events; on the thread of the caller.
package typealias LogHandler = (LogEvent) -> Void

/// One event of the log.
public struct LogEvent: Sendable {
    /// How much it matters.
    public let level: LogLevel
    /// The same for all events of a kind.
    public let message: StaticString
    /// The facts, in the order in which the text has them.
    public let fields: [LogField]

    package init(_ level: LogLevel, _ message: StaticString, _ fields: LogField...) {
        self.init(level, message, fields: fields)
    }

    package init(_ level: LogLevel, _ message: StaticString, fields: [LogField]) {
        self.level = level
        self.message = message
        self.fields = fields
    }

    /// One line without its end: `2026-11-21T09:30:00Z info link ready pairing=...`.
    public func line(at time: WallTime) -> String { "\(time) \(description)" }
}

extension LogEvent: CustomStringConvertible {
    /// `info link ready pairing=...`.
    public var description: String {
        fields.reduce("\(level.name) \(message)") { "\($0) \($1.name)=\($1.value.rendered)" }
    }
}

extension LogEvent: Equatable {
    public static func == (left: Self, right: Self) -> Bool {
        left.level == right.level && left.message.description == right.message.description
            && left.fields == right.fields
    }
}

extension LogField.Value {
    /// The value as it stands in a line.
    fileprivate var rendered: String {
        switch self {
        case .text(let text): LogText.escaped(text)
        case .outside(let text): LogText.cut(text)
        case .integer(let number): String(number)
        case .unsigned(let number): String(number)
        case .boolean(let flag): flag ? "yes" : "no"
        case .redacted: "<redacted>"
        }
    }
}

// One fact of a log event: a name from our code and a value. The way a field is made says where its text is from:
// what a peer, a file or a person wrote is cut short; a secret leaves no trace but that it was there. There is no way
// to log a payload: neither bytes nor property lists are values here.

/// A named fact of a log event.
public struct LogField: Sendable, Hashable {
    /// The value of a field.
    public enum Value: Sendable, Hashable {
        /// Words of the program.
        case text(String)
        /// Text that a peer, a file or a person chose, whole; a line shows 128 bytes of it, escaped.
        case outside(String)
        /// A count, a size, a number.
        case integer(Int64)
        /// A number beyond those.
        case unsigned(UInt64)
        /// Yes or no.
        case boolean(Bool)
        /// A secret, which is shown nowhere.
        case redacted
    }

    /// The same for all events of a kind.
    public let name: String
    /// The fact.
    public let value: Value

    /// A fact in our own words: an identifier, a reason's stable name.
    package static func text(_ name: StaticString, _ text: String) -> Self {
        Self(name: name.description, value: .text(text))
    }

    /// Text that a peer, a file or a person chose; cut at 128 bytes when rendered.
    package static func outside(_ name: StaticString, _ text: String) -> Self {
        Self(name: name.description, value: .outside(text))
    }

    /// A count, a size, a number.
    package static func integer(_ name: StaticString, _ number: some BinaryInteger) -> Self {
        guard let signed = Int64(exactly: number) else {
            return Self(name: name.description, value: .unsigned(UInt64(clamping: number)))
        }
        return Self(name: name.description, value: .integer(signed))
    }

    /// Yes or no.
    package static func boolean(_ name: StaticString, _ flag: Bool) -> Self {
        Self(name: name.description, value: .boolean(flag))
    }

    /// A secret: the log shows only its presence.
    package static func secret(_ name: StaticString) -> Self {
        Self(name: name.description, value: .redacted)
    }
}

// How much an event matters to an operator. Four levels, because each needs a different reaction: none, none, a look
// today, a look now.

/// The weight of a log event, lightest first.
public enum LogLevel: UInt8, Sendable, CaseIterable {
    /// Only for someone who looks for a fault.
    case debug
    /// A normal step of life: started, linked, stopped.
    case info
    /// Something was refused or lost; the service continues.
    case warning
    /// The service, or a part of it, does not work.
    case error

    /// The word in a log line and on the command line.
    public var name: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        }
    }

    /// The level with this name; nil for another word.
    public init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }
}

extension LogLevel: Comparable {
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

// Text made safe for one line of a log: what a terminal, a log reader or an eye could take for something else is
// escaped (controls, line ends, direction marks, quotes), so that no peer can forge a line. Escaping is also done to
// our own text: a rule without exceptions needs no proof at each place.

enum LogText {
    /// The most bytes of outside text in a line: an identifier in full, not a message.
    static let outsideLimit = 128

    /// The text itself if it is one plain word, else quoted with escapes.
    static func escaped(_ text: some StringProtocol) -> String {
        var line = ""
        var isPlain = !text.isEmpty
        for scalar in text.unicodeScalars {
            if scalar == " " || scalar == "=" { isPlain = false }
            if isUnsafe(scalar) {
                isPlain = false
                line += escape(scalar)
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
        return isPlain ? line : "\"\(line)\""
    }

    /// The first bytes of outside text, whole scalars only, escaped; an ellipsis tells that something was cut.
    static func cut(_ text: String) -> String {
        guard text.utf8.count > outsideLimit else { return escaped(text) }
        var kept = Substring.UnicodeScalarView()
        var size = 0
        for scalar in text.unicodeScalars {
            size += UTF8.width(scalar)
            guard size <= outsideLimit else { break }
            kept.append(scalar)
        }
        kept.append("\u{2026}")
        return escaped(Substring(kept))
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        if scalar == "\"" || scalar == "\\" || scalar.isDeceptive { return true }
        return !scalar.isASCII && scalar.properties.isWhitespace
    }

    fileprivate static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\"": "\\\""
        case "\\": "\\\\"
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: "\\u{\(String(scalar.value, radix: 16))}"
        }
    }
}

// How text of others is shown within an error: quoted, deceptive characters escaped, cut at the limit for peers' text,
// so that it can neither forge a line nor flood a terminal. A line of the log has its own rule (LogText), because there
// our text counts too.

/// Names and values that come from outside, made safe to show.
package enum OutsideText {
    /// The text in quotes, at most 128 bytes of it (Protocol/Limits.md LIM-13).
    package static func quoted(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            let piece = scalar.isDeceptive ? scalar.escaped(asASCII: true) : String(scalar)
            guard shown.utf8.count + piece.utf8.count <= LogText.outsideLimit else { return "'\(shown)'..." }
            shown += piece
        }
        return "'\(shown)'"
    }

    /// The text on one line, without quotes and with deceptive characters escaped. An ellipsis stands for what is
    /// beyond `limit` bytes.
    package static func line(_ text: String, atMost limit: Int = .max) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            let piece = scalar.isDeceptive ? LogText.escape(scalar) : String(scalar)
            guard shown.utf8.count + piece.utf8.count <= limit else { return shown + "\u{2026}" }
            shown += piece
        }
        return shown
    }

    /// The text in quotes, at most `limit` characters of it, with `?` for everything but printable ASCII.
    package static func asciiQuoted(_ text: String, atMost limit: Int) -> String {
        let scalars = text.unicodeScalars
        let shown = scalars.prefix(limit).map { (" "..."~").contains($0) ? Character($0) : "?" }
        return "'\(String(shown))'" + (scalars.count > limit ? "..." : "")
    }
}

extension Unicode.Scalar {
    /// Whether a terminal, a log reader or an eye could take it for something else: controls, line ends, direction
    /// marks, and what no font shows.
    package var isDeceptive: Bool {
        if isASCII { return value < 0x20 || value == 0x7F }
        return switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
