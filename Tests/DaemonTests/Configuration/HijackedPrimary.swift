// A primary's daemon in other hands: its pairing, its link and its queues are as they were, and it sends whatever bytes
// a test likes on the channel `configuration`, without any check of its own.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemPropertyList
import TandemSignedConfiguration
import TandemWire
import Testing

@testable import TandemDaemon

final class HijackedPrimary {
    private let nodes: TwoNodes
    private let queue: QueueKey
    private let device: UniqueIdentifier
    private let reportKey: ReportPublicKey
    private var reports: [[UInt8]] = []
    /// Of the last report that was accepted.
    private var counter: UInt64 = 0

    /// Takes over the primary of two linked devices. Its own configuration service hears of nothing any more.
    init(of nodes: TwoNodes) throws {
        self.nodes = nodes
        let peer = try #require(nodes.primary.pairings.all.last.map { ConfigurationPeer($0) })
        queue = QueueKey(pairing: peer.pairing, app: nodes.app, channel: .configuration)
        device = try #require(peer.device)
        reportKey = ReportPublicKey(try PublicKey(subjectPublicKeyInfo: peer.reportKey))
        // The open link goes on to send as it did.
        nodes.primary.delivery.connect(send: { _, _ in }, onEvent: { [unowned self] in take($0) })
    }

    private func take(_ event: DeliveryEvent) {
        guard case .received(let item) = event, item.queue == queue else { return }
        reports.append(item.payload)
        nodes.primary.delivery.arrivals.handled(item.ordinal, in: queue)
    }

    /// The secondary's first report on these bytes, verified as a primary does (CFG-51).
    func report(on bytes: [UInt8]) throws -> ConfigurationReport {
        let nonce = UniqueIdentifier.random()
        nodes.primary.delivery.submissions.submit(OutboundItem(id: nonce, payload: bytes), to: queue) { answer in
            if case .failure(let failure) = answer { Issue.record("not sent: \(failure)") }
        }
        nodes.run(until: { reports.contains { ConfigurationReport.claimedNonce($0) == nonce } })
        let report = try #require(reports.first { ConfigurationReport.claimedNonce($0) == nonce })
        var verifier = ReportVerifier(
            key: reportKey, device: device, pairing: queue.pairing, counter: counter, open: [nonce])
        let accepted = try verifier.accept(report)
        counter = verifier.counter
        #expect(accepted.facts.digest == SHA256.digest(bytes))
        return accepted
    }
}
