// A daemon with thousands of queues: nothing lists and sorts all of them for each link, app or device.

import TandemBase
import TandemDaemonTestSupport
import TandemDelivery
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct ManyQueuesTests {
    private let nodes: TwoNodes
    private let apps: [ApplicationIdentifier]

    init() throws {
        nodes = try TwoNodes()
        apps = try (0..<100).map { try ApplicationIdentifier("org.example.app\($0)") }
        let delivery = nodes.primary.delivery
        for _ in 0..<20 {
            let pairing = UniqueIdentifier.random()
            delivery.setPairing(pairing, epoch: 1)
            for app in apps {
                for channel in [Channel.userInfo, .context] {
                    let queue = QueueKey(pairing: pairing, app: app, channel: channel)
                    delivery.submissions.submit(OutboundItem(id: .random(), payload: [1]), to: queue) { _ in }
                }
            }
        }
        nodes.run(until: { delivery.queues.count { $0.count > 0 } == 4_000 })
    }

    private func time(_ work: () -> Void) -> Duration {
        let begin = ThreadTime.now
        for _ in 0..<10 { work() }
        return ThreadTime.now - begin
    }

    @Test func `CTL-11: health, which each link asks for, costs a fraction of a list of all queues`() {
        let (list, health) = (time { _ = nodes.primary.delivery.queues }, time { nodes.primary.health.observe() })
        #expect(health < list / 2, "\(health) of \(list)")
    }

    @Test func `CTL-12, LIM-145: an app that hangs for many devices costs health one look at all queues`() throws {
        let (node, hanging) = (nodes.primary, nodes.app)
        let app = try nodes.startApp(at: .primary)
        let pairings = (0..<100).map { _ in UniqueIdentifier.random() }
        let body = try PropertyListWriter.write(PropertyListDictionary())
        for pairing in pairings {
            node.delivery.setPairing(pairing, epoch: 1)
            node.relay.setPairing(
                RelayedPairing(pairing: pairing, role: .primary, peer: .random(), name: "a panel"))
            for app in apps.prefix(20) + [hanging] {
                let item = Envelope(
                    .item, app: app, pairing: pairing, id: .random(), channel: .userInfo, sequence: 1, body: body)
                #expect(node.delivery.receive(item))
            }
        }
        nodes.run(until: { app.received(.delivery).count == pairings.count })
        nodes.clock.advance(by: .seconds(301))
        #expect(node.delivery.arrivals.inHandler.count == pairings.count)
        let (look, report) = (time { _ = node.delivery.arrivals.inHandler }, time { _ = node.health.report() })
        #expect(report < look * 50, "\(report), \(look)")
    }

    @Test func `SES-2: the positions of a pairing, which each hello needs, cost no look at the queues of the others`() {
        let (delivery, pairing) = (nodes.primary.delivery, UniqueIdentifier.random())
        delivery.setPairing(pairing, epoch: 1)
        let begin = ThreadTime.now
        for _ in 0..<1_000 { #expect(delivery.positions(of: pairing).sent.isEmpty) }
        #expect(ThreadTime.now - begin < .milliseconds(100), "\(ThreadTime.now - begin)")
    }

    @Test func `CTL-30: the list of apps makes none of all queues or contexts for each app`() throws {
        let contexts = time { _ = nodes.primary.delivery.contexts.revisions }
        let begin = ThreadTime.now
        let list = try #require(nodes.ask(nodes.primary, "apps").body["apps"]?.arrayValue)
        let passed = ThreadTime.now - begin
        #expect(list.count == apps.count)
        // A hundred lists take ten times as long as these ten.
        #expect(passed < contexts * 3, "\(passed), \(contexts)")
    }
}
