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

    /// A user that sends as an app of nobody.
    private struct Borrower: Hashable {
        let app: ApplicationIdentifier
        let user: UInt32
    }

    private var users: [ApplicationIdentifier: UInt32]
    private var identifiers: SharedResource<UInt32>
    /// The connections of each borrower; one identifier is charged for all of them.
    private var borrowers: [Borrower: Int] = [:]

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

    /// A user begins to send as an app that nobody owns (SES-75). The app stays nobody's, and counts among the user's
    /// until ``giveBack(_:by:)``.
    package mutating func borrow(_ app: ApplicationIdentifier, by user: UInt32) -> RefusalName? {
        let borrower = Borrower(app: app, user: user)
        guard borrowers[borrower] != nil || identifiers.charge(1, to: user) else { return .tooManyApplications }
        borrowers[borrower, default: 0] += 1
        return nil
    }

    /// A connection that borrowed the app has ended.
    package mutating func giveBack(_ app: ApplicationIdentifier, by user: UInt32) {
        let borrower = Borrower(app: app, user: user)
        guard let count = borrowers[borrower] else { return }
        borrowers[borrower] = count > 1 ? count - 1 : nil
        if count == 1 { identifiers.release(1, of: user) }
    }

    /// The apps that a user may own while the others own what they do.
    package func limit(of user: UInt32) -> Int { identifiers.limit(of: user) }

    /// The operator assigns an app to a user.
    package mutating func assign(_ app: ApplicationIdentifier, to user: UInt32) {
        withdraw(app)
        users[app] = user
        identifiers.record(1, of: user)
    }

    /// The app has no owner any longer: its claim could not be stored, or it was removed.
    package mutating func withdraw(_ app: ApplicationIdentifier) {
        if let user = users.removeValue(forKey: app) { identifiers.release(1, of: user) }
    }
}
