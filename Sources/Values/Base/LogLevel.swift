// How much an event matters to an operator. Four levels, because each needs a different reaction: none, none, a look
// today, a look now.

/// The weight of a log event, lightest first.
package enum LogLevel: UInt8, Sendable, CaseIterable {
    /// Only for someone who looks for a fault.
    case debug
    /// A normal step of life: started, linked, stopped.
    case info
    /// Something was refused or lost; the service goes on.
    case warning
    /// The service, or a part of it, does not work.
    case error

    /// The word in a log line and on the command line.
    package var name: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        }
    }

    /// The level with this name; nil for another word.
    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }
}

extension LogLevel: Comparable {
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
