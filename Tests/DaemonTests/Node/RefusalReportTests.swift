// Reports of a primary about a secondary that it refuses (CTL-10, CTL-12, SES-7).

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemOperations
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTLS
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct RefusalReportTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes(paired: true) }

    /// The text of the primary's problem with its secondary.
    private func problem() -> String {
        let rows = nodes.ask(nodes.primary, "health").body.rows("problems")
        return rows.first { $0["name"] == "unlinked" }?["text"]?.stringValue ?? ""
    }

    private func error() throws -> String? {
        try nodes.rows("pairings", of: nodes.primary).first?["error"]?.stringValue
    }

    /// A device with a key says hello for the pairing, with a version that the primary does not speak.
    private func greet(with key: DevicePrivateKey, in pairing: UniqueIdentifier) throws {
        var stream: InProcessStream?
        let address = SocketAddress.unix(path: nodes.directory.path("link.sock"))
        _ = nodes.network.dialling.connect(address) { stream = try? $0.get() as? InProcessStream }
        nodes.clock.advance(by: .milliseconds(10))
        let peer = try RawLink(over: try #require(stream), identity: TLSIdentity(key: key))
        peer.device = key.publicKey.identifier.derivedIdentifier
        let version = try #require(ProtocolVersion(9))
        try peer.greet(pairing, versions: version...version)
        nodes.run(until: { peer.isClosed })
    }

    @Test func `CTL-12: health names the refusal with which this device ended a link, until another cause does`()
        throws
    {
        let pairing = try nodes.pairingIdentifier(of: nodes.primary)
        nodes.network.isDown = true
        try #require(nodes.primary.links[pairing]).refuse(.notYours, "an item of another pairing")
        nodes.clock.advance(by: .seconds(10))
        #expect(problem() == "no link to the secondary: not-yours: an item of another pairing")
        nodes.network.isDown = false
        nodes.waitForLink()
        nodes.network.takeDown()
        nodes.clock.advance(by: .seconds(20))
        let advice = SilentSecondary.advice("\(pairing)", with: "the secondary")
        let cause = try #require(try error())
        #expect(problem() == "no link to the secondary: \(cause); \(advice)" && !cause.contains("not-yours"))
    }

    @Test func `SES-7, CTL-10, CTL-12: a device that is refused before it has a link is named with the refusal`()
        throws
    {
        let app = try nodes.connect(to: .primary)
        let pairing = try nodes.pairingIdentifier(of: nodes.primary)
        let key = nodes.secondary.device.keys.device
        nodes.stop(.secondary)
        nodes.clock.advance(by: .seconds(10))
        try greet(with: .generate(), in: pairing)
        #expect(
            problem().hasPrefix("no link to the secondary: ") && !problem().contains(": version: "), "another device")
        #expect(try error()?.hasPrefix("version") == false)
        try greet(with: key, in: pairing)
        #expect(problem().hasPrefix("no link to the secondary: version: "), "\(problem())")
        #expect(try error()?.hasPrefix("version: ") == true)
        #expect(try app.states(now: nodes.clock.now).last?.pairings.first?.reason == .version)
        let body: PropertyListDictionary = ["pairing": .data(pairing.bytes), "version": 1]
        #expect(nodes.ask(nodes.primary, "allow-version", body).code == 0)
        #expect(try error() == nil && problem().contains(": no-link; "), "its cause may have ended")
    }

    @Test func `CTL-12: a secondary that ended the pairing unheard is a problem with the command that ends it here`()
        throws
    {
        nodes.network.takeDown()
        try nodes.unpair(nodes.secondary)
        try nodes.restart(.primary)
        nodes.network.isDown = false
        nodes.clock.advance(by: .seconds(20))
        let pairing = try nodes.pairingIdentifier(of: nodes.primary)
        #expect(problem().hasSuffix("'tandem unpair \(pairing)' ends it here"), "\(problem())")
    }

    @Test func `CTL-10, CTL-12: a later refusal for another reason takes the advice to end the pairing away`() throws {
        let pairing = try nodes.pairingIdentifier(of: nodes.primary)
        let key = nodes.secondary.device.keys.device
        try nodes.unpair(nodes.secondary)
        nodes.run(until: { problem().contains("tandem unpair") })
        try greet(with: key, in: pairing)
        #expect(problem().hasPrefix("no link to the secondary: version: "), "\(problem())")
        #expect(!problem().contains("tandem unpair"))
        #expect(try nodes.rows("pairings", of: nodes.primary).first?["endedThere"] == nil)
    }
}
