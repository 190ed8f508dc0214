// The limits of a queue, with one of them changed.

package import TandemDelivery
package import TandemWire

extension DeliveryLimits {
    /// The standard limits of each channel, with another value for one of them.
    package static func standard<Value>(
        with limit: WritableKeyPath<DeliveryLimits, Value>, _ value: Value
    ) -> (Channel) -> DeliveryLimits {
        { channel in
            var limits = standard(channel)
            limits[keyPath: limit] = value
            return limits
        }
    }
}
