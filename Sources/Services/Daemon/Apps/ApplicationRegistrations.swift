// Registrations of one device's apps: ``ApplicationOwners`` decides; this type keeps the claims that are being stored,
// the operator's changes that registrations wait for, and the texts of refusals. The local sockets of both sides share
// them, so that no app is on two sides.

package import TandemBase
package import TandemOperations
import TandemWire

/// The registrations of one device; confined to its loop.
package final class ApplicationRegistrations {
    /// The answer to a connection that asks for an app.
    enum Admission {
        /// The app is its user's and on this side, and that is stored.
        case owned
        /// As `owned`, but claimed just now: the endpoint ends the connections of other users to the app.
        case new
        /// The app has no owner, and the connection only sends, until ``giveBack(_:by:)``.
        case borrowed
        /// The user must claim the app first, or wait for a claim or a change of the app that is under way.
        case unclaimed
        case refused(Refusal)

        var isRefusal: Bool { if case .refused = self { true } else { false } }
    }

    // Unchecked, because nothing is called while it is touched; each item uses it.
    @exclusivity(unchecked) private var owners: ApplicationOwners
    /// Apps whose new owner is being stored, and the other registrations that wait for it.
    private var storing: [ApplicationIdentifier: [UnsafeContinuation<Bool, Never>]] = [:]
    /// Apps that the operator removes or assigns, and the registrations that wait for that.
    private var changing: [ApplicationIdentifier: [UnsafeContinuation<Void, Never>]] = [:]

    /// - Parameters:
    ///   - ownerships: the users and sides of the apps that were registered before.
    ///   - operators: the daemon's own user and root.
    init(_ ownerships: [ApplicationIdentifier: ApplicationOwnership] = [:], operators: Set<UInt32>) {
        owners = ApplicationOwners(ownerships, operators: operators)
    }

    /// The owner and the side of an app; nil if nobody owns it.
    package subscript(app: ApplicationIdentifier) -> ApplicationOwnership? { owners[app] }

    /// The user that an app belongs to.
    package func owner(of app: ApplicationIdentifier) -> UInt32? { owners[app]?.user }

    private func isSettled(_ app: ApplicationIdentifier) -> Bool { storing[app] == nil && changing[app] == nil }

    func caller(_ user: UInt32) -> Caller { owners.caller(user) }

    func isOwner(_ user: UInt32, of app: ApplicationIdentifier) -> Bool { owners.isOwner(user, of: app) }

    func mayUseQueues(of app: ApplicationIdentifier, by user: UInt32) -> Bool { owners.mayUseQueues(of: app, by: user) }

    func mayUseQueues(ofOwner owner: UInt32?, by user: UInt32) -> Bool { owners.mayUseQueues(ofOwner: owner, by: user) }

    // MARK: admission

    /// Why a user may not use an app on a side; nil if the user may.
    func refusal(of app: ApplicationIdentifier, to user: UInt32, on role: DeviceRole) -> Refusal? {
        owners.refusal(of: app, to: user, on: role).map { refusal($0, of: app, to: user, on: role) }
    }

    /// Admits a user's connection to an app at once, if no claim and no change of the app is under way.
    func admit(
        _ user: UInt32, to app: ApplicationIdentifier, on role: DeviceRole, receives: Bool
    ) -> Admission {
        guard isSettled(app) else {
            return refusal(of: app, to: user, on: role).map { .refused($0) } ?? .unclaimed
        }
        switch owners.admit(user, to: app, on: role, receives: receives) {
        case .owned: return .owned
        case .borrowed: return .borrowed
        case .unclaimed: return .unclaimed
        case .refused(let name): return .refused(refusal(name, of: app, to: user, on: role))
        }
    }

    /// Claims an app for a user's connection. No app is registered before its ownership lasts (SES-6); of two claims at
    /// once the first counts, and the other waits for it. A connection that only sends claims nothing (SES-75).
    /// - Parameter store: makes the claim durable; without it ownership lasts as long as this.
    func claim(
        _ app: ApplicationIdentifier, by user: UInt32, on role: DeviceRole, receives: Bool,
        storing store: ((ApplicationIdentifier, _ user: UInt32) async -> Bool)?
    ) async -> Admission {
        await waitForChange(of: app)
        switch owners.admit(user, to: app, on: role, receives: receives) {
        case .refused(let name): return .refused(refusal(name, of: app, to: user, on: role))
        case .borrowed: return .borrowed
        case .owned, .unclaimed: break
        }
        let former = owners[app]
        let claim = owners.claim(app, by: user, on: role)
        var isStored = true
        switch claim {
        case .refused(let name): return .refused(refusal(name, of: app, to: user, on: role))
        case .owned:
            if storing[app] != nil { isStored = await withUnsafeContinuation { storing[app]?.append($0) } }
        case .new:
            guard let store else { break }
            storing[app] = []
            isStored = await store(app, user)
            if !isStored, owners[app] == ApplicationOwnership(user: user, role: role) { owners.revert(app, to: former) }
            for waiting in storing.removeValue(forKey: app) ?? [] { waiting.resume(returning: isStored) }
        }
        // The operator may have removed or assigned it meanwhile.
        guard isStored, owners[app] != nil else { return .refused(.notStored) }
        if let refusal = refusal(of: app, to: user, on: role) { return .refused(refusal) }
        return claim == .new ? .new : .owned
    }

    private func refusal(
        _ name: RefusalName, of app: ApplicationIdentifier, to user: UInt32, on role: DeviceRole
    ) -> Refusal {
        switch name {
        case .appOwned:
            // Only root, who can see it elsewhere too, is told which user. By number: looking up a name may take long.
            let owner = user == 0 ? owners[app].map { "user \($0.user)" } : nil
            return Refusal(
                name,
                "\(app) belongs to \(owner ?? "another user"); run this as that user, or give it to another one: "
                    + "'tandem apps assign \(app) USER'")
        case .appOtherSide:
            return Refusal(
                name,
                "\(app) is on this device's \(role.counterpart) side and registers at the socket of that; after "
                    + "'tandem apps remove \(app)' it may register here")
        default:
            return Refusal(
                name,
                "user \(user) may register \(owners.limit(of: user)) of \(Limits.applications) apps; "
                    + "'tandem apps list' shows all, and 'tandem apps remove APP' makes room")
        }
    }

    func giveBack(_ app: ApplicationIdentifier, by user: UInt32) { owners.giveBack(app, by: user) }

    // MARK: the operator's changes

    package func assign(_ app: ApplicationIdentifier, to ownership: ApplicationOwnership) {
        owners.assign(app, to: ownership)
    }

    func withdraw(_ app: ApplicationIdentifier) { owners.withdraw(app) }

    /// Registrations of the app wait from now on, until ``endChange(of:)``; false if they do already.
    func beginChange(of app: ApplicationIdentifier) -> Bool {
        guard changing[app] == nil else { return false }
        changing[app] = []
        return true
    }

    /// Whether the operator removes or assigns the app now.
    func isChanging(_ app: ApplicationIdentifier) -> Bool { changing[app] != nil }

    /// Returns when no change of the app is under way.
    func waitForChange(of app: ApplicationIdentifier) async {
        while changing[app] != nil {
            // Unsafe, because a scheduler that stops drops the change, and with it these.
            await withUnsafeContinuation { changing[app]?.append($0) }
        }
    }

    func endChange(of app: ApplicationIdentifier) {
        for waiting in changing.removeValue(forKey: app) ?? [] { waiting.resume() }
    }
}

extension Refusal {
    fileprivate static var notStored: Refusal { Refusal(.stopping, "the registration could not be stored") }
}
