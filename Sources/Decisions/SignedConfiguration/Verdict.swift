// What became of a configuration, as reports and answers name it.

/// A verdict (CFG-25).
package enum Verdict: Sendable, Hashable {
    /// The app's library applied it, or had applied these very bytes before.
    case applied
    /// Staged; the app is not connected.
    case waitingForApplication
    /// A newer one took its place while it waited.
    case superseded
    case rejected(Rejection)

    /// The verdict of a stable name; nil for an unknown one.
    package init?(name: String) {
        switch name {
        case "applied": self = .applied
        case "waiting-for-app": self = .waitingForApplication
        case "superseded": self = .superseded
        default:
            guard let rejection = Rejection(rawValue: name) else { return nil }
            self = .rejected(rejection)
        }
    }

    /// The stable name.
    package var name: String {
        switch self {
        case .applied: "applied"
        case .waitingForApplication: "waiting-for-app"
        case .superseded: "superseded"
        case .rejected(let rejection): rejection.rawValue
        }
    }

    /// Whether another verdict on the same delivery follows (CFG-51).
    package var isProvisional: Bool { self == .waitingForApplication || self == .rejected(.clockUnset) }
}

extension Verdict: CustomStringConvertible {
    package var description: String { name }
}
