// A paired device that names more apps than there is room for, as an operator sees it.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct CrowdedTests {
    private let nodes: TwoNodes

    init() throws {
        nodes = try TwoNodes()
        try nodes.pair()
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
}
