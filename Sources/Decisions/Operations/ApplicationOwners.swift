// Ownership of application identifiers by uid (SES-6): the first user that registers an identifier, or the one that the
// operator assigned. A new claim counts only once the daemon has stored it. No user can take all identifiers (LIM-11).

package import TandemBase
package import TandemWire

/// The owner of each installed app.
package struct ApplicationOwners: ~Copyable, Sendable {
    /// The decision on a registration.
    package enum Claim: Sendable, Equatable {
        /// The app already belongs to this user.
        case owned
        /// The app had no owner and belongs to this user, once the daemon has stored that.
        case new
        case refused(RefusalName)
    }

    private var users: [ApplicationIdentifier: UInt32]
    private var identifiers: SharedResource<UInt32>

    /// - Parameters:
    ///   - users: the stored owners.
    ///   - privileged: users whose apps may take all identifiers that are left.
    package init(_ users: [ApplicationIdentifier: UInt32] = [:], privileged: Set<UInt32> = []) {
        self.users = users
        identifiers = SharedResource(total: Limits.applications, privileged: privileged)
        for user in users.values { identifiers.record(1, of: user) }
    }

    /// The owner of an app.
    package subscript(app: ApplicationIdentifier) -> UInt32? { users[app] }

    /// A user registers an app. The rule binds root, too: root acts as the operator through ``assign(_:to:)``.
    package mutating func claim(_ app: ApplicationIdentifier, by user: UInt32) -> Claim {
        if let owner = users[app] { return owner == user ? .owned : .refused(.appOwned) }
        guard identifiers.charge(1, to: user) else { return .refused(.tooManyApplications) }
        users[app] = user
        return .new
    }

    /// The apps that a user may own while the others own what they do.
    package func limit(of user: UInt32) -> Int { identifiers.limit(of: user) }

    /// The operator assigns an app to a user.
    package mutating func assign(_ app: ApplicationIdentifier, to user: UInt32) {
        withdraw(app)
        users[app] = user
        identifiers.record(1, of: user)
    }

    /// A new claim could not be stored.
    package mutating func withdraw(_ app: ApplicationIdentifier) {
        if let user = users.removeValue(forKey: app) { identifiers.release(1, of: user) }
    }
}
