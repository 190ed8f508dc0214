// Whose an app is, while it is being decided and stored: nobody is registered before the ownership lasts (SES-6), and
// of two that come at once the first counts.

package import TandemBase
import TandemOperations
import TandemWire

extension LocalEndpoint {
    /// The user that an app belongs to.
    package func owner(of app: ApplicationIdentifier) -> UInt32? { owners[app] }

    /// The operator gives an app to a user. The caller stores it.
    package func assign(_ app: ApplicationIdentifier, to user: UInt32) { owners.assign(app, to: user) }

    func claim(_ app: ApplicationIdentifier, by user: UInt32, completion: @escaping (Refusal?) -> Void) {
        switch owners.claim(app, by: user) {
        case .refused(.appOwned): completion(Refusal(.appOwned, "\(app) belongs to another user"))
        case .refused(let name): completion(Refusal(name, "no more apps can be registered"))
        case .owned: afterStoring(app) { completion($0 ? nil : Self.notStored) }
        case .new:
            storing[app] = [{ completion($0 ? nil : Self.notStored) }]
            store(app, user)
        }
    }

    private static var notStored: Refusal { Refusal(.stopping, "the registration could not be stored") }

    /// Calls back when the app's owner is stored: at once, unless that is still going on.
    private func afterStoring(_ app: ApplicationIdentifier, _ completion: @escaping (Bool) -> Void) {
        if storing[app] == nil { completion(true) } else { storing[app]?.append(completion) }
    }

    private func store(_ app: ApplicationIdentifier, _ user: UInt32) {
        guard let delegate else { return stored(app, true) }
        delegate.localEndpoint(self, store: app, ownedBy: user) { [weak self] isStored in self?.stored(app, isStored) }
    }

    private func stored(_ app: ApplicationIdentifier, _ isStored: Bool) {
        guard let waiting = storing.removeValue(forKey: app) else { return }
        if !isStored { owners.withdraw(app) }
        for completion in waiting { completion(isStored) }
    }

    /// The connection takes the app's messages no more.
    func release(_ app: ApplicationIdentifier, from connection: HostAppConnection) {
        if receivers[app] === connection { receivers[app] = nil }
    }
}
