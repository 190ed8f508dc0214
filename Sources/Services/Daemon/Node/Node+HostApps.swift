// Host apps that register, come and go: what is stored of them, and who hears of it.

package import TandemBase
import TandemSession
import TandemStore

extension Node: LocalEndpointDelegate {
    package func localEndpoint(
        _ endpoint: LocalEndpoint, store app: ApplicationIdentifier, ownedBy user: UInt32,
        completion: @escaping (Bool) -> Void
    ) {
        installed.perform(
            { next in (next.install(app, user: user), { completion(true) }) },
            failure: { [self] error in
                report(error)
                completion(false)
            })
    }

    package func localEndpoint(_ endpoint: LocalEndpoint, directoryOf app: ApplicationIdentifier) -> String? {
        carrier.directory(of: app)
    }

    package func localEndpoint(_ endpoint: LocalEndpoint, connected application: ConnectedApplication) {
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

    package func localEndpoint(_ endpoint: LocalEndpoint, disconnected application: ConnectedApplication) {
        // First what waits: an app that has handled everything is not to come back.
        starter?.workChanged(exchange.applicationsWithItems)
        starter?.disconnected(application.app)
        carrier.disconnected(application.app, as: application.role)
    }
}
