// CTL-7, PAR-15: the operator's choice is durable, told to the apps, and moves nothing. Two daemons on one loop; the
// second pairing is with a device that never connects again.

import TandemBase
import TandemDaemon
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemTransport
import Testing

@Suite struct SwitchTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes() }

    @Test func `CTL-7: the active pairing is switched to without change; unknown and missing ones are not found`()
        throws
    {
        defer { nodes.stop() }
        try nodes.pair()
        let pairing = try #require(try nodes.rows("pairings", of: nodes.primary).first?["pairing"])
        let again = nodes.ask(nodes.primary, "switch", ["pairing": pairing])
        #expect(again.code == 0 && again.body["changed"] == false && again.body["pairing"] == pairing)
        #expect(nodes.ask(nodes.primary, "switch", ["who": "the secondary"]).body["role"] == "primary")
        #expect(nodes.ask(nodes.secondary, "switch", ["who": "the primary"]).body["role"] == "secondary")
        for body: PropertyListDictionary in [
            ["who": "nobody"], ["pairing": .data([UInt8](repeating: 1, count: 16))], [:],
        ] {
            #expect(nodes.ask(nodes.primary, "switch", body).name == "not-found")
        }
        #expect(nodes.ask(nodes.primary, "switch", ["pairing": "text"]).name == "bad-request")
    }
}
