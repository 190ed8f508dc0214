// A paired device that names more apps than there is room for, as an operator sees it.

import TandemBase
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct CrowdedTests {
    private let nodes: TwoNodes

    init() throws {
        nodes = try TwoNodes(paired: true)
        nodes.network.isDown = true
    }

    /// Takes a frame of the primary about the queue of an app.
    private func take(_ kind: FrameKind, _ number: Int) throws {
        let frame = Envelope(
            kind, app: try ApplicationIdentifier("org.example.\(number)"),
            pairing: try nodes.pairingIdentifier(of: nodes.secondary), channel: .userInfo, sequence: 1,
            name: kind == .gap ? "cancelled" : nil)
        #expect(nodes.secondary.delivery.receive(frame))
    }

    private func problem() -> PropertyListDictionary? {
        nodes.ask(nodes.secondary, "health").body.rows("problems").first { $0["name"] == "crowded" }
    }

    @Test func `CTL-12, DEL-46: health and the log say that a further app's items have no room, until they have`()
        throws
    {
        for number in 0..<Limits.applications { try take(.gap, number) }
        #expect(problem() == nil)
        for number in Limits.applications..<Limits.applications + 20 { try take(.gap, number) }
        #expect(nodes.lines("no room for a further app's items, they come again").count == 1)
        let pairing = try nodes.pairing(of: nodes.secondary)
        #expect(problem()?["pairing"] == pairing)
        #expect(problem()?["text"]?.stringValue?.hasPrefix("the primary has named too many apps") == true)
        try take(.outcomeAck, 0)
        #expect(problem() == nil)
    }

    @Test
    func `PAR-18, CTL-78: health and the log say that a further app's identifier has no effect, while it is there`()
        throws
    {
        let (pairings, pairing) = (nodes.secondary.pairings, try nodes.pairingIdentifier(of: nodes.secondary))
        let kitchen = try CustomIdentifier("kitchen")
        for number in 0..<Limits.applications {
            pairings.declared(kitchen, for: try ApplicationIdentifier("org.example.\(number)"), pairing: pairing)
        }
        nodes.run(until: { pairings.claimedApplications.count == Limits.applications })
        #expect(problem() == nil)
        try nodes.connect(to: .primary, .init(identifier: kitchen)).disconnect()
        nodes.run(until: { problem() != nil })
        #expect(problem()?["pairing"] == .data(pairing.bytes))
        let text = try #require(problem()?["text"]?.stringValue)
        #expect(
            text.hasPrefix("the primary has declared custom identifiers") && text.contains("\(nodes.app)"), "\(text)")
        // The same line for each time that an app announces itself.
        let lines = { Set(nodes.lines("no room for a further app's custom identifier, it has no effect")) }
        #expect(lines().count == 1)
        for name in ["org.example.a", "org.example.b"] {
            pairings.declared(kitchen, for: try ApplicationIdentifier(name), pairing: pairing)
        }
        nodes.run(until: { lines().count == 3 })
        #expect(lines().count == 3, "LIM-54: a line for each")
        #expect(nodes.ask(nodes.primary, "app-remove", nodes.body(["yes": true])).code == 0)
        nodes.run(until: { problem() == nil })
    }
}
