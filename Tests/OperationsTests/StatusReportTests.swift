// Status as tables for people.

import TandemBase
import TandemOperations
import TandemPropertyList
import Testing

@Suite struct StatusReportTests {
    @Test(
        "CTL-61: the table of join links has the time and attempts of open ones, and the devices that used the others")
    func links() throws {
        let token: [UInt8] = [0x3F, 0x2A, 0x91, 0xBC, 0xFF]
        let report = StatusReport(
            Fact([
                "links": [
                    ["token": .data(token), "left": 240_000, "attempts": 4],
                    [
                        "token": .data(token), "left": 240_000, "attempts": 4, "pairing": .data([1, 2]),
                        "name": "kiosk",
                    ],
                    ["token": .data(token), "left": 240_000, "attempts": 4, "pairing": .data([1, 2])],
                ]
            ]))
        let table = try #require(report.tables.first { $0.title == "join links" })
        #expect(table.columns == ["link", "open for", "attempts left", "used by"])
        #expect(
            table.rows == [
                ["3f2a91bc", "4 min", "4", "-"], ["3f2a91bc", "used", "-", "kiosk"],
                ["3f2a91bc", "used", "-", "0102"],
            ])
        #expect(!StatusReport(Fact([:])).lines.contains("join links"))
    }

    @Test("CTL-23, CTL-72: secondaries with one name are told apart by their pairings, and other bytes by their digest")
    func equalNames() throws {
        func row(_ name: String, _ pairing: String, isLinked: Bool) -> PropertyListValue {
            [
                "name": .string(name), "pairing": .string(pairing), "linked": .boolean(isLinked), "app": "a",
                "reported": 2, "history": [["version": 2, "reported": 1_790_000_000_000]],
            ]
        }
        let rows: PropertyListValue = [
            row("s1", "p-1", isLinked: false), row("s2", "p-2", isLinked: true), row("s2", "p-3", isLinked: false),
        ]
        let facts = Fact(["secondaries": rows, "history": [["version": 2]]])
        let table = DesiredReport.secondaries(facts.list("secondaries"), title: "secondaries")
        #expect(table.rows.map(\.[0]) == ["s1", "s2 (p-2)", "s2 (p-3, no link)"])
        #expect(DesiredReport.lines(of: facts).last?.contains("s2 (p-3, no link) 2026-") == true)
        let other = Fact(["name": "s1", "reported": 2, "reportedDigest": .data([0xAB, 0xCD])])
        #expect(DesiredReport.secondaries([other], title: "x").rows.first?.contains("2 (abcd)") == true)
    }

    @Test("CTL-74: the table of the secondaries' keys has what each lacks and refuses")
    func keys() throws {
        let rows: PropertyListValue = [
            ["name": "kiosk", "app": "org.example.lamp", "version": 3, "waiting": 0],
            [
                "name": "panel", "via": "gw", "app": "org.example.lamp", "waiting": 2, "verdict": "old-keyset",
                "text": "why",
            ],
        ]
        let table = try #require(StatusReport(Fact(["keys": rows])).tables.last)
        #expect(table.columns == ["name", "app", "key set", "lacks", "verdict", "reason"])
        #expect(
            table.rows == [
                ["kiosk", "org.example.lamp", "3", "0", "-", "-"],
                ["panel (via gw)", "org.example.lamp", "-", "2", "old-keyset", "why"],
            ])
        #expect(DesiredReport.lines(of: Fact(["keys": rows])).contains("keys of secondaries"))
    }

    @Test("PAR-15: of two linked devices the advice to switch names both: the operator knows which one is meant")
    func switching() throws {
        func pairing(_ name: String, _ level: String, role: String = "primary", isActive: Bool = false)
            -> PropertyListValue
        {
            [
                "pairing": .string("p-\(name)"), "name": .string(name), "role": .string(role), "level": .string(level),
                "active": .boolean(isActive),
            ]
        }
        func advice(_ others: [PropertyListValue], beside active: String = "unreachable") -> String? {
            let pairings = [pairing("old", active, isActive: true)] + others
            let report = StatusReport(Fact(["pairings": .array(pairings)]))
            return report.tables.first { $0.title == "pairings" }?.advice.first
        }
        #expect(advice([pairing("a", "unreachable")]) == nil)
        #expect(advice([pairing("a", "linked", role: "secondary")]) == nil, "of the other side")
        #expect(advice([pairing("a", "linked")], beside: "linked") == nil)
        let one = "the active device 'old' is not linked; 'tandem switch p-a' makes 'a'"
        #expect(advice([pairing("a", "linked")]) == one + " the active one")
        let report = StatusReport(
            Fact(["pairings": [pairing("old", "unreachable", isActive: true), pairing("a", "linked")]]))
        #expect(report.lines.last == "  " + one + " the active one")
        let both = one + " or 'tandem switch p-b' makes 'b'"
        #expect(advice([pairing("a", "linked"), pairing("b", "linked")]) == both + " the active one")
        let many = ["a", "b", "c", "d"].map { pairing($0, "linked") }
        #expect(
            advice(many) == both + " or 'tandem switch p-c' makes 'c' the active one (or another linked one)")
    }

    @Test("PAR-15, CTL-12: where no paired device of a role is the active one, the table says how to choose one")
    func choosing() throws {
        func pairing(_ name: String, _ role: String, isActive: Bool = false) -> PropertyListValue {
            [
                "pairing": .string("p-\(name)"), "name": .string(name), "role": .string(role), "state": "active",
                "level": "linked", "active": .boolean(isActive),
            ]
        }
        func advice(_ pairings: PropertyListValue...) -> [String]? {
            StatusReport(Fact(["pairings": .array(pairings)])).tables.first { $0.title == "pairings" }?.advice
        }
        let text =
            "no device is the active one, and default sessions of apps fail (7005); "
            + "'tandem switch p-a' makes 'a' or 'tandem switch p-b' makes 'b' the active one"
        let hub = pairing("hub", "secondary", isActive: true)
        #expect(advice(hub, pairing("a", "primary"), pairing("b", "primary")) == [text])
        #expect(advice(hub, pairing("a", "primary"), pairing("b", "primary", isActive: true)) == [])
        #expect(advice(hub) == [])
    }

    @Test("CFG-22: the table of apps says which apply invalid signatures, if one does")
    func invalidSignatures() throws {
        var lamp: PropertyListDictionary = ["app": "org.example.lamp"]
        func table() throws -> Table {
            let status = Fact(["applications": [.dictionary(lamp), ["app": "org.example.player"]]])
            return try #require(StatusReport(status).tables.first { $0.title == "applications" })
        }
        #expect(try table().columns.last == "version")
        lamp["waives"] = true
        let warning = try table()
        #expect(warning.columns.last == "signatures")
        #expect(warning.rows.compactMap(\.last) == ["INVALID allowed", "checked"])
    }

    @Test("CTL-61: a join link has its short name and its whole token as JSON output has it, and no other name")
    func namesOfLinks() throws {
        let token = try #require(Hexadecimal.decode("6419136c4ad64f0e8a31b2c3d4e5f607"))
        let facts = Fact(["token": .data(token)])
        let shown = try #require(Fact.plain(.dictionary(facts.body)).dictionaryValue?["token"]?.stringValue)
        #expect(shown == "6419136C-4AD6-4F0E-8A31-B2C3D4E5F607")
        let link = JoinLinkReport(facts)
        for text in ["6419136c", "6419136C", shown, shown.lowercased()] {
            #expect(link.isNamed(text), "\(text)")
        }
        for text in ["", "6419136", "6419136c4a", String(shown.dropLast()), shown + "0", Base64URL.encode(token)] {
            #expect(!link.isNamed(text), "\(text)")
        }
    }

    @Test("CTL-23: what has outlived its lifetime is marked in the table of what is desired")
    func lifetimes() {
        for (isOver, text) in [(true, "applied, lifetime over"), (false, "applied")] {
            var row: PropertyListDictionary = ["name": "kiosk", "verdict": "applied"]
            if isOver { row["over"] = true }
            #expect(DesiredReport.state(of: Fact(row)) == text)
        }
    }

    @Test("CTL-24: the list of what is desired says at how many secondaries the lifetime is over, and how many drifted")
    func lifetimesInTheList() {
        for (lapsed, text) in [(0, "2 of 3"), (1, "2 of 3, lifetime over at 1")] {
            let row: PropertyListDictionary = [
                "applied": 2, "secondaries": 3, "lapsed": .integer(Int64(lapsed)), "drifted": 1,
            ]
            let table = DesiredReport.list(Fact(["desired": [.dictionary(row)]]))
            #expect(table.rows.first?[3] == text && table.rows.first?[4] == "1" && table.columns[4] == "drifted")
        }
    }

    @Test("CTL-23, CTL-24: a secondary without the app is named so, and is none of those that lack the configuration")
    func secondariesWithoutTheApp() {
        let gateway: PropertyListDictionary = [
            "name": "gateway", "verdict": "waiting-for-key", "noApp": true, "stale": 1,
        ]
        #expect(DesiredReport.state(of: Fact(gateway)) == "no-app")
        let row: PropertyListDictionary = ["applied": 5, "secondaries": 5, "lapsed": 0, "noApp": 1]
        let table = DesiredReport.list(Fact(["desired": [.dictionary(row)]]))
        #expect(table.rows.first?[3] == "5 of 5, no app at 1")
    }

    @Test("CTL-37: the table of configurations says by which carrier it knows a device")
    func carriedDeliveries() {
        let near: PropertyListValue = ["app": "org.example.lamp", "state": "on its way to kiosk"]
        let far: PropertyListValue = ["app": "org.example.lamp", "state": "on its way to kiosk", "via": "gateway"]
        let lines = StatusReport(Fact(["configurations": [near, far]])).lines
        #expect(lines.count { $0.contains("on its way to kiosk (via gateway)") } == 1)
        #expect(lines.count { $0.contains("on its way to kiosk") } == 2)
    }

    @Test("CTL-72: tables name the other device, or its pairing if several devices have the name")
    func peers() throws {
        let named: PropertyListValue = ["app": "org.example.lamp", "pairing": .data([1, 2]), "peerName": "kiosk"]
        let other: PropertyListValue = ["app": "org.example.lamp", "pairing": .data([3, 4])]
        let rows: PropertyListValue = [named, other]
        let report = StatusReport(Fact(["queues": rows, "contexts": rows, "counterparts": rows]))
        let letters = Table.deadLetters(Fact.list(rows))
        for title in ["queues", "contexts", "counterparts", "dead letters"] {
            let table = try #require((report.tables + [letters]).first { $0.title == title })
            #expect(table.columns.last == "device" && table.rows.map(\.last) == ["kiosk", "0304"], "\(title)")
        }
    }

    @Test("CTL-2: a user who is no operator is shown its own apps, and nothing is said of the device")
    func ownApps() {
        let none = StatusReport(Fact(["applications": [], "configurations": []]))
        #expect(none.lines == ["this user sees only its own apps; none is registered"] && none.device.isEmpty)
        let one = StatusReport(Fact(["applications": [["app": "org.example.lamp"]]]))
        #expect(one.lines.first == "this user sees only its own apps" && one.lines.contains("applications"))
        let whole = StatusReport(Fact(["device": .data([1, 2]), "name": "hub", "role": "primary"]))
        #expect(whole.lines == ["device     hub  0102", "role       primary", "listening  no"])
    }

    @Test("CTL-10: the table of pairings says how to end one that the other device has ended")
    func endedThere() {
        let pairing: PropertyListValue = ["name": "hub", "pairing": .data([1, 2]), "endedThere": 5000]
        let table = StatusReport(Fact(["pairings": [pairing]])).tables.first { $0.title == "pairings" }
        let text = "'hub' said 5 s ago that it has no such pairing; 'tandem unpair 0102' ends it here, too"
        #expect(table?.advice == [text])
    }

    @Test("CTL-10: the table of pairings has both keys whole, and what to do where another device answers")
    func otherDevice() throws {
        let keys = String(repeating: "ABCD-", count: 26)
        let pairing: PropertyListValue = [
            "name": "hub", "pairing": .data([1, 2]), "level": "unreachable", "address": "10.0.0.2:4747",
            "reason": .string("wrong-pin: \(keys)"),
        ]
        let table = try #require(StatusReport(Fact(["pairings": [pairing]])).tables.first { $0.title == "pairings" })
        #expect(table.rows.first?.contains("wrong-pin: \(keys)") == true, "\(table.rows)")
        #expect(table.advice == ["another device than 'hub' answers at 10.0.0.2:4747: \(OtherDevice.ways)"])
    }

    @Test("CTL-10: the table of pairings says that a new address makes no link, once an attempt there has failed")
    func move() {
        func advice(_ failure: PropertyListValue?) -> [String]? {
            var pairing: PropertyListDictionary = [
                "name": "hub", "pairing": .data([1, 2]), "level": "linked", "dials": "10.0.0.2:4747",
            ]
            pairing["dialError"] = failure
            return StatusReport(Fact(["pairings": [.dictionary(pairing)]])).tables.first { $0.title == "pairings" }?
                .advice
        }
        #expect(advice(nil) == [])
        let text =
            "'hub' is linked at its former address only, and not at 10.0.0.2:4747: no answer; "
            + "'tandem address 0102 ADDRESS' changes the address"
        #expect(advice("no answer") == [text])
    }
}
