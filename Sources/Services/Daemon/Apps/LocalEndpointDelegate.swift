// What a local endpoint needs from the daemon around it: that ownership lasts, where an app's directory is, and someone
// who wants to know which apps are there.

package import TandemBase
package import TandemSession

/// A host app whose receiving connection is registered.
package struct ConnectedApplication: Sendable, Equatable {
    package let app: ApplicationIdentifier
    /// The side that its socket serves.
    package let role: DeviceRole
    /// The user that owns the app.
    package let user: UInt32
    /// What the app said of itself: anchor, custom identifier, whether its code allows invalid signatures.
    package let registration: Registration
    /// The app's library takes kind `configuration` (SES-3).
    package let takesConfiguration: Bool

    package init(
        app: ApplicationIdentifier, role: DeviceRole, user: UInt32, registration: Registration,
        takesConfiguration: Bool = true
    ) {
        self.app = app
        self.role = role
        self.user = user
        self.registration = registration
        self.takesConfiguration = takesConfiguration
    }
}

/// Serves a local endpoint; on the loop.
package protocol LocalEndpointDelegate: AnyObject {
    /// Stores that the app is installed and belongs to the user. `completion` exactly once, on the loop, now or later:
    /// false if it could not be stored.
    func localEndpoint(
        _ endpoint: LocalEndpoint, store app: ApplicationIdentifier, ownedBy user: UInt32,
        completion: @escaping (Bool) -> Void)

    /// The app's own directory; nil if the side has none.
    func localEndpoint(_ endpoint: LocalEndpoint, directoryOf app: ApplicationIdentifier) -> String?

    /// An app's receiving connection has been told `registered`.
    func localEndpoint(_ endpoint: LocalEndpoint, connected application: ConnectedApplication)

    /// An app's receiving connection is gone.
    func localEndpoint(_ endpoint: LocalEndpoint, disconnected application: ConnectedApplication)
}
