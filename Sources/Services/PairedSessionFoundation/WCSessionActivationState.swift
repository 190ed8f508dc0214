// Apple's three states with Apple's numbers.

/// Where a ``WCSession`` stands.
public enum WCSessionActivationState: Int, Sendable {
    case notActivated = 0
    case inactive = 1
    case activated = 2
}
