// Who takes received items: an application's connection comes and goes; configurations are always taken. An item is
// answered with what its handler made of it.

package import TandemBase
import TandemDelivery
package import TandemWire

extension ItemExchange {
    /// An application takes items of these channels from now on, of all pairings.
    package func consumerArrived(_ app: ApplicationIdentifier, channels: Set<Channel>) {
        let before = consumers[app] ?? []
        consumers[app] = channels
        let reading = reading
        for (key, lane) in inbound where key.app == app && key.channel != .configuration {
            if channels.contains(key.channel) {
                lane.perform { $0.consumerArrived(at: reading).answer }
            } else if before.contains(key.channel) {
                lane.perform { $0.consumerLeft(at: reading).answer }
            }
        }
    }

    /// The application is gone; what it had comes again.
    package func consumerLeft(_ app: ApplicationIdentifier) { consumerArrived(app, channels: []) }

    /// Whether items of this queue have somebody who takes them.
    func hasConsumer(_ key: QueueKey) -> Bool {
        key.channel == .configuration || consumers[key.app]?.contains(key.channel) ?? false
    }

    /// The handler has taken a received item.
    package func handled(_ ordinal: UInt64, in key: QueueKey) {
        let reading = reading
        inbound[key]?.perform { $0.handled(ordinal, at: reading).answer }
    }

    /// The handler has refused a received item for good.
    package func rejected(_ ordinal: UInt64, code: Int64, in key: QueueKey) {
        let reading = reading
        inbound[key]?.perform { $0.rejected(ordinal, code: code, at: reading).answer }
    }

    /// The handler could not take a received item: it comes again after a pause.
    package func failed(_ ordinal: UInt64, in key: QueueKey) {
        let reading = reading
        inbound[key]?.perform { $0.failed(ordinal, at: reading).answer }
    }
}
