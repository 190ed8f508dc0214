// A primary's daemon in other hands: its pairing, its link and its queues are as they were, and it sends whatever bytes
// a test likes on the channel `configuration`, without any check of its own.

import TandemBase
import TandemDaemonTestSupport
import TandemDelivery
import TandemSignedConfiguration
import TandemWire
import Testing

@testable import TandemDaemon

final class HijackedPrimary {
    private let nodes: TwoNodes
    private let queue: QueueKey
    private var reports: DeviceReports

    /// Takes over the primary of two linked devices. Its own configuration service hears of nothing any more.
    init(of nodes: TwoNodes) throws {
        self.nodes = nodes
        let peer = try #require(nodes.primary.pairings.all.last.map { ConfigurationPeer($0) })
        queue = .configuration(of: nodes.app, at: peer.pairing)
        reports = try DeviceReports(of: peer)
        // The open link goes on to send as it did.
        nodes.primary.delivery.connect(send: { _, _ in }, onEvent: { [weak self] in self?.take($0) })
    }

    private func take(_ event: DeliveryEvent) {
        guard case .received(let item) = event, item.queue == queue else { return }
        reports.add(item.payload)
        nodes.primary.delivery.arrivals.handled(item.ordinal, in: queue)
    }

    /// The secondary's first report on these bytes.
    func report(on bytes: [UInt8]) throws -> ConfigurationReport {
        let nonce = UniqueIdentifier.random()
        nodes.primary.delivery.submissions.submit(OutboundItem(id: nonce, payload: bytes), to: queue) { answer in
            if case .failure(let failure) = answer { Issue.record("not sent: \(failure)") }
        }
        nodes.run(until: { reports.has(nonce) })
        return try reports.accept(nonce, on: bytes)
    }
}
