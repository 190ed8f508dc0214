// For which apps received items wait: of the application's channels only, since the daemon itself handles
// configuration.

package import TandemBase
import TandemDelivery
import TandemWire

extension ItemExchange {
    /// The apps for which received items wait, here or with their handlers.
    package var applicationsWithItems: Set<ApplicationIdentifier> {
        var apps: Set<ApplicationIdentifier> = []
        for (key, lane) in inbound where key.channel != .configuration && lane.machine.count > 0 {
            apps.insert(key.app)
        }
        return apps
    }
}
