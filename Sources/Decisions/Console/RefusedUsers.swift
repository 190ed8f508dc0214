// Users of this machine whose connections were hung up (CON-4), each of which the operator learns of once: to a browser
// the console is silent, as if there was none.

package struct RefusedUsers: Sendable {
    /// Users whose refused connections are reported (LIM-146): each of them costs a line.
    private static let countLimit = 16
    private var known: Set<UInt32> = []

    package init() {}

    /// The line about a user's first connection; nil for a further one.
    /// - Parameter own: the user that the console serves.
    package mutating func line(about user: UInt32, own: UInt32) -> String? {
        guard known.count < Self.countLimit, known.insert(user).inserted else { return nil }
        let served = own == 0 ? "user 0 (root)" : "the users \(own) and 0 (root)"
        return "a connection of user \(user) was hung up: this console serves \(served) only; start it as the user of "
            + "the browser, or reach it through ssh -L as a user that it serves"
    }
}
