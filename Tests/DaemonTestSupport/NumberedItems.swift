// Items with a number as their payload.

package import TandemBase
import TandemDaemon
package import TandemDelivery

package func payloadItem(
    _ number: Int, topic: String? = nil, kind: String? = nil, key: String? = nil, lifetime: Duration? = nil,
    after: UniqueIdentifier? = nil
) -> OutboundItem {
    OutboundItem(
        id: .random(), payload: Array("\(number)".utf8), supersedeKey: key.map { Array($0.utf8) }, lifetime: lifetime,
        topic: topic, kind: kind, after: after)
}

extension ReceivedItem {
    package var number: Int { Int(String(decoding: payload, as: UTF8.self)) ?? -1 }
}
