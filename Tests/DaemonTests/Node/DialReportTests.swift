// Reports about dialling for operators: a primary that cannot be reached (CTL-71), one that is not at its new address
// (PAR-19), and two daemons with one key (PAR-24).

import Glibc
import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemTestSupport
import TandemTransport
import Testing

@Suite(.timeLimit(.minutes(10))) struct DialReportTests {
    private static let cannotLink = "cannot link to the primary, dialling goes on"
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes(paired: true) }

    private func row() throws -> PropertyListDictionary {
        try #require(try nodes.rows("pairings", of: nodes.secondary).first)
    }

    private func problems(of node: Node) -> [String] {
        nodes.ask(node, "health").body.rows("problems").compactMap { $0["name"]?.stringValue }
    }

    /// The lines of warnings with this message.
    private func warnings(_ message: String) -> [String] {
        nodes.notes.filter { $0.level == .warning && "\($0.message)" == message }.map { "\($0)" }
    }

    /// Lets so many seconds pass, or fewer if the condition holds before, and the disks follow.
    private func pass(_ seconds: Int, until condition: () -> Bool = { false }) {
        for _ in 0..<seconds where !condition() {
            nodes.clock.advance(by: .seconds(1))
            nodes.run(until: { true })
        }
    }

    @Test func `CTL-71: a primary that is away is one warning with its address and the reason, until it was linked`()
        throws
    {
        nodes.network.takeDown()
        nodes.clock.advance(by: .seconds(9))
        #expect(warnings(Self.cannotLink).isEmpty)
        nodes.clock.advance(by: .seconds(600))
        let lines = warnings(Self.cannotLink)
        #expect(lines.count == 1, "\(lines)")
        let line = try #require(lines.first)
        #expect(line.contains("peer=\"the primary\"") && line.contains("link.sock"), "\(line)")
        #expect(line.contains("reason=\"no answer from"), "\(line)")
        nodes.network.isDown = false
        nodes.waitForLink()
        nodes.network.takeDown()
        nodes.clock.advance(by: .seconds(60))
        #expect(warnings(Self.cannotLink).count == 2)
    }

    /// Puts a device with a state of its own in the primary's place, at its address.
    private func replacePrimary() throws {
        nodes.stop(.primary)
        nodes.states[.primary] = nodes.directory.path("strange-state")
        try nodes.start(.primary)
    }

    @Test func `CTL-71: another key at the primary's address is one warning, and not one at each attempt`() throws {
        nodes.waitForLink()
        let pinned = try #require(try nodes.status(of: nodes.primary)["fingerprint"]?.stringValue)
        try replacePrimary()
        pass(600)
        let lines = warnings(Self.cannotLink)
        #expect(lines.count == 1 && lines[0].contains("wrong-pin"), "\(lines)")
        #expect(warnings("device connection ended before it became a link").isEmpty)
        let found = try #require(try nodes.status(of: nodes.primary)["fingerprint"]?.stringValue)
        let keys = "the pinned key is \(pinned), the peer's is \(found)"
        #expect(lines.first?.contains(keys) == true && lines.first?.contains("tandem address") == true, "\(lines)")
        #expect(try row()["reason"] == .string("wrong-pin: " + keys))
        let problem = try #require(nodes.ask(nodes.secondary, "health").body.rows("problems").first)
        let text = problem["text"]?.stringValue ?? ""
        #expect(text.contains(keys) && text.contains("unpair and join again"), "\(problem)")
        nodes.stop()
    }

    @Test func `CTL-71, SES-18: a primary that is restarted within seconds is no warning`() throws {
        nodes.network.isDown = true
        nodes.stop(.primary)
        nodes.clock.advance(by: .seconds(4))
        nodes.network.isDown = false
        try nodes.start(.primary)
        nodes.waitForLink()
        #expect(warnings(Self.cannotLink).isEmpty)
    }

    @Test func `PAR-19, CTL-10, CTL-12: a new address that does not answer shows beside the link that there still is`()
        throws
    {
        let former = SocketAddress.unix(path: nodes.directory.path("link.sock")).description
        let wrong = SocketAddress.unix(path: nodes.directory.path("nowhere.sock")).description
        #expect(try row()["dials"] == nil)
        let answer = nodes.ask(nodes.secondary, "address", ["who": "the primary", "address": .string(wrong)])
        #expect(answer.body["former"] == .string(former), "\(answer)")
        let change = try #require(nodes.lines("primary is dialled at another address").first)
        #expect(change.contains("former=\(former)") && change.contains(" address=\(wrong)"), "\(change)")
        nodes.clock.advance(by: .seconds(1))
        let moving = try row()
        #expect(moving["level"] == "linked" && moving["dials"] == .string(wrong), "\(moving)")
        #expect(moving["dialError"]?.stringValue?.contains("no answer") == true, "\(moving)")
        let problem = try #require(nodes.ask(nodes.secondary, "health").body.rows("problems").first)
        #expect(problem["name"] == "address" && problem["pairing"] == moving["pairing"])
        let text = try #require(problem["text"]?.stringValue)
        #expect(text.contains(wrong) && text.contains("no answer") && text.contains("tandem address"), "\(text)")
        nodes.clock.advance(by: .seconds(60))
        #expect(warnings(Self.cannotLink).count == 1)
        let back = nodes.ask(nodes.secondary, "address", ["who": "the primary", "address": .string(former)])
        #expect(back.body["former"] == .string(wrong))
        nodes.run(until: {
            guard let found = try? row() else { return false }
            return found["dials"] == nil && found["level"] == "linked"
        })
        #expect(problems(of: nodes.secondary).isEmpty)
    }

    @Test func `PAR-24: two daemons with one key take the link from each other less and less often, and are reported`()
        throws
    {
        let (own, peers) = (
            "another daemon uses this device's key; is a copy of its state directory running?",
            "two daemons use the key of one device; is a copy of its state directory running?"
        )
        nodes.stop(.secondary)
        let copy = nodes.directory.path("copied-state")
        let pipe = try #require(popen("cp -a '\(nodes.directory.path("secondary-state"))' '\(copy)'", "r"))
        #expect(pclose(pipe) == 0)
        nodes.states[.other] = copy
        try nodes.start(.secondary)
        nodes.waitForLink()
        try nodes.startOther(as: .secondary)
        nodes.run(until: { problems(of: nodes.primary).contains("shared-key") })
        nodes.run(until: { problems(of: nodes.secondary).contains("shared-key") })
        pass(60)
        let links = nodes.lines("link ready").count
        pass(60)
        #expect(nodes.lines("link ready").count - links <= 10, "each link is two lines")
        #expect(warnings(peers).count == 1 && warnings(own).count == 2)
        #expect(problems(of: nodes.primary).contains("shared-key"))
        nodes.stop(.other)
        let areWell = { problems(of: nodes.primary).isEmpty && problems(of: nodes.secondary).isEmpty }
        pass(110, until: areWell)
        #expect(areWell())
        #expect(try row()["level"] == "linked")
    }
}
