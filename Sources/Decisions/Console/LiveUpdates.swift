// Changes of an app's settings, or of the device, as events for open pages (server-sent events). An event says only
// that something has changed; the page loads itself again.

package import TandemBase
import TandemOperations
package import TandemPropertyList

/// The events of one stream's subject.
package struct LiveUpdates: Sendable {
    /// Bytes of an event that are kept for a browser that does not read (LIM-126).
    package static let byteLimit = 262_144

    /// Time from one look at an app's settings to the next, however fast its edits or its device's answers are
    /// (LIM-126).
    package static let leastPause = Duration.milliseconds(500)

    private var lookedAt: MonotonicTime?
    private var known: PropertyListValue?

    /// Nothing is known yet.
    package init() {}

    /// A look begins.
    package mutating func looks(at now: MonotonicTime) { lookedAt = now }

    /// The time until the next look may begin.
    package func pause(at now: MonotonicTime) -> Duration {
        lookedAt.map { max(.zero, Self.leastPause - now.since($0)) } ?? .zero
    }

    /// The event of an app's new values; nil at first, and if nothing has changed.
    package mutating func event(ofSettings state: PropertyListDictionary) -> String? {
        var steady = state
        steady["ordinal"] = nil
        return event("settings", .dictionary(steady))
    }

    /// The event of a device's new status; nil at first, and if nothing but times has changed.
    package mutating func event(ofStatus status: PropertyListDictionary) -> String? {
        var status = status
        if var health = status["health"]?.dictionaryValue, let problems = health["problems"]?.arrayValue {
            health["problems"] = .array(problems.map(Self.withoutTime))
            status["health"] = .dictionary(health)
        }
        return event("device", Self.steady(.dictionary(status)))
    }

    /// The problem without its text, if that contains a time. Its other facts are elsewhere in the status.
    private static func withoutTime(_ problem: PropertyListValue) -> PropertyListValue {
        guard var row = problem.dictionaryValue, let name = row["name"]?.stringValue,
            HealthProblem.Word(rawValue: name)?.hasTimeInText == true
        else { return problem }
        row["text"] = nil
        return .dictionary(row)
    }

    private mutating func event(_ name: String, _ state: PropertyListValue) -> String? {
        defer { known = state }
        return known == nil || known == state ? nil : "event: \(name)\ndata: changed\n\n"
    }

    /// A line that a browser passes over; one that is gone is found by it.
    package static var heartbeat: String { ":\n\n" }

    /// The facts without those that change as time passes.
    private static func steady(_ value: PropertyListValue) -> PropertyListValue {
        switch value {
        case .dictionary(let pairs):
            return .dictionary(pairs.compactMapValues { passing.contains($0) ? nil : Self.steady($1) })
        case .array(let values): return .array(values.map(Self.steady))
        default: return value
        }
    }

    private static let passing: Set<String> = [
        "uptime", "since", "oldest", "skew", "counters", "left", "endedThere",
    ]
}
