// The secondaries that a rollout names: by name, pairing or vendor identifier, and never two by one word. And a rollout
// that comes to all: those that lack the configuration get it, and no delivery is made twice.

import TandemBase
import TandemDaemonTestSupport
import TandemReactor
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@testable import TandemDaemon

@Suite struct RolloutStageTests {
    private func peer(
        _ name: String, device: UniqueIdentifier = .random(), via: String? = nil
    ) -> ConfigurationPeer {
        ConfigurationPeer(
            pairing: .random(), role: .primary, name: name, device: device, reportKey: [],
            carrier: via.map { _ in .random() }, via: via)
    }

    private func first(_ names: [String], of peers: [ConfigurationPeer]) throws(ControlFailure) -> Set<UniqueIdentifier>
    {
        try RolloutStage.names(names).first(of: peers)
    }

    @Test("CFG-79: a rollout names secondaries by name, pairing or vendor identifier, among thousands, too")
    func names() throws {
        let peers = (0..<1_000).map { peer("panel \($0)") }
        let device = try #require(peers[2].device)
        let words = ["panel 0", peers[1].pairing.description, device.description, "panel 2"]
        #expect(try first(words, of: peers) == Set(peers[0...2].map(\.pairing)))
        #expect(try first(peers.map(\.name), of: peers).count == peers.count)
        #expect(throws: ControlFailure.self) { try first(["panel 0", "nobody"], of: peers) }
    }

    @Test("CFG-79, CTL-25: a word for two secondaries chooses none, and the refusal names their pairings")
    func ambiguous() throws {
        let device = UniqueIdentifier.random()
        let peers = [peer("left", device: device), peer("right", device: device, via: "the gateway")]
        do throws(ControlFailure) {
            _ = try first([device.description], of: peers)
            Issue.record("one of two was chosen")
        } catch {
            #expect(error.text.hasPrefix("more than one secondary is called"))
            for peer in peers { #expect(error.text.contains(peer.pairing.description)) }
            #expect(error.text.contains("via 'the gateway'"), "\(error.text)")
        }
        let twins = [peer("twin"), peer("twin")]
        #expect(throws: ControlFailure.self) { try first(["twin"], of: twins) }
        #expect(try first([twins[1].pairing.description], of: twins) == [twins[1].pairing])
    }

    @Test("CFG-72, CFG-79: a rollout that comes to all repeats no delivery that was handled and is not answered yet")
    func handledAndNotAnswered() throws {
        let primary = try OnePrimary()
        primary.link()
        let envelope = try primary.envelope(1)
        func apply(_ stage: RolloutStage?) {
            primary.scheduler.start { [service = primary.service, app = primary.subject.application] in
                _ = await service.apply(envelope, app: app, wait: .zero, stage: stage)
            }
            primary.scheduler.advance(by: .milliseconds(1))
        }
        apply(.count(1))
        let item = try #require(primary.waiting.first)
        primary.lose()
        #expect(primary.waiting.isEmpty)
        apply(nil)
        #expect(primary.waiting.isEmpty, "its report is on its way")
        primary.receive(try primary.applied(envelope, counter: 1, nonce: item))
        #expect(primary.appliedCount == 1)
    }
}
