// Rights of users: ownership of application identifiers by uid (SES-6) and side (SES-83), from the first registration
// or the operator's assignment, and the control commands that serve a user (CTL-2). A new claim counts only once the
// daemon has stored it. No user can take all identifiers (LIM-11): `SharedResource` decides how many it may have.

package import TandemBase
package import TandemWire

/// The user and the side of a device that an app belongs to.
package struct ApplicationOwnership: Sendable, Equatable {
    package let user: UInt32
    /// Nil for an app that was only assigned: its first registration decides.
    package let role: DeviceRole?

    package init(user: UInt32, role: DeviceRole?) {
        self.user = user
        self.role = role
    }
}

/// The clients that a control command serves (CTL-2).
package enum ControlAccess {
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
    package func isServed(with access: ControlAccess?) -> Bool { isOperator || access == .everyone }

    /// Whether a command may show the caller an app, and change its settings.
    /// - Parameter owner: the app's user; nil if nobody owns it.
    package func mayUse(appOf owner: UInt32?) -> Bool { isOperator || owner == user }
}

/// The owner of each installed app, and the side that it is on.
package struct ApplicationOwners: ~Copyable, Sendable {
    /// The decision on a connection that asks for an app.
    package enum Admission: Sendable, Equatable {
        /// The app is the user's, on this side.
        case owned
        /// The app has no owner, and the connection only sends.
        case borrowed
        /// The user has to claim the app first.
        case unclaimed
        case refused(RefusalName)
    }

    package enum Claim: Sendable, Equatable {
        /// The app already belongs to this user, on this side.
        case owned
        /// The app had no owner or no side, and has these once the daemon has stored that.
        case new
        case refused(RefusalName)
    }

    /// A user that sends as an app of nobody.
    private struct Borrower: Hashable {
        let app: ApplicationIdentifier
        let user: UInt32
    }

    private var ownerships: [ApplicationIdentifier: ApplicationOwnership]
    private let operators: Set<UInt32>
    private var identifiers: SharedResource<UInt32>
    /// The connections of each borrower; one identifier is charged for all of them.
    private var borrowers: [Borrower: Int] = [:]

    /// - Parameters:
    ///   - ownerships: the stored owners and sides.
    ///   - operators: the daemon's own user and root, whose apps may take all identifiers that are left.
    package init(_ ownerships: [ApplicationIdentifier: ApplicationOwnership] = [:], operators: Set<UInt32> = []) {
        self.ownerships = ownerships
        self.operators = operators
        identifiers = SharedResource(total: Limits.applications, privileged: operators)
        for ownership in ownerships.values { identifiers.record(1, of: ownership.user) }
    }

    package subscript(app: ApplicationIdentifier) -> ApplicationOwnership? { ownerships[app] }

    /// The user as the caller of control commands (CTL-2).
    package func caller(_ user: UInt32) -> Caller { Caller(user, isOperator: operators.contains(user)) }

    /// Whether an app is the user's. Only its owner's connections may bring a configuration for it (CFG-60).
    package func isOwner(_ user: UInt32, of app: ApplicationIdentifier) -> Bool { ownerships[app]?.user == user }

    /// Whether an admitted user may use the queues of the app (SES-75): they are the owner's, and the operator's while
    /// nobody owns the app. A borrower is still connected while the first owner's claim is being stored.
    package func mayUseQueues(of app: ApplicationIdentifier, by user: UInt32) -> Bool {
        mayUseQueues(ofOwner: ownerships[app]?.user, by: user)
    }

    /// - Parameter owner: the app's user; nil if nobody owns it.
    package func mayUseQueues(ofOwner owner: UInt32?, by user: UInt32) -> Bool {
        owner.map { $0 == user } ?? operators.contains(user)
    }

    /// Why a user may not use an app on a side; nil if the user may. The owner is judged first: no other user learns
    /// the side.
    package func refusal(of app: ApplicationIdentifier, to user: UInt32, on role: DeviceRole) -> RefusalName? {
        guard let ownership = ownerships[app] else { return nil }
        if ownership.user != user { return .appOwned }
        return ownership.role == nil || ownership.role == role ? nil : .appOtherSide
    }

    /// A user's connection asks for an app on a side. One that only sends claims nothing: it borrows an app that nobody
    /// owns (SES-75).
    package mutating func admit(
        _ user: UInt32, to app: ApplicationIdentifier, on role: DeviceRole, receives: Bool
    ) -> Admission {
        if let name = refusal(of: app, to: user, on: role) { return .refused(name) }
        if let ownership = ownerships[app] { return ownership.role == nil ? .unclaimed : .owned }
        if receives { return .unclaimed }
        return borrow(app, by: user).map { .refused($0) } ?? .borrowed
    }

    /// A user registers an app on a side. The rule binds root, too: root acts as the operator through
    /// ``assign(_:to:)``.
    package mutating func claim(_ app: ApplicationIdentifier, by user: UInt32, on role: DeviceRole) -> Claim {
        if let name = refusal(of: app, to: user, on: role) { return .refused(name) }
        let ownership = ApplicationOwnership(user: user, role: role)
        if ownerships[app] == ownership { return .owned }
        guard ownerships[app] != nil || identifiers.charge(1, to: user) else { return .refused(.tooManyApplications) }
        ownerships[app] = ownership
        return .new
    }

    /// A new claim could not be stored: the app has again what it had before it.
    package mutating func revert(_ app: ApplicationIdentifier, to former: ApplicationOwnership?) {
        if let former { ownerships[app] = former } else { withdraw(app) }
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

    package mutating func assign(_ app: ApplicationIdentifier, to ownership: ApplicationOwnership) {
        withdraw(app)
        ownerships[app] = ownership
        identifiers.record(1, of: ownership.user)
    }

    /// The app has no owner any longer: its claim could not be stored, or it was removed.
    package mutating func withdraw(_ app: ApplicationIdentifier) {
        if let ownership = ownerships.removeValue(forKey: app) { identifiers.release(1, of: ownership.user) }
    }
}
