// Host apps that register, come and go: what is stored of them, and who hears of it.

import TandemBase
import TandemSession
import TandemStore

extension Node {
    func connectLocal() {
        local.connect(
            LocalEndpoint.Outlets(
                store: { [weak self] app, user in await self?.store(app, ownedBy: user) ?? false },
                directory: { [weak self] in self?.carrier.directory(of: $0) },
                connected: { [weak self] in self?.connected($0) },
                disconnected: { [weak self] in self?.disconnected($0) }))
    }

    private func store(_ app: ApplicationIdentifier, ownedBy user: UInt32) async -> Bool {
        do throws(StoreError) {
            try await installed.perform { next in (next.install(app, user: user), ()) }
            return true
        } catch {
            report(error)
            return false
        }
    }

    private func connected(_ application: ConnectedApplication) {
        let app = application.app
        starter?.connected(app)
        installed.perform(
            { [self] next in
                let changes = application.registration.identifier.map { next.declare($0, for: app) } ?? []
                return (
                    changes,
                    { [self] in
                        // Another name for this device is another target of its own app.
                        if !changes.isEmpty, application.role == .primary {
                            carrier.targetChanged(of: app, as: .primary, isConnected: false)
                        }
                        // The app may have gone while its name was written down.
                        guard local.connected(app) != nil else { return }
                        carrier.connected(app, as: application.role, application.registration)
                    }
                )
            },
            failure: { [self] in report($0) })
    }

    private func disconnected(_ application: ConnectedApplication) {
        // First what waits: an app that has handled everything is not to come back.
        starter?.workChanged(exchange.applicationsWithItems)
        starter?.disconnected(application.app)
        carrier.disconnected(application.app, as: application.role)
    }
}
