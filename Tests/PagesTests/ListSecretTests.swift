// Secrets in the items of lists: readers have marks, changes with marks keep what is stored, and nothing else leaves.

import TandemPages
import TandemPropertyList
import TandemSettings
import Testing

@Suite struct ListSecretTests {
    private static let item: PropertyListDictionary = [
        "Type": "PSChildPaneSpecifier", "File": "Account", "Key": "name",
    ]
    private static let root = [
        list("accounts", item),
        list("codes", ["Type": "PSTextFieldSpecifier", "IsSecure": true, "DefaultValue": "1111"]),
        list("tags", ["Type": "PSTextFieldSpecifier"]),
    ]
    private static let account = [
        Specifier(.textField, ["Key": "name"]),
        Specifier(.textField, ["Key": "pin", "IsSecure": "YES", "DefaultValue": "2222"]),
        Specifier(.childPane, ["File": "Inner"]), list("keys", ["Type": "PSTextFieldSpecifier", "IsSecure": true]),
    ]
    private static let inner = [Specifier(.textField, ["Key": "token", "IsSecure": true])]
    private static let tree = pageTree(["Root": root, "Account": account, "Inner": inner])

    private static let stored: PropertyListValue = [
        ["name": "a", "pin": "4711", "keys": ["k1", "k2"]], ["name": "b", "pin": "4711", "more": ["token": "t0"]],
    ]

    private static func list(_ key: String, _ entry: PropertyListDictionary) -> Specifier {
        Specifier(
            .listGroup,
            ["Key": .string(key), "ItemSpecifier": .dictionary(entry), "AddSpecifier": .dictionary(entry)])
    }

    /// A code that tells texts apart, which is all that these tests ask of it.
    private func code(_ text: String) -> [UInt8] {
        var hash: UInt64 = 14_695_981_039_346_656_037
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
        return (0..<16).map { UInt8(truncatingIfNeeded: hash >> (8 * UInt64($0 % 8))) }
    }

    private func secrets(_ key: String = "accounts") throws -> ListSecrets {
        try #require(ListSecrets.all(in: Self.tree)[key])
    }

    @Test("PAG-23, LIM-154: a text is a mark by its bytes and its length")
    func marksByBytes() {
        let code = String(repeating: "0a", count: 16)
        #expect(ListSecrets.isMark(.string("<redacted:\(code)>")))
        let marks = String(repeating: "\u{301}\u{323}", count: 500)
        for text in [
            "<redacted:\(code)", "<redacted:\(code)0a>", "<redacted:\(code.dropFirst())g>", "<redacted:\(marks)>",
            "<redacted:\(code)>\u{301}", "<redacted:\(String(repeating: "\u{301}", count: 16))>", marks, "",
        ] {
            #expect(!ListSecrets.isMark(.string(text)), "\(text.utf8.count) bytes")
        }
    }

    @Test("PAG-23, LIM-154: keys with many marks are secret, too")
    func keysOfMarks() throws {
        let key = "k" + String(repeating: "\u{301}", count: 40)
        let item = Specifier(.textField, ["Key": .string(key), "IsSecure": true])
        let tree = pageTree(["Root": [Self.list("accounts", Self.item)], "Account": [item]])
        let secrets = try #require(ListSecrets.all(in: tree)["accounts"])
        let read = secrets.marked([.dictionary([key: "4711"])], code)
        #expect(ListSecrets.hasMarks(read) && !PropertyListJSON.text(read).contains("4711"))
    }

    @Test("PAG-23: a reader has a mark in the place of each secret of an item, and no two of a list are the same")
    func marks() throws {
        let read = try secrets().marked(Self.stored, code)
        let text = PropertyListJSON.text(read)
        for secret in ["4711", "k1", "k2", "t0"] { #expect(!text.contains(secret)) }
        let items = (read.arrayValue ?? []).compactMap(\.dictionaryValue)
        #expect(items.map { $0["name"] } == ["a", "b"])
        let marks = items.compactMap { $0["pin"] }
        #expect(marks.count == 2 && marks[0] != marks[1] && marks.allSatisfy(ListSecrets.isMark))
        #expect(try secrets().marked(Self.stored, code) == read)
        #expect(ListSecrets.hasMarks(read) && !ListSecrets.hasMarks(Self.stored))
        let codes = try secrets("codes").marked(["4711", ["x": "4711"], "4711"], code).arrayValue ?? []
        #expect(codes.count == 3 && codes.allSatisfy(ListSecrets.isMark) && codes[0] != codes[2])
        #expect(Set(ListSecrets.all(in: Self.tree).keys) == ["accounts", "codes", "keys"])
    }

    @Test("PAG-23: a change with the marks keeps the secrets, wherever its items are, and a typed secret is new")
    func changes() throws {
        let read = try secrets().marked(Self.stored, code)
        #expect(try secrets().unmarked(read, stored: Self.stored, code) == Self.stored)
        var items = read.arrayValue ?? []
        items.reverse()
        var changed = items[1].dictionaryValue ?? [:]
        (changed["name"], changed["keys"]) = ("c", ["k3"])
        items[1] = .dictionary(changed)
        items.append(["name": "d", "pin": "0815"])
        #expect(
            try secrets().unmarked(.array(items), stored: Self.stored, code) == [
                ["name": "b", "pin": "4711", "more": ["token": "t0"]], ["name": "c", "pin": "4711", "keys": ["k3"]],
                ["name": "d", "pin": "0815"],
            ])
        let codes = try secrets("codes").marked(["1", "2"], code)
        let turned = PropertyListValue.array((codes.arrayValue ?? []).reversed())
        #expect(try secrets("codes").unmarked(turned, stored: ["1", "2"], code) == ["2", "1"])
    }

