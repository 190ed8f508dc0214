// What two devices tell each other of their apps (SES-16): what leaves for a link, and what comes from one.

package import TandemBase
import TandemPropertyList
package import TandemSession
import TandemWire

extension Relay {
    func announce(_ application: LocalApplication, to port: RelayPort) {
        var announcement = application.announcement
        if port.side.role == .secondary { announcement.identifier = nil }
        if case .link(let end) = port.source {
            announcement.seen = application.routes[end.known.pairing]?.reachability.level
        }
        do {
            deliver(try Envelope(.application, app: application.app).with(body: announcement.body), to: port)
        } catch {
            notWritten(.application, error)
        }
    }

    func announced(_ envelope: Envelope, from port: RelayPort) -> RefusalName? {
        guard case .link(let end) = port.source else { return .unexpected }
        guard let app = envelope.app else { return .envelope }
        guard let body = try? envelope.dictionaryBody() else { return .malformed }
        guard let announcement = try? ApplicationAnnouncement(body: body) else { return .envelope }
        let before = end.announcement(of: app)
        guard end.announced(app, announcement, limit: Limits.applications) else { return .tooManyApplications }
        let application = port.side.applications[app]
        routeMayHaveChanged(application, end)
        delegate?.relay(self, counterpartOf: app, in: end.known, announced: announcement)
        if let application, (announcement.identifier, announcement.seen) != (before?.identifier, before?.seen) {
            markState(of: application)
        }
        return nil
    }

    /// Level, reason and since of an app's counterpart, on any side; nil if there is no such pairing or app.
    package func reachability(
        of app: ApplicationIdentifier, pairing: UniqueIdentifier, on side: Side
    ) -> Reachability? {
        side.applications[app]?.routes[pairing]?.reachability
    }
}
