// Whose an application identifier is (SES-6): the user's who first registered it, or whom the operator assigned. Only
// the rule; that it lasts is the delegate's work, and until that is done nobody has registered.

package import TandemBase
package import TandemWire

/// Application identifiers and the users they belong to.
package struct ApplicationOwners: Sendable {
    /// What becomes of a registration.
    package enum Claim: Sendable, Equatable {
        /// The app is this user's already.
        case owned
        /// The app was nobody's: it is this user's from now on, once that has been stored.
        case new
        case refused(RefusalName)
    }

    private var users: [ApplicationIdentifier: UInt32]

    /// - Parameter users: what was stored before.
    package init(_ users: [ApplicationIdentifier: UInt32] = [:]) { self.users = users }

    /// The user that an app belongs to.
    package subscript(app: ApplicationIdentifier) -> UInt32? { users[app] }

    /// A user registers an app. Nobody is above this rule, root included: what root may do it does as the operator.
    package mutating func claim(_ app: ApplicationIdentifier, by user: UInt32) -> Claim {
        if let owner = users[app] { return owner == user ? .owned : .refused(.appOwned) }
        guard users.count < Limits.applications else { return .refused(.tooManyApplications) }
        users[app] = user
        return .new
    }

    /// The operator gives an app to a user.
    package mutating func assign(_ app: ApplicationIdentifier, to user: UInt32) { users[app] = user }

    /// A new claim could not be stored.
    package mutating func withdraw(_ app: ApplicationIdentifier) { users[app] = nil }
}