    @Test("PAG-23: the mark of an item that was changed meanwhile is refused, and shows no value")
    func meanwhile() throws {
        let read = try secrets().marked([["name": "a", "pin": "4711"]], code)
        for now: PropertyListValue? in [[["name": "b", "pin": "4711"]], [["name": "a", "pin": "0815"]], [], nil] {
            let error = #expect(throws: SettingsPayloadError.self) {
                try secrets().unmarked(read, stored: now, code)
            }
            #expect(
                error?.description == "accounts: <redacted> cannot be stored: an item was changed meanwhile; its "
                    + "secret has to be given again")
        }
    }

    @Test("PAG-23: of a list whose item page is missing or cut, every item is a secret, and its default stays here")
    func unknown() throws {
        let list = Self.list("accounts", Self.item)
        let many = (0...PageTree.specifierLimit).map { Specifier(.textField, ["Key": .string("k\($0)")]) }
        for tree in [pageTree(["Root": [list]]), pageTree(["Root": [list], "Account": many])] {
            let secrets = try #require(ListSecrets.all(in: tree)["accounts"])
            let marks = try #require(secrets.marked(Self.stored, code).arrayValue)
            #expect(marks.count == 2 && marks.allSatisfy(ListSecrets.isMark))
            let declaration = SettingDeclaration(
                "accounts", .array, .preference, initial: .array(Self.stored.arrayValue ?? []))
            #expect([declaration].withoutSecrets(of: tree).map(\.isSecret) == [true])
        }
        let declarations = ["accounts", "tags"].map {
            SettingDeclaration($0, .array, .preference, initial: .array([]))
        }
        #expect(declarations.withoutSecrets(of: Self.tree).map(\.isSecret) == [false, false])
        #expect(declarations.withoutSecrets(of: Self.tree, hasPages: false).map(\.isSecret) == [true, false])
    }

    @Test("PAG-23, SCH-4: the default of a list that no property declares is not in the layout")
    func undeclared() throws {
        var entries = Self.list("loose", Self.item).entries
        entries["DefaultValue"] = [["pin": "5555"]]
        let tree = pageTree(["Root": [Specifier(entries)], "Account": Self.account])
        let bytes = try PropertyListWriter.write(tree.layout(for: SettingsSchema([])))
        #expect(!bytes.contains(Array("5555".utf8)))
    }

    @Test("PAG-23, LIM-119: two thousand lists that lead to each other are read once, and not once for each")
    func manyLists() {
        let lists = (0..<PageTree.specifierLimit).map { number in
            Self.list("list\(number)", ["Type": "PSChildPaneSpecifier", "File": "Root", "Key": "name"])
        }
        #expect(ListSecrets.all(in: pageTree(["Root": lists])).isEmpty)
    }

    @Test("PAG-23: a secret that only looks like a mark is a new secret")
    func almost() throws {
        for text in ["<redacted:>", "<redacted:x>", "<redacted:\(String(repeating: "0", count: 30))>"] {
            let items: PropertyListValue = [["name": "a", "pin": .string(text)]]
            #expect(try secrets().unmarked(items, stored: nil, code) == items)
        }
    }

    @Test("PAG-23: an item is read once, however many secrets it has")
    func many() throws {
        let item: PropertyListValue = ["more": .array((0..<5000).map { ["token": .string("t\($0)")] })]
        var bytes = 0
        let read = try secrets().marked([item]) { text in
            bytes += text.utf8.count
            return code(text)
        }
        #expect(bytes < 20 * PropertyListJSON.text(item).utf8.count)
        #expect(try secrets().unmarked(read, stored: [item], code) == [item])
    }

    @Test("PAG-23: a mark in a field that is no secret is a text, and brings no secret out")
    func elsewhere() throws {
        let read = try secrets().marked([["name": "a", "pin": "4711"]], code)
        let mark = try #require(read.arrayValue?.first?.dictionaryValue?["pin"])
        let stolen: PropertyListValue = [["name": mark]]
        #expect(try secrets().unmarked(stolen, stored: [["name": "a", "pin": "4711"]], code) == stolen)
    }

    @Test("PAG-23: no default of a secret of an item is in a schema or in its pages")
    func defaults() throws {
        let declarations = ["accounts", "codes", "tags"].map { name in
            SettingDeclaration(
                name, .array, .preference,
                initial: .array(name == "accounts" ? [["name": "a", "pin": "3333"]] : ["3333"]))
        }
        let kept = declarations.withoutSecrets(of: Self.tree)
        #expect(kept.map(\.initialValue) == [.array([["name": "a"]]), .array([]), .array(["3333"])])
        let document = try SchemaDocument(
            writing: Array(kept.dropLast()), layout: Self.tree.layout(for: SettingsSchema(declarations)))
        for secret in ["1111", "2222", "3333"] { #expect(!document.bytes.contains(Array(secret.utf8))) }
    }

    @Test("PAG-23: a draft of an item takes the marks as they are")
    func drafts() throws {
        let items = try secrets().marked([["name": "a", "pin": "4711"]], code).arrayValue ?? []
        var draft = try #require(ListDraft(of: Self.root[0], items: items, at: 0, in: Self.tree))
        #expect(draft.take(["name": "b"], of: draft.view(in: Self.tree)).errors.isEmpty)
        let next = try #require(draft.done(items))
        let result = try secrets().unmarked(.array(next), stored: [["name": "a", "pin": "4711"]], code)
        #expect(result == [["name": "b", "pin": "4711"]])
    }
}
