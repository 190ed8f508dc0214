// Desired state between whole daemons: a secondary that lacks the desired configuration gets it, whatever kept it from
// that, and status and the commands show it.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemOperations
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10)), .serialized) struct DesiredStateTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes(paired: true) }

    @Test("LIM-85: an answer has 256 rows and the number of those left out, and counts each secondary once")
    func rowsOfOneAnswer() throws {
        var state = DesiredConfigurations()
        let target = PairedIdentifier.vendor(try nodes.device(of: nodes.primary))
        let devices = (0..<300).map { _ in UniqueIdentifier.random() }
        for (index, device) in devices.enumerated() {
            let envelope = try nodes.envelope(UInt64(index) + 1) { $0.only = [device] }
            state.restore(try DesiredConfiguration(envelope: envelope, accepted: nodes.clock.wallNow))
        }
        let status = status(of: state, at: devices, target)
        var (listed, rows): (Table, Table) = (([], 0), ([], 0))
        nodes.clock.start {
            listed = await status.list(nil)
            rows = await status.rows(of: status.keys(of: nil))
        }
        #expect(listed.rows.count == 256 && listed.more == 44)
        #expect(listed.rows.first?["version"] == 300)
        #expect(listed.rows.allSatisfy { $0["secondaries"] == 1 && $0["applied"] == 0 })
        #expect(rows.rows.count == 256 && rows.more == 44)
    }

    @Test("LIM-85: of the deliveries `status` has the last 256, whatever their apps are named, by app")
    func lastDeliveries() throws {
        let target = PairedIdentifier.vendor(try nodes.device(of: nodes.primary))
        let count: Int64 = 1_500
        var last = LastDeliveries()
        // The newest have the first names.
        for time in 0..<count {
            let app = try ApplicationIdentifier("app\(10_000 - time)")
            let key = ConfigurationSlotKey(application: app, role: .secondary, target: target)
            last.add(
                try ForwardedConfiguration(
                    key.fields.merging(present: [
                        "id": .data(UniqueIdentifier.random().bytes), "pairing": .data(UniqueIdentifier.random().bytes),
                        "version": 1, "digest": .data([UInt8](repeating: 0, count: 32)), "accepted": .integer(time),
                        "finished": true,
                    ])))
        }
        #expect(last.rows.map(\.accepted.milliseconds) == (count - 256..<count).reversed())
    }

    private typealias Table = (rows: [PropertyListDictionary], more: Int)

    private func status(
        of state: DesiredConfigurations, at devices: [UniqueIdentifier], _ target: PairedIdentifier
    ) -> DesiredStatus {
        DesiredStatus(
            state: state,
            secondaries: devices.map { device in
                DesiredStatus.Secondary(
                    name: "\(device)", via: nil,
                    addressee: ConfigurationAddressee(pairing: .random(), device: device, target: { _ in target }))
            }, now: nodes.clock.wallNow, parts: LoopWork(on: nodes.clock))
    }

    @Test("LIM-85, CTL-23: a table of thousands of secondaries is worked out in parts, between which others are served")
    func partsOfOneAnswer() throws {
        let target = PairedIdentifier.vendor(try nodes.device(of: nodes.primary))
        var state = DesiredConfigurations()
        state.restore(try DesiredConfiguration(envelope: try nodes.envelope(1), accepted: nodes.clock.wallNow))
        let count = 2 * AnswerPace.stepsAtOnce + 1
        let status = status(of: state, at: (0..<count).map { _ in .random() }, target)
        var tables: [Table] = []
        nodes.clock.start {
            tables.append(await status.rows(of: status.keys(of: nil)))
            tables.append(await status.list(nil))
        }
        #expect(tables.isEmpty, "it waits for a later turn")
        nodes.clock.run()
        try #require(tables.count == 2)
        #expect(tables[0].rows.count == 256 && tables[0].more == count - 256)
        #expect(tables[1].rows.map { $0["secondaries"] } == [.integer(Int64(count))])
    }

    @Test("CTL-23: of a secondary that has the desired version with other bytes their digest is known")
    func otherBytes() throws {
        let target = PairedIdentifier.vendor(try nodes.device(of: nodes.primary))
        let desired = try DesiredConfiguration(envelope: try nodes.envelope(1), accepted: nodes.clock.wallNow)
        let addressee = ConfigurationAddressee(pairing: .random(), device: .random(), target: { _ in target })
        var state = DesiredConfigurations()
        state.restore(desired)
        let other = [UInt8](repeating: 7, count: 32)
        for digest in [other, desired.digest] {
            let reported = try SecondaryState([
                "v": 1, "history": [], "refusals": [], "goodVersion": 1, "goodDigest": .data(digest),
            ])
            state.restore(reported, of: desired.key, at: addressee.pairing)
            let shown = state.standing(of: addressee, for: desired.key)?.reportedOther
            #expect(shown == (digest == other ? other : nil))
        }
    }

    @Test("CTL-24: where nothing is desired, withdrawing finds nothing, and showing asks which of the former targets")
    func formerTargets() throws {
        let accepted = try AcceptedConfiguration([
            "version": 1, "digest": .data(Array(repeating: 0, count: 32)), "accepted": 0, "signers": [],
        ])
        var state = DesiredConfigurations()
        for _ in 0..<2 {
            let key = ConfigurationSlotKey(application: nodes.app, role: .secondary, target: .vendor(.random()))
            state.restore([accepted], of: key)
        }
        let status = DesiredStatus(
            state: state, secondaries: [], now: nodes.clock.wallNow, parts: LoopWork(on: nodes.clock))
        let choice = try DesiredChoice(BodyFields(nodes.body()))
        func failure(orFormer: Bool) -> ControlFailure? {
            do throws(ControlFailure) {
                _ = try choice.key(in: status, orFormer: orFormer)
                return nil
            } catch { return error }
        }
        #expect(failure(orFormer: false)?.name == "not-found")
        let asked = failure(orFormer: true)
        #expect(asked?.name == "bad-request" && asked?.text.hasPrefix("nothing is desired for") == true)
        #expect(state.keys.allSatisfy { asked?.text.contains($0.target.text) == true })
    }

    @Test("CTL-3, CFG-77: a withdrawal names all secondaries that have it, also more than a table has rows")
    func holders() throws {
        let target = PairedIdentifier.vendor(try nodes.device(of: nodes.primary))
        let desired = try DesiredConfiguration(envelope: try nodes.envelope(1), accepted: nodes.clock.wallNow)
        var state = DesiredConfigurations()
        state.restore(desired)
        let applied = try SecondaryState([
            "v": 1, "history": [], "refusals": [], "goodVersion": 1, "goodDigest": .data(desired.digest),
        ])
        let secondaries = (0..<600).map { index in
            DesiredStatus.Secondary(
                name: "lamp \(index)", via: index < 300 ? nil : "the carrier",
                addressee: ConfigurationAddressee(pairing: .random(), device: .random(), target: { _ in target }))
        }
        // Each other one lacks it.
        for (index, secondary) in secondaries.enumerated() where index % 2 == 0 {
            state.restore(applied, of: desired.key, at: secondary.addressee.pairing)
        }
        let status = DesiredStatus(
            state: state, secondaries: secondaries, now: nodes.clock.wallNow, parts: LoopWork(on: nodes.clock))
        let holders = status.holders(of: desired.key, versions: [1])
        #expect(holders.near.count == 150 && holders.near.last == "lamp 298")
        #expect(holders.far.count == 150 && holders.far.first?.dictionaryValue?["via"] == "the carrier")
        #expect(status.holders(of: desired.key, versions: [2]).near.isEmpty)
    }

    @Test func `CFG-70, CFG-72: a secondary that is paired later gets it, also after a restart of the primary`() throws
    {
        _ = try nodes.startApp()
        let envelope = try nodes.envelope(1)
        #expect(nodes.verdict(envelope) == "applied")
        try nodes.restart(.primary)
        nodes.waitForLink()
        try nodes.startOther(as: .secondary)
        let app = try nodes.startApp(at: .other)
        try nodes.pair(nodes.primary, nodes.other)
        nodes.waitFor("applied", at: "the other")
        #expect(app.offers.map(\.envelope) == [envelope], "CFG-5: the exact bytes")
        #expect(nodes.desired()?["verdict"] == "applied", "what was reported outlives the restart")
    }

    @Test func `CFG-72: a secondary that ended its pairing and joins again gets a version above its mark`() throws {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        try nodes.unpair(nodes.secondary)
        nodes.run(until: { (try? nodes.rows("pairings", of: nodes.primary).first?["level"]) == "unreachable" })
        let answer = nodes.ask(nodes.primary, "apply", nodes.application(of: try nodes.envelope(2), wait: 0))
        #expect(answer.body.rows("results").first?["state"] == "queued")
        let link = try #require(nodes.ask(nodes.primary, "pair").body["link"])
        #expect(nodes.ask(nodes.secondary, "join", ["link": link]).code == 0)
        nodes.waitFor("applied", version: 2)
        #expect(app.offers.count == 2)
    }

    @Test func `CFG-74: an app that is installed later gets it once its key is known`() throws {
        let envelope = try nodes.envelope(1)
        #expect(nodes.verdict(envelope) == "waiting-for-key")
        #expect(nodes.desired()?["stale"] != nil)
        let app = try nodes.startApp()
        nodes.waitFor("applied")
        #expect(app.offers.map(\.envelope) == [envelope])
        #expect(nodes.desired()?["stale"] == nil)
    }

    @Test func `CFG-74: within the minute of CFG-52 the app is not made to wait`() throws {
        #expect(nodes.verdict(try nodes.envelope(1)) == "waiting-for-key")
        // The second answer is held back for the rest of the minute.
        nodes.network.cut()
        nodes.waitForLink()
        let start = nodes.clock.now
        _ = try nodes.startApp()
        nodes.waitFor("applied")
        #expect(nodes.clock.now.since(start) < .seconds(10))
    }

    @Test func `CFG-52, CTL-23: a delivery whose report is held back is no longer called queued`() throws {
        _ = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1, with: .generate())) == "threshold")
        #expect(nodes.desired()?["taken"] == nil)
        #expect(nodes.verdict(try nodes.envelope(2, with: .generate()), wait: 1000) == nil)
        let row = try #require(nodes.desired())
        #expect(row["version"] == 2 && row["verdict"] == nil && row["taken"] == true, "\(row)")
        #expect(DesiredReport.state(of: Fact(row)) == "delivered, no report yet")
        nodes.waitFor("threshold", version: 2)
        #expect(nodes.desired()?["taken"] == nil)
    }

    @Test func `CFG-75: after a month of absence the item is undelivered, and the link brings another one`() throws {
        let app = try nodes.startApp()
        nodes.network.takeDown()
        nodes.run(until: { (try? nodes.rows("pairings", of: nodes.primary).first?["level"]) == "unreachable" })
        #expect(nodes.verdict(try nodes.envelope(1), wait: 0) == nil)
        nodes.stop(.primary)
        nodes.clock.setWallClock(nodes.clock.wallNow + .seconds(31 * 86_400))
        try nodes.start(.primary)
        nodes.run(until: { nodes.desired()?["ending"] == "undelivered" })
        #expect(nodes.desired()?["verdict"] == nil)
        nodes.network.isDown = false
        nodes.waitFor("applied")
        #expect(app.offers.count == 1)
    }

    @Test func `CFG-75, LIM-90: an item that ends undelivered on a link is sent again a minute later`() throws {
        let app = try nodes.startApp()
        // Each piece is under way for a second: the line is cut with the item on it.
        nodes.network.faults.delay = .seconds(1) ... .seconds(1)
        nodes.network.cut()
        nodes.run(until: { (try? nodes.rows("pairings", of: nodes.primary).first?["level"]) == "unreachable" })
        nodes.waitForLink()
        #expect(nodes.verdict(try nodes.envelope(1), wait: 0) == nil)
        let sent = nodes.clock.now
        nodes.run(until: { nodes.clock.now.since(sent) > .milliseconds(500) })
        nodes.network.takeDown()
        nodes.stop(.primary)
        nodes.clock.setWallClock(nodes.clock.wallNow + .seconds(31 * 86_400))
        (nodes.network.faults, nodes.network.isDown) = (.none, false)
        try nodes.start(.primary)
        nodes.waitForLink()
        let linked = nodes.clock.now
        nodes.waitFor("applied")
        #expect(app.offers.count == 1)
        #expect(nodes.clock.now.since(linked) > .seconds(50))
    }

    @Test func `CFG-72: a secondary whose store was restored from a backup gets again what it has lost`() throws {
        try nodes.startApp().disconnect()
        let backup = nodes.backUp(.secondary)
        try nodes.start(.secondary)
        nodes.waitForLink()
        try nodes.startApp().disconnect()
        #expect(nodes.verdict(try nodes.envelope(1)) == "waiting-for-app")
        nodes.restore(backup, at: .secondary)
        try nodes.start(.secondary)
        nodes.waitForLink()
        _ = try nodes.startApp()
        nodes.waitFor("applied")
    }

    @Test func `CFG-71: a lower version is refused with the number in force, and the same version with other bytes`()
        throws
    {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(5)) == "applied")
        let answer = nodes.ask(nodes.primary, "apply", nodes.application(of: try nodes.envelope(4)))
        #expect(answer.name == "rollback")
        #expect(answer.body["text"]?.stringValue?.contains("version 5") == true, "\(answer)")
        #expect(nodes.verdict(try nodes.envelope(5) { $0.values = ["volume": 1] }) == "equivocation")
        #expect(app.offers.count == 1)
        #expect(nodes.verdict(try nodes.envelope(6)) == "applied")
    }

    @Test func `CFG-73: a version that the app refuses leaves the one before it desired for those that lack it`() throws
    {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        app.answerOffers { OfferReply(VerificationFailure(.schema, "too loud"), of: $0.envelope) }
        #expect(nodes.verdict(try nodes.envelope(2)) == "schema")
        #expect(nodes.desired()?["reported"] == 1 && nodes.desired()?["version"] == 2)
        try nodes.startOther(as: .secondary)
        let other = try nodes.startApp(at: .other)
        let key = ConfigurationSlotKey(application: nodes.app, role: .secondary, target: nodes.target)
        other.answerOffers { offer in
            let judged = try? ConfigurationRecord(key: key, device: .random(), envelope: offer.envelope)
            guard judged?.version == 2 else { return nil }
            return OfferReply(VerificationFailure(.schema, "too loud"), of: offer.envelope)
        }
        try nodes.pair(nodes.primary, nodes.other)
        nodes.waitFor("schema", at: "the other", version: 2)
        nodes.run(until: { other.offers.count == 2 })
    }

    @Test func `CFG-77, CTL-24: what is withdrawn is delivered no longer, and stays applied where it was`() throws {
        _ = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(3)) == "applied")
        let answer = nodes.ask(nodes.primary, "configuration-withdraw", nodes.body())
        #expect(answer.body["versions"] == [3] && answer.body["applied"] == ["the secondary"], "\(answer)")
        #expect(nodes.ask(nodes.primary, "configuration-withdraw", nodes.body()).name == "not-found")
        #expect(try nodes.rows("desired", of: nodes.primary).isEmpty)
        try nodes.startOther(as: .secondary)
        let other = try nodes.startApp(at: .other)
        try nodes.pair(nodes.primary, nodes.other)
        #expect(try nodes.held()?["state"] == "applied" && other.offers.isEmpty)
        let verdicts = nodes.results(try nodes.envelope(2)).mapValues { $0["verdict"]?.stringValue }
        #expect(verdicts == ["the secondary": "rollback", "the other": "applied"], "marks stay")
    }

    @Test func `CFG-77: a withdrawn configuration that waits for the link is never sent`() throws {
        let app = try nodes.startApp()
        nodes.network.takeDown()
        nodes.run(until: { (try? nodes.rows("pairings", of: nodes.primary).first?["level"]) == "unreachable" })
        #expect(nodes.verdict(try nodes.envelope(1), wait: 0) == nil)
        #expect(nodes.ask(nodes.primary, "configuration-withdraw", nodes.body()).code == 0)
        nodes.network.isDown = false
        nodes.waitForLink()
        #expect(try nodes.rows("queues", of: nodes.primary).isEmpty && app.offers.isEmpty)
    }

    @Test
    func `CTL-23, CTL-24, CFG-76, CFG-78: list and show tell what is desired, where it is applied, and by which key`()
        throws
    {
        _ = try nodes.startApp()
        for version in UInt64(1)...2 { #expect(nodes.verdict(try nodes.envelope(version)) == "applied") }
        let rows = nodes.ask(nodes.primary, "configuration-list").body.rows("desired")
        #expect(rows.count == 1)
        let row = try #require(rows.first)
        #expect(row["version"] == 2 && row["applied"] == 1 && row["secondaries"] == 1, "\(row)")
        #expect(row["signers"] == [.data(nodes.signer.publicKey.key.identifier.bytes)])
        let shown = nodes.ask(nodes.primary, "configuration-show", nodes.body()).body
        let secondary = try #require(shown.rows("secondaries").first)
        for body in [shown, secondary] { #expect(body.rows("history").map { $0["version"] } == [2, 1]) }
        #expect(shown["others"] == [])
        #expect(nodes.ask(nodes.primary, "configuration-withdraw", nodes.body()).code == 0)
        let withdrawn = nodes.ask(nodes.primary, "configuration-show", nodes.body()).body
        let other = try #require(withdrawn.rows("others").first)
        #expect(withdrawn["secondaries"] == [] && other["history"] == secondary["history"])
        #expect(
            DesiredReport.lines(of: Fact(withdrawn)).contains { $0.hasPrefix("  1 ") && $0.contains("the secondary ") })
        #expect(nodes.ask(nodes.primary, "configuration-show", ["app": "org.example.other"]).name == "not-found")
        #expect(nodes.ask(nodes.primary, "configuration-list", ["app": "org.example.other"]).body["desired"] == [])
    }

    @Test func `CTL-25: a caller that follows is answered when a report comes, and by then has every result`() throws {
        let app = try nodes.startApp()
        app.disconnect()
        let envelope = try nodes.envelope(1)
        let first = nodes.ask(nodes.primary, "apply", nodes.application(of: envelope)).body
        #expect(first.rows("results").first?["verdict"] == "waiting-for-app")
        var request = nodes.application(of: envelope, wait: 60_000)
        request["follow"] = true
        request["after"] = first["ordinal"]
        var answer: ControlAnswer?
        nodes.begin(nodes.primary, "apply", request) { answer = $0 }
        _ = try nodes.startApp()
        nodes.run(until: { answer != nil })
        #expect(answer?.body.rows("results").first?["verdict"] == "applied", "\(answer ?? .done())")
    }
}
