// Secrets in the items of lists, in a whole daemon: no answer has them, on the device and at its primary, and a change
// of an item keeps them.

import TandemBase
import TandemDaemonTestSupport
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSettings
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct ListSecretAnswerTests {
    private let nodes: TwoNodes
    private let document: SchemaDocument

    init() throws {
        nodes = try TwoNodes()
        let declaration = SettingDeclaration(
            name: "accounts", type: .array, editor: .preference, summary: "", access: .counterpart,
            initialValue: .array([["name": "z", "pin": "swordfish0"]]))
        let entry: PropertyListValue = ["Type": "PSChildPaneSpecifier", "File": "Account", "Key": "name"]
        let layout: PropertyListDictionary = [
            "pages": [
                [
                    "name": "Root",
                    "specifiers": [["Type": "IASKListGroupSpecifier", "Key": "accounts", "ItemSpecifier": entry]],
                ],
                [
                    "name": "Account", "ofItems": true,
                    "specifiers": [
                        ["Type": "PSTextFieldSpecifier", "Key": "name"],
                        [
                            "Type": "PSTextFieldSpecifier", "Key": "pin", "IsSecure": true,
                            "DefaultValue": "swordfish9",
                        ],
                    ],
                ],
            ]
        ]
        let texts = SettingDeclaration(
            name: "hosts", type: .strings, editor: .edit, summary: "", access: .counterpart,
            initialValue: .strings(["a"]))
        document = try SchemaDocument(writing: [declaration, texts], layout: layout)
        // The app on the secondary with its schema there, and a link.
        try nodes.pair()
        _ = try nodes.startApp(with: document, answering: [])
    }

    private func ask(_ command: String, _ more: PropertyListDictionary = [:], remotely: Bool) -> ControlAnswer {
        var body = nodes.body(more)
        if remotely { body["who"] = "the secondary" }
        return nodes.ask(remotely ? nodes.primary : nodes.secondary, command, body)
    }

    /// The tag of the edit of a list; nil without an edit.
    private func tag(of key: String = "accounts", remotely: Bool = false) -> PropertyListValue? {
        ask("settings-get", remotely: remotely).body.rows("settings").first { $0["key"] == .string(key) }?["tag"]
    }

    private func list(remotely: Bool) throws -> [PropertyListValue] {
        let answer = ask("settings-get", remotely: remotely)
        let bytes = try PropertyListWriter.write(answer.body)
        #expect(!bytes.contains(Array("swordfish".utf8)), "remotely: \(remotely)")
        let row = answer.body.rows("settings").first
        #expect(row?["edit"] == nil || row?["edit"] == row?["value"])
        return try #require(row?["value"]?.arrayValue)
    }

    private func set(_ items: [PropertyListValue], remotely: Bool) -> ControlAnswer {
        ask("settings-set", ["values": ["accounts": .array(items)]], remotely: remotely)
    }

    private func stored() throws -> PropertyListValue? {
        let bytes = try #require(TemporaryDirectory.read("\(nodes.folder)/edits.plist"))
        return try PropertyListReader.readDictionary(bytes)["values"]?.dictionaryValue?["accounts"]
    }

    @Test(
        "PAG-23, CTL-39: no answer has the secret of an item, and a change of the item keeps it",
        arguments: [false, true])
    func kept(remotely: Bool) throws {
        #expect(try list(remotely: remotely) == [["name": "z"]])
        let first: [PropertyListValue] = [["name": "a", "pin": "swordfish1"], ["name": "b", "pin": "swordfish2"]]
        #expect(set(first, remotely: remotely).code == 0)
        var items = try list(remotely: remotely)
        #expect(items.map { $0.dictionaryValue?["name"] } == ["a", "b"])
        items.swapAt(0, 1)
        var changed = items[0].dictionaryValue ?? [:]
        changed["name"] = "c"
        items[0] = .dictionary(changed)
        #expect(set(items, remotely: remotely).code == 0)
        #expect(try stored() == [["name": "c", "pin": "swordfish2"], ["name": "a", "pin": "swordfish1"]])
        let late = set(items, remotely: remotely)
        #expect(late.name == "schema")
        let text = late.body["text"]?.stringValue ?? ""
        #expect(text.contains("changed meanwhile") && !text.contains("swordfish"))
        #expect(!nodes.notes.contains { "\($0)".contains("swordfish") })
    }

    @Test("PAG-23, CTL-40: after an edit that is refused, marks and tags are as good as before: nothing was changed")
    func refused() throws {
        #expect(set([["name": "a", "pin": "swordfish1"]], remotely: false).code == 0)
        let items = try list(remotely: false)
        let before = try #require(tag())
        let long = PropertyListValue.string(String(repeating: "x", count: 131_072))
        #expect(set(items + [["name": long]], remotely: false).name == "full")
        #expect(try list(remotely: false) == items && tag() == before)
        let body: PropertyListDictionary = [
            "values": ["accounts": .array(items + [["name": "b"]])], "tags": ["accounts": before],
        ]
        #expect(ask("settings-set", body, remotely: false).code == 0)
        #expect(try stored() == [["name": "a", "pin": "swordfish1"], ["name": "b"]] && tag() != before)
    }

    @Test(
        "PAG-23, CTL-39: no mark, tag, ordinal or answer tells a primary whether its guess of a secret is right"
    )
    func guesses() throws {
        #expect(set([["name": "a", "pin": "swordfish1"]], remotely: false).code == 0)
        var marks = Set(try list(remotely: true).map(PropertyListJSON.text))
        var (ordinals, tags): (Set<UInt64>, Set<[UInt8]>) = ([], [])
        for pin: PropertyListValue in ["swordfish1", "swordfish1", "swordfish2"] {
            #expect(set([["name": "a", "pin": pin], ["name": "a", "pin": pin]], remotely: true).code == 0)
            marks.formUnion(try list(remotely: true).map(PropertyListJSON.text))
            let body = ask("settings-get", remotely: true).body
            ordinals.insert(try #require(body["ordinal"]?.unsignedValue))
            tags.insert(try #require(body.rows("settings").first?["tag"]?.dataValue))
        }
        #expect(marks.count == 1 + 3 * 2 && ordinals.count == 3 && tags.count == 3)
    }

    @Test("PAG-23: a list that is reset, or taken back with its pairing, has other marks, should it ever come back")
    func takenBack() throws {
        #expect(set([["name": "a", "pin": "swordfish1"]], remotely: true).code == 0)
        let folder = try OwnedDirectory(existing: nodes.folder)
        let bytes = try #require(try folder.read("edits.plist", limit: 1 << 20))
        var marks = [try list(remotely: false)]
        #expect(ask("settings-reset", remotely: false).body["keys"] == ["accounts"])
        try folder.replace("edits.plist", with: bytes)
        marks.append(try list(remotely: false))
        #expect(nodes.ask(nodes.secondary, "unpair", ["who": "the primary", "yes": true]).body["edits"] == 1)
        nodes.run(until: { nodes.hasNoted("edits of a pairing that has ended are taken back") })
        try folder.replace("edits.plist", with: bytes)
        marks.append(try list(remotely: false))
        #expect(Set(marks.flatMap(\.self).map(PropertyListJSON.text)).count == 3)
    }

    @Test("CTL-40: a list that is made of an edit is refused once another edit stands there", arguments: [false, true])
    func tags(remotely: Bool) throws {
        func set(_ name: PropertyListValue, on tag: PropertyListValue) -> String? {
            ask(
                "settings-set", ["values": ["accounts": [["name": name]]], "tags": ["accounts": tag]],
                remotely: remotely
            ).name
        }
        #expect(tag(remotely: remotely) == nil)
        #expect(set("a", on: .data([])) == nil && set("b", on: .data([])) == "schema")
        let first = try #require(tag(remotely: remotely))
        #expect(set("b", on: first) == nil && set("c", on: first) == "schema" && set("c", on: .data([])) == "schema")
        #expect(try stored() == [["name": "b"]])
        #expect(ask("settings-reset", ["keys": ["accounts"]], remotely: remotely).code == 0)
        #expect(set("d", on: first) == "schema" && set("d", on: .data([])) == nil)
    }

    @Test("CTL-39, CTL-40: the edit of a list of texts has a tag, too, and is changed again and again")
    func textTags() throws {
        for items: PropertyListValue in [["a", "b"], ["b", "a"], ["b"], ["b", "c"]] {
            let tags: PropertyListDictionary = ["hosts": tag(of: "hosts") ?? .data([])]
            let body: PropertyListDictionary = ["values": ["hosts": items], "tags": .dictionary(tags)]
            #expect(ask("settings-set", body, remotely: false).code == 0, "\(items)")
        }
        #expect(tag(of: "hosts") != nil)
    }

    @Test("PAG-23, SCH-4: what the paired device reads of a schema has no default of a secret of an item")
    func schema() throws {
        let schema = try #require(ask("settings-schema", remotely: true).body["schema"]?.dataValue)
        #expect(!schema.contains(Array("swordfish".utf8)))
        #expect(try SchemaDocument(reading: schema).schema.declarations.map(\.name) == ["accounts", "hosts"])
    }
}
