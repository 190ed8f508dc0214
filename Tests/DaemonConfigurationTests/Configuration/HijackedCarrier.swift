// A carrier's daemon in other hands, between a primary and a far secondary that know nothing of it: its pairings, links
// and queues are as they were, and it passes on whatever bytes a test likes, under the primary's own nonce.

import TandemBase
import TandemDaemonTestSupport
import TandemDelivery
import TandemPropertyList
import TandemSignedConfiguration
import TandemWire
import Testing

@testable import TandemDaemon

final class HijackedCarrier {
    private let nodes: TwoNodes
    private let above: QueueKey
    private let below: QueueKey
    /// Takes the place of the next envelope that comes from above.
    var instead: [UInt8]?
    /// The last nonce from above, and the reports from below.
    private var nonce: UniqueIdentifier?
    private var reports: DeviceReports

    /// Takes over the carrier of a chain. Its own configuration service hears of nothing any more.
    init(of nodes: TwoNodes) throws {
        self.nodes = nodes
        let peers = nodes.secondary.pairings.all.map { ConfigurationPeer($0) }
        let queue = { (peer: ConfigurationPeer) in
            QueueKey.configuration(of: nodes.app, at: peer.pairing)
        }
        above = queue(try #require(peers.first { $0.role == .secondary }))
        let peer = try #require(peers.first { $0.role == .primary })
        below = queue(peer)
        reports = try DeviceReports(of: peer)
        nodes.secondary.delivery.connect(send: { _, _ in }, onEvent: { [weak self] in self?.take($0) })
    }

    private func take(_ event: DeliveryEvent) {
        guard case .received(let item) = event else { return }
        if item.queue == above, let carried = CarriedConfiguration(item.payload) {
            nonce = item.id
            send(OutboundItem(id: item.id, payload: instead ?? carried.envelope), to: below)
        } else if item.queue == below {
            reports.add(item.payload)
            let report = CarriedReport(from: below.pairing, report: item.payload)
            send(OutboundItem(id: .random(), payload: report.bytes), to: above)
        }
        nodes.secondary.delivery.arrivals.handled(item.ordinal, in: item.queue)
    }

    private func send(_ item: OutboundItem, to queue: QueueKey) {
        nodes.secondary.delivery.submissions.submit(item, to: queue) { answer in
            if case .failure(let failure) = answer { Issue.record("not sent: \(failure)") }
        }
    }

    /// The far secondary's report on these bytes.
    func report(on bytes: [UInt8]) throws -> ConfigurationReport {
        nodes.run(until: { reports.has(nonce) })
        return try reports.accept(try #require(nonce), on: bytes)
    }
}
