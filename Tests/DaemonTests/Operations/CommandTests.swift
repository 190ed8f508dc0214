// Control commands: the clients that they serve, their bodies, and their failures by name.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct CommandTests {
    private let nodes: TwoNodes
    /// The exceptions of CTL-2.
    private static let everyonesCommands: Set<ControlName> = [
        .status, .settingsGet, .settingsSet, .settingsReset, .settingsPress, .settingsSchema, .settingsPage,
    ]

    init() throws { nodes = try TwoNodes() }

    // MARK: who may

    @Test func `CTL-2: another user gets not-allowed for every command but the exceptions`() {
        let commands = Set(ControlName.allCases).subtracting(Self.everyonesCommands)
        for command in commands.map(\.rawValue) + ["no-such-command"] {
            let answer = nodes.ask(nodes.primary, command, user: 1001, isOperator: false)
            #expect(answer.name == "not-allowed", "\(command)")
        }
    }

    @Test func `CTL-2: status shows another user only the apps that are its own`() throws {
        try nodes.pair()
        _ = try nodes.connect(to: .primary, user: 1001)
        let own = nodes.ask(nodes.primary, "status", user: 1001, isOperator: false)
        #expect(Set(own.body.keys) == ["applications", "configurations"])
        #expect(own.body["applications"]?.arrayValue?.count == 1)
        let others = nodes.ask(nodes.primary, "status", user: 1002, isOperator: false)
        #expect(others.body["applications"]?.arrayValue?.isEmpty == true)
        #expect(try nodes.rows("applications", of: nodes.primary).count == 1)
    }

    // MARK: bodies

    @Test func `CTL-4: a command that is none is unknown, and its name is cut`() {
        let answer = nodes.ask(nodes.primary, String(repeating: "x", count: 1000))
        #expect(answer.name == "unknown-command" && (answer.body["text"]?.stringValue?.count ?? 0) < 200)
    }

    @Test func `CTL-4: a bad request names the key`() {
        let id: PropertyListValue = .data([UInt8](repeating: 1, count: 16))
        let requests: [(String, PropertyListDictionary, String)] = [
            ("pair", ["seconds": 0], "seconds"), ("pair", ["seconds": 86_401], "seconds"), ("join", [:], "link"),
            ("join", ["link": "no link"], "link"), ("trust-device", ["role": "primary"], "fingerprint"),
            ("unpair", ["pairing": "text"], "pairing"), ("switch", ["who": 1], "who"),
            ("trust-add", ["app": "org.example.a"], "role"), ("apply", ["app": "org.example.a"], "envelope"),
            ("identifier-accept", ["app": "a/b", "pairing": id], "app"), ("allow-version", ["pairing": id], "version"),
            ("drain", ["wait": 3_600_001], "wait"), ("dead-letters", ["app": "a/b"], "app"),
            ("dead-letter-retry", [:], "id"), ("dead-letter-drop", ["all": false], "id"),
            ("trace", ["after": "now"], "after"), ("app-remove", ["app": "a/b"], "app"),
            ("app-assign", ["app": "a", "uid": 4_294_967_295], "uid"), ("app-remove", ["app": "a", "yes": 1], "yes"),
            ("trust-remove", ["app": "a"], "role"), ("trust-replace", ["app": "a", "role": "primary"], "key"),
            ("untrust-device", ["role": "primary"], "fingerprint"), ("identifier-clear", [:], "app"),
            ("far-remove", ["yes": true], "device"),
        ]
        #expect(nodes.ask(nodes.primary, "drain", ["wait": 3_600_000]).code == 0, "LIM-139")
        for (command, body, key) in requests {
            let answer = nodes.ask(nodes.primary, command, body)
            #expect(answer.name == "bad-request", "\(command)")
            #expect(answer.body["text"]?.stringValue?.contains(key) == true, "\(command): \(answer)")
        }
    }

    // MARK: failures

    @Test func `CTL-4: what is not there is not found`() {
        let id: PropertyListValue = .data([UInt8](repeating: 1, count: 16))
        let requests: [(String, PropertyListDictionary)] = [
            ("unpair", ["pairing": id]), ("switch", ["who": "nobody"]),
            ("identifier-accept", ["app": "org.example.a", "pairing": id]),
            ("allow-version", ["pairing": id, "version": 1]), ("dead-letter-retry", ["id": id]),
            ("dead-letter-drop", ["id": id]),
        ]
        for (command, body) in requests {
            #expect(nodes.ask(nodes.primary, command, body).name == "not-found", "\(command)")
        }
        #expect(nodes.ask(nodes.primary, "dead-letter-drop", ["all": true]).body["count"] == 0)
    }

    @Test func `CTL-7: a name of several devices is refused with their pairings, and an unknown one is repeated`()
        throws
    {
        try nodes.pair()
        nodes.stop(.secondary)
        nodes.states[.secondary] = nodes.directory.path("new-state")
        try nodes.start(.secondary)
        let made = nodes.ask(nodes.primary, "pair")
        #expect(nodes.ask(nodes.secondary, "join", ["link": try #require(made.body["link"])]).code == 0)
        let refused = nodes.ask(nodes.primary, "unpair", ["who": "the secondary"])
        let text = try #require(refused.body["text"]?.stringValue)
        #expect(refused.name == "not-found" && text.hasPrefix("2 paired devices are called 'the secondary': "))
        for row in try nodes.rows("pairings", of: nodes.primary) {
            let pairing = try #require(row["pairing"]?.dataValue.flatMap { UniqueIdentifier(bytes: $0) })
            #expect(text.contains("\(pairing) ("), "\(text)")
        }
        let unknown = nodes.ask(nodes.primary, "unpair", ["who": "nobody"])
        #expect(unknown.body["text"]?.stringValue?.hasPrefix("no pairing 'nobody'") == true)
    }

    @Test(
        "CTL-39: settings of an app that is not installed are not found, by another text than those of one without any")
    func settingsOfNobody() throws {
        for command in ["settings-get", "settings-schema"] {
            let answer = nodes.ask(nodes.secondary, command, nodes.body())
            #expect(
                answer.name == "not-found" && answer.body["text"]?.stringValue?.contains("tandem apps list") == true)
        }
        _ = try nodes.connect(to: .secondary)
        let installed = nodes.ask(nodes.secondary, "settings-get", nodes.body())
        #expect(installed.name == "not-found" && installed.body["text"]?.stringValue?.contains("no schema") == true)
    }

    @Test func `CTL-4: a device that accepts no links makes none, and trusting a primary needs its address`() throws {
        #expect(nodes.ask(nodes.secondary, "pair").name == "no-address")
        let fingerprint = try #require(try nodes.status(of: nodes.primary)["fingerprint"])
        let body: PropertyListDictionary = ["fingerprint": fingerprint, "role": "primary"]
        #expect(nodes.ask(nodes.secondary, "trust-device", body).name == "no-address")
    }

    @Test func `PAR-6: a link that was used is refused, and one to nobody is unreachable`() throws {
        let link = try #require(nodes.ask(nodes.primary, "pair").body["link"])
        nodes.network.isDown = true
        let lost = nodes.ask(nodes.secondary, "join", ["link": link])
        #expect(lost.name == "unreachable")
        #expect(lost.body["text"]?.stringValue?.contains("The same link can be used again") == true, "\(lost)")
        nodes.network.isDown = false
        #expect(nodes.ask(nodes.secondary, "join", ["link": link]).code == 0)
        nodes.waitForLink()
        try nodes.unpair(nodes.primary)
        let again = nodes.ask(nodes.secondary, "join", ["link": link])
        #expect(again.name == "join-refused" && again.body["text"]?.stringValue?.contains("tandem pair") == true)
    }

    @Test func `CTL-7: the active pairing is switched to without change; unknown and missing ones are not found`()
        throws
    {
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

    // MARK: health, drain, trace

    @Test func `CTL-13: a daemon with pairings is ready once it had a link, and then until it stops`() throws {
        #expect(nodes.ask(nodes.primary, "health").body["ready"] == true, "no pairing, no link to wait for")
        try nodes.pair()
        nodes.network.isDown = true
        try nodes.restart(.primary)
        let waiting = nodes.ask(nodes.primary, "health")
        #expect(waiting.body["ready"] == false && waiting.body["reason"] == "no-link")
        nodes.network.isDown = false
        nodes.waitForLink()
        nodes.network.takeDown()
        #expect(nodes.ask(nodes.primary, "health").body["ready"] == true)
    }

    @Test func `CTL-12: a lost link degrades health after its patience, by name and pairing`() throws {
        try nodes.pair()
        #expect(nodes.ask(nodes.primary, "health").body["state"] == "healthy")
        nodes.network.takeDown()
        nodes.run(until: { nodes.ask(nodes.primary, "health").body["state"] == "degraded" })
        func problem() -> PropertyListDictionary? {
            nodes.ask(nodes.primary, "health").body.rows("problems").first
        }
        #expect(problem()?["name"] == "unlinked")
        #expect(problem()?["pairing"] == (try nodes.rows("pairings", of: nodes.primary).first?["pairing"]))
        #expect(problem()?["text"]?.stringValue?.hasPrefix("no link to") == true)
        // It counts for a while after it is over, and says so.
        nodes.network.isDown = false
        nodes.waitForLink()
        let text = problem()?["text"]?.stringValue
        #expect(text?.hasPrefix("the link to the secondary has been up again for ") == true, "\(text as Any)")
        #expect(text?.hasSuffix("once it has lasted 5 s") == true, "\(text as Any)")
    }

    @Test func `CTL-12, LIM-145: health names an item that an app keeps in its handler, until the app has answered`()
        throws
    {
        try nodes.pair()
        let app = try nodes.startApp()
        let sender = try nodes.startSender()
        try sender.send(nodes.item())
        nodes.run(until: { !app.received(.delivery).isEmpty })
        func problem() -> PropertyListDictionary? {
            nodes.ask(nodes.secondary, "health").body.rows("problems").first { $0["name"] == "in-handler" }
        }
        nodes.clock.advance(by: .seconds(290))
        #expect(problem() == nil)
        nodes.clock.advance(by: .seconds(11))
        let delivery = try #require(app.received(.delivery).last)
        let id = try #require(delivery.id)
        let text = try #require(problem()?["text"]?.stringValue)
        #expect(text.contains(" 5 min ") && text.contains("\(nodes.app) (userInfo \(id))"), "\(text)")
        #expect(problem()?["pairing"] == (try nodes.pairing(of: nodes.secondary)))
        try app.send(delivery.verdict())
        nodes.run(until: { problem() == nil })
    }

    @Test func `CTL-10, CTL-12: the clocks differ for as long as one is set and the other is not, and not for longer`()
        throws
    {
        try nodes.pair()
        func problems() -> [PropertyListValue?] {
            [nodes.primary, nodes.secondary].map { node in
                nodes.ask(node, "health").body.rows("problems").first?["name"]
            }
        }
        func skews() throws -> [Int64?] {
            try [nodes.primary, nodes.secondary].map { node in
                // The manual clock loses less than a millisecond at each step.
                try nodes.rows("pairings", of: node).first?["skew"]?.integerValue.map { ($0 + 30_000) / 60_000 }
            }
        }
        #expect(problems() == [nil, nil])
        // Both have one wall clock: each sees its own set now, and hears of the other's within a heartbeat.
        nodes.clock.setWallClock(nodes.clock.wallNow + .seconds(-3600))
        #expect(problems() == ["clock", "clock"])
        let text = nodes.ask(nodes.primary, "health").body.rows("problems").first?["text"]?.stringValue ?? ""
        #expect(text.contains("the clock of the secondary is ") && text.contains(" min ahead of ours"), "\(text)")
        #expect(try skews() == [60, 60])
        nodes.clock.advance(by: .seconds(6))
        #expect(problems() == [nil, nil])
        #expect(try skews() == [0, 0])
    }

    @Test func `CTL-14: drain refuses new items until its end, waits no longer than it was told, and shows in health`()
    {
        let began = nodes.clock.now
        let drained = nodes.ask(nodes.primary, "drain", ["wait": 60_000])
        #expect(drained.body["drained"] == true && drained.body["draining"] == true)
        #expect(nodes.clock.now.since(began) < .seconds(1), "nothing waits")
        #expect(nodes.ask(nodes.primary, "health").body["draining"] == true)
        #expect(nodes.ask(nodes.primary, "drain", ["end": true]).body["draining"] == false)
        #expect(nodes.ask(nodes.primary, "health").body["draining"] == false)
    }

    @Test func `CTL-20: a trace that follows is answered by the next event, or when its time is over`() throws {
        try nodes.pair()
        _ = try nodes.startApp()
        let last = try #require(nodes.ask(nodes.primary, "trace").body["last"])
        let began = nodes.clock.now
        let none = nodes.ask(nodes.primary, "trace", ["after": last, "wait": 5_000])
        #expect(none.body["events"]?.arrayValue?.isEmpty == true && none.body["last"] == last)
        #expect(nodes.clock.now.since(began) >= .seconds(5))
        var followed: ControlAnswer?
        nodes.begin(nodes.primary, "trace", ["after": last, "wait": 60_000]) { followed = $0 }
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        let event = try #require(followed?.body.rows("events").first)
        #expect(event["channel"] == "configuration" && event["direction"] == "out")
        let id = try #require(event["id"])
        let traced = nodes.ask(nodes.primary, "trace", ["id": id]).body.rows("events")
        let steps = traced.compactMap { $0["step"]?.stringValue }
        #expect(steps.starts(with: ["sent"]) && steps.contains("ended"), "\(steps)")
    }

    @Test func `LIM-35: messages are traced for a minute after the last request, and 256 events are one answer`() throws
    {
        try nodes.pair()
        _ = try nodes.startApp()
        let caller = try nodes.startApp(at: .primary, .init())
        func send(_ count: Int) throws {
            for _ in 0..<count {
                var message = try nodes.message()
                message.reply = nil
                try caller.send(message)
            }
            nodes.clock.run()
        }
        func trace(_ body: PropertyListDictionary = [:]) throws -> (last: PropertyListValue, count: Int) {
            let answer = nodes.ask(nodes.primary, "trace", body).body
            return (try #require(answer["last"]), answer["events"]?.arrayValue?.count ?? 0)
        }
        let begin = try trace(["messages": true])
        try send(300)
        let first = try trace(["after": begin.last])
        #expect(first.count == 256)
        #expect(try trace(["after": first.last]).count > 0)
        nodes.clock.advance(by: .seconds(59))
        let late = try trace()
        try send(1)
        #expect(try trace(["after": late.last]).count > 0)
        nodes.clock.advance(by: .seconds(2))
        let over = try trace()
        try send(1)
        #expect(try trace(["after": over.last]).count == 0)
    }
}
