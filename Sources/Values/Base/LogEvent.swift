// Something worth telling an operator, as a value: a message fixed in the code and facts as fields, so that lines can
// be searched and nothing from outside ever becomes a message. It reads no clock and writes nowhere: Decisions return
// events as effects, the sink of the Machinery floor (or a host app's closure) renders them.

/// Receives log events; on the thread of whoever logs.
package typealias LogHandler = (LogEvent) -> Void

/// One event of the log.
package struct LogEvent: Sendable {
    package let level: LogLevel
    package let message: StaticString
    package let fields: [LogField]

    package init(_ level: LogLevel, _ message: StaticString, _ fields: LogField...) {
        self.init(level, message, fields: fields)
    }

    package init(_ level: LogLevel, _ message: StaticString, fields: [LogField]) {
        self.level = level
        self.message = message
        self.fields = fields
    }

    /// One line without its end: `2026-11-21T09:30:00Z info link ready pairing=...`.
    package func line(at time: WallTime) -> String {
        var line = "\(time) \(level.name) \(message)"
        for field in fields { line += " \(field.name)=\(field.value.rendered)" }
        return line
    }
}

extension LogEvent: Equatable {
    package static func == (left: Self, right: Self) -> Bool {
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
