// Callers of control commands, and which commands each of them may use (CTL-2). ``ApplicationOwners`` decides what a
// user may do with the app of a registered connection.

/// The clients that a control command serves (CTL-2).
enum ControlAccess {
    /// Every client of the local socket; the command limits its answer to the apps of the caller's user.
    case everyone
    /// The daemon's own user and root.
    case `operator`
}

/// The client that sends a control request.
package struct Caller: Sendable {
    package let user: UInt32
    /// The daemon's own user, or root.
    package let isOperator: Bool

    package init(_ user: UInt32, isOperator: Bool) {
        self.user = user
        self.isOperator = isOperator
    }

    /// - Parameter access: nil for an unknown command.
    func isServed(with access: ControlAccess?) -> Bool { isOperator || access == .everyone }

    /// Whether a command may show the caller an app, and change its settings.
    /// - Parameter owner: the app's user; nil if nobody owns it.
    func mayUse(appOf owner: UInt32?) -> Bool { isOperator || owner == user }
}
