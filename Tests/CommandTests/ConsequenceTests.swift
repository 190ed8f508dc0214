// The lines that an operator reads before agreeing to a change (CTL-29), and the grammar of the commands that ask so.

import TandemControl
import TandemOperations
import TandemPropertyList
import Testing

@testable import tandem

@Suite struct ConsequenceTests {
    private func body(_ more: PropertyListDictionary = [:]) -> Fact {
        let body: PropertyListDictionary = [
            "app": "org.example.lamp", "uid": 4_000_000_001, "connected": false, "items": 0, "files": 0, "letters": 0,
            "contexts": 0, "configurations": 0, "directory": "/var/lib/tandem/apps/org.example.lamp",
        ]
        return Fact(body.merging(more))
    }

    @Test("CTL-29: what a removal ends is named in whole, and nothing that is not there")
    func removal() {
        #expect(
            Consequences.removal(body()) == [
                "removing org.example.lamp of 4000000001 from this device would:",
                "  delete its directory /var/lib/tandem/apps/org.example.lamp, with all that is in it",
            ])
        let lines = Consequences.removal(
            body([
                "connected": true, "items": 2, "files": 1, "letters": 1, "contexts": 2, "configurations": 1,
                "highest": 7, "keyid": .data([UInt8](repeating: 0xAB, count: 32)),
            ]))
        #expect(lines[1] == "  drop 2 items, 1 file, 1 dead letter, 2 contexts, and refuse them to their senders")
        #expect(lines.contains("  end 1 staged or applied configuration"))
        #expect(lines.contains("  still refuse versions of its configuration up to 7: sign a higher one"))
        #expect(lines.contains("  end the trust in its configuration key abababababababab"))
        #expect(lines.last == "  disconnect it as app-removed")
    }

    @Test("CTL-29, CTL-68: the end of a row names the device, its way, and since when it is gone")
    func forgetting() {
        let lines = Consequences.forgetting(
            Fact(["far": [["name": "panel", "via": "gateway", "gone": 1_790_000_000_000]]]))
        #expect(lines.count == 2 && lines[0].hasPrefix("panel (via gateway), gone since 2026-"), "\(lines)")
    }

    @Test("CTL-29: an assignment says what the former owner loses, and that a new app is only reserved")
    func assignment() {
        #expect(Consequences.assignment(body()) == ["org.example.lamp would be for 4000000001 alone from now on"])
        let lines = Consequences.assignment(body(["former": 4_000_000_002, "connected": true, "items": 1]))
        #expect(lines[0] == "org.example.lamp would pass from 4000000002 to 4000000001; the former owner would:")
        #expect(lines.contains("  be disconnected as app-owned") && lines.contains("  leave 1 item to the new one"))
        #expect(lines.contains { $0.contains("lose the directory") })
    }

    @Test("CTL-29, CTL-33: the end of a key's trust says which versions stay refused, and what it forgets")
    func untrusting() {
        func untrusting(_ fact: PropertyListDictionary) -> [String] {
            Consequences.untrusting(Fact(fact), after: "the key would go")
        }
        #expect(untrusting(["configurations": 0, "revoked": 0]) == ["the key would go"])
        let several = untrusting(["configurations": 3])
        #expect(several == ["the key would go; that would:", "  end 3 staged or applied configurations"])
        #expect(
            untrusting(["configurations": 1, "highest": 7, "revoked": 2]).dropFirst() == [
                "  end 1 staged or applied configuration",
                "  still refuse versions of its configuration up to 7: sign a higher one",
                "  forget the revocation of 2 keys: until a primary brings it, one that the next anchor lists counts",
            ])
        let targets: PropertyListValue = [
            ["target": "custom:house-7", "version": 2], ["target": "custom:house-8", "version": 7],
        ]
        #expect(
            untrusting(["highest": 7, "refused": targets]).dropFirst() == [
                "  still refuse versions of its configuration for custom:house-7 up to 2: sign a higher one",
                "  still refuse versions of its configuration for custom:house-8 up to 7: sign a higher one",
            ])
        #expect(Consequences.removal(body(["revoked": 1])).contains { $0.contains("forget the revocation of 1 key:") })
        let primary = untrusting(["configurations": 0, "desired": 2])
        #expect(primary.count == 2 && primary[1].hasPrefix("  still deliver 2 configurations to secondaries"))
        #expect(primary[1].contains("tandem configuration withdraw"))
    }

    @Test("CTL-29: taking an identifier back says which secondaries have to accept that")
    func clearing() {
        let lines = Consequences.clearing(
            body(["identifier": "house-7", "target": "vendor:X", "secondaries": ["kiosk", "panel"]]))
        #expect(lines[0].contains("house-7") && lines[0].contains("vendor:X"))
        #expect(lines.last?.contains("kiosk, panel") == true)
        #expect(lines.last?.contains("tandem identifier accept") == true)
    }

    @Test("CTL-29, CTL-64: a changed identifier is accepted beside the old one, with what ends")
    func accepting() {
        let fact = body(["name": "hub", "former": "one", "target": "custom:two", "configuration": "applied"])
        let lines = Consequences.accepting(fact)
        #expect(lines[0].contains("custom:two") && lines[0].contains("hub") && lines[0].hasSuffix("one"))
        #expect(lines.count == 2 && lines[1].contains("(applied) would end here"))
        #expect(Consequences.accepting(body(["target": "custom:two", "configuration": "none"])).count == 1)
        let long = String(repeating: "x", count: 250)
        #expect(Consequences.accepting(body(["target": .string("custom:\(long)y")]))[0].contains("xy from now on"))
    }

    @Test("CTL-29, PAR-13: the end of a pairing says what is dropped, and nothing that is not there")
    func unpairing() {
        let nothing = Fact([
            "name": "hub", "role": "secondary", "items": 0, "files": 0, "configurations": 0, "edits": 0,
        ])
        #expect(
            Consequences.unpairing(nothing)
                == [
                    "the pairing with hub would end; hub still lists it until it is unpaired there, too. On this "
                        + "device that would:",
                    "  lose nothing",
                ])
        var body: PropertyListDictionary = [
            "name": "hub", "role": "secondary", "items": 2, "files": 1, "configurations": 1, "edits": 3,
        ]
        #expect(
            Consequences.unpairing(Fact(body)).dropFirst() == [
                "  drop 2 items, 1 file", "  end 1 configuration, whose versions stay refused",
                "  undo 3 edits of settings by hub",
            ])
        body["role"] = "primary"
        body["endedThere"] = 5000
        #expect(Consequences.unpairing(Fact(body)).first?.contains("would end; hub has ended it already") == true)
        #expect(Consequences.unpairing(Fact(body)).contains("  drop 1 configuration on the way to it"))
        body["far"] = ["p1", "p2"]
        let far = "  no longer reach, unless another carrier states them: p1, p2"
        #expect(Consequences.unpairing(Fact(body)).last == far)
    }

    @Test(
        "commands that take something back ask a running daemon for agreement, and explain it",
        arguments: [
            ["apps", "remove"], ["apps", "assign"], ["trust", "remove"], ["trust", "replace"], ["identifier", "clear"],
            ["trusted-devices", "remove"], ["unpair"],
        ])
    func options(path: [String]) throws {
        let (subcommand, _) = try Subcommand.find(path)
        #expect(subcommand.path == path && !subcommand.notes.isEmpty)
        let names = Set(subcommand.options.map(\.name))
        #expect(names.isSuperset(of: ["yes", "device"]))
    }

    @Test("PAG-37: a command on a terminal asks unless it has --yes, and one without a terminal does not")
    func asking() throws {
        func isMade(_ words: String..., isTerminal: Bool, answer: Bool) throws -> [Bool] {
            let arguments = try OptionParser(subcommand: .settingsReset).parse(words)
            var isAsked = false
            let isMade = arguments.mayChangeSeveral(isTerminal: isTerminal) {
                isAsked = true
                return answer
            }
            return [isMade, isAsked]
        }
        #expect(try isMade("--all", "--app", "a.b", isTerminal: true, answer: false) == [false, true])
        #expect(try isMade("--all", "--app", "a.b", isTerminal: true, answer: true) == [true, true])
        #expect(try isMade("--all", "--app", "a.b", "--yes", isTerminal: true, answer: false) == [true, false])
        #expect(try isMade("--all", "--app", "a.b", isTerminal: false, answer: false) == [true, false])
    }

    @Test("PAG-37: a reset of all edits needs agreement to a sentence that says what goes, and one of keys does not")
    func reset() throws {
        var questions: [String] = []
        func request(_ words: String..., isAgreed: Bool) throws -> PropertyListDictionary {
            let arguments = try OptionParser(subcommand: .settingsReset).parse(words)
            return try arguments.settingsToReset { question in
                questions.append(question)
                return isAgreed
            }
        }
        #expect(throws: CommandFailure.refused("nothing was changed")) {
            try request("--all", "--app", "org.example.lamp", isAgreed: false)
        }
        #expect(questions.count == 1 && questions[0].contains("every edit of org.example.lamp"), "\(questions)")
        #expect(try request("--all", "--app", "org.example.lamp", isAgreed: true) == [:])
        #expect(try request("volume", "--app", "org.example.lamp", isAgreed: false) == ["keys": ["volume"]])
        #expect(questions.count == 2)
    }

    @Test("PAG-37: the commands that reset or delete several values of an app ask before it, but for --yes")
    func settings() throws {
        for path in [["settings", "reset"], ["settings", "edit"]] {
            let (subcommand, _) = try Subcommand.find(path)
            #expect(subcommand.path == path && subcommand.notes.contains("--yes"))
            #expect(subcommand.options.contains { $0.name == "yes" }, "\(path)")
        }
    }

    @Test(
        "CTL-29, CTL-64: what is agreed to is the pairing and the target that were shown, whoever has the name by then")
    func agreedPairing() {
        let pairing = PropertyListValue.data([UInt8](repeating: 7, count: 16))
        let answer = Fact(["pairing": pairing, "name": "kitchen", "target": "custom:two", "done": false])
        #expect(answer.confirmation(of: ["who": "kitchen"]) == ["pairing": pairing, "yes": true])
        #expect(
            answer.confirmation(of: ["who": "kitchen", "app": "org.example.lamp"], confirming: "target")
                == ["pairing": pairing, "app": "org.example.lamp", "target": "custom:two", "yes": true])
        #expect(answer.confirmation(of: ["app": "org.example.lamp"]) == ["app": "org.example.lamp", "yes": true])
        let older = Fact(["name": "kitchen", "done": false])
        #expect(older.confirmation(of: ["who": "kitchen"]) == ["who": "kitchen", "yes": true])
    }
}
