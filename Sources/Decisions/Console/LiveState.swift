// State of an app or of the device as the daemon last answered for it, as digests: a page that was made of one state is
// known to be old in another one.

package import TandemBase
import TandemCrypto
import TandemOperations
import TandemPropertyList

/// The state of the subject of open pages: an app, or the device.
package struct LiveState: Sendable {
    /// Time from one look at an app's settings to the next, however fast its edits or its device's answers are
    /// (LIM-126).
    package static let leastPause = Duration.milliseconds(500)

    /// The answer about one part of the subject.
    private enum Part: Sendable {
        case unseen
        case seen(digest: String)
        case silent(reason: String)

        init(_ reply: ConsoleReply, _ lasting: (PropertyListDictionary) -> PropertyListValue) {
            switch reply {
            case .success(let body):
                let text = PropertyListJSON.text(lasting(body))
                self = .seen(digest: Hexadecimal.encode(SHA256.digest(Array(text.utf8)).prefix(16)))
            case .failure(let error): self = .silent(reason: error.description)
            }
        }

        static let unseenText = "-"

        var text: String {
            switch self {
            case .unseen: Self.unseenText
            case .seen(let digest): digest
            case .silent: ""
            }
        }

        var silence: String? { if case .silent(let reason) = self { reason } else { nil } }
        var isUnseen: Bool { if case .unseen = self { true } else { false } }
    }

    private let instance: AppInstance?
    private var lookedAt: MonotonicTime?
    private var settings = Part.unseen
    private var status = Part.unseen

    /// Nothing is known yet.
    /// - Parameter instance: the app; nil for the device.
    package init(of instance: AppInstance?) { self.instance = instance }

    /// The mark of a page that shows the device.
    /// - Parameter reply: the answer to `status` that the page was made of.
    package static func deviceMark(_ reply: ConsoleReply) -> String {
        var state = Self(of: nil)
        state.take(status: reply)
        return state.mark
    }

    // MARK: looks

    /// A look at the app's settings begins.
    package mutating func looks(at now: MonotonicTime) { lookedAt = now }

    /// The time until the next look at the app's settings may begin.
    package func pause(at now: MonotonicTime) -> Duration {
        lookedAt.map { max(.zero, Self.leastPause - now.since($0)) } ?? .zero
    }

    /// Takes the answer to `settings-get`. Its ordinal may grow without a change.
    package mutating func take(settings reply: ConsoleReply) {
        settings = Part(reply) { body in
            var body = body
            body["ordinal"] = nil
            return .dictionary(body)
        }
    }

    /// Takes the answer to `status`.
    package mutating func take(status reply: ConsoleReply) {
        let instance = instance
        status = Part(reply) { body in instance.map { Self.facts(of: $0, in: body) } ?? Self.lasting(body) }
    }

    // MARK: what is known

    /// Why the state is not known now; nil if nothing has failed.
    package var silence: String? { status.silence ?? settings.silence }

    /// Whether every part has been looked at.
    package var isWhole: Bool { !status.isUnseen && (instance == nil || !settings.isUnseen) }

    /// The digests of the state, for the address of a page's stream.
    package var mark: String { "\(settings.text).\(status.text)" }

    /// Whether a page with this mark shows the state. A part that the page was made without looking at counts as shown.
    package func isShown(by mark: String) -> Bool {
        let parts = mark.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2
            && zip(parts, [settings.text, status.text]).allSatisfy { $0 == Part.unseenText || $0 == $1 }
    }

    // MARK: facts

    /// The rows of the status about an app: whether it runs there, and its configurations.
    private static func facts(of instance: AppInstance, in status: PropertyListDictionary) -> PropertyListValue {
        let app = PropertyListValue.string(instance.app.description)
        let pairing = instance.secondary.map { PropertyListValue.data($0.bytes) }
        let lists = ["applications", "configurations", "counterparts"].map { name -> PropertyListValue in
            let rows = (status[name]?.arrayValue ?? []).filter { row in
                row.dictionaryValue?["app"] == app && row.dictionaryValue?["pairing"] == pairing
            }
            return .array(rows)
        }
        return steady(.array(lists))
    }

    /// The status of the device without times.
    private static func lasting(_ status: PropertyListDictionary) -> PropertyListValue {
        var status = status
        if var health = status["health"]?.dictionaryValue, let problems = health["problems"]?.arrayValue {
            health["problems"] = .array(problems.map(withoutTime))
            status["health"] = .dictionary(health)
        }
        return steady(.dictionary(status))
    }

    /// The problem without its text, if that contains a time. Its other facts are elsewhere in the status.
    private static func withoutTime(_ problem: PropertyListValue) -> PropertyListValue {
        guard var row = problem.dictionaryValue, let name = row["name"]?.stringValue,
            HealthProblem.Word(word: name)?.hasTimeInText == true
        else { return problem }
        row["text"] = nil
        return .dictionary(row)
    }

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
