// Apple's three states with Apple's numbers.

/// Where a ``WCSession`` stands.
public enum WCSessionActivationState: Int, Sendable {
    /// Before the first `activate()`, without a daemon, and after `sessionDidDeactivate`.
    case notActivated = 0
    /// A switch to another device has begun: nothing new may be sent.
    case inactive = 1
    /// The session may be used.
    case activated = 2
}
