// Registrations of one device's apps: owner and side of each, the claims that are being stored, and the operator's
// changes that registrations wait for. The local sockets of both sides share them, so that no app is on two sides.

package import TandemBase
package import TandemOperations
import TandemWire

/// The registrations of one device; confined to its loop.
package final class ApplicationRegistrations {
    /// The end of a claim.
    enum Claim {
        /// The app was the user's on this side already.
        case owned
        /// It is from now on, and that is stored.
        case new
        case notStored
        case refused(RefusalName)
    }

    private var owners: ApplicationOwners
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

    /// Whether no claim and no change of the app is under way.
    func isSettled(_ app: ApplicationIdentifier) -> Bool { storing[app] == nil && changing[app] == nil }

    func caller(_ user: UInt32) -> Caller { Caller(user, isOperator: owners.isOperator(user)) }

    func mayUseQueues(of app: ApplicationIdentifier, by user: UInt32) -> Bool { owners.mayUseQueues(of: app, by: user) }

    func refusal(of app: ApplicationIdentifier, to user: UInt32, on role: DeviceRole) -> RefusalName? {
        owners.refusal(of: app, to: user, on: role)
    }

    func limit(of user: UInt32) -> Int { owners.limit(of: user) }

    // MARK: claims

    /// Claims an app; of two claims at once the first counts, and the other waits for it.
    /// - Parameter store: makes the claim durable; without it ownership lasts as long as this.
    func claim(
        _ app: ApplicationIdentifier, by user: UInt32, on role: DeviceRole,
        storing store: ((ApplicationIdentifier, _ user: UInt32) async -> Bool)?
    ) async -> Claim {
        let former = owners[app]
        switch owners.claim(app, by: user, on: role) {
        case .refused(let name): return .refused(name)
        case .owned:
            guard storing[app] != nil else { return .owned }
            let isStored = await withUnsafeContinuation { storing[app]?.append($0) }
            return isStored ? .owned : .notStored
        case .new:
            guard let store else { return .new }
            storing[app] = []
            let isStored = await store(app, user)
            if !isStored, owners[app] == ApplicationOwnership(user: user, role: role) { owners.revert(app, to: former) }
            for waiting in storing.removeValue(forKey: app) ?? [] { waiting.resume(returning: isStored) }
            return isStored ? .new : .notStored
        }
    }

    func borrow(_ app: ApplicationIdentifier, by user: UInt32) -> RefusalName? { owners.borrow(app, by: user) }

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
