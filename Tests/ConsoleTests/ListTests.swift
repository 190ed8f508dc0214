// Lists of an app at the console: items are added, changed, moved and deleted by forms that keep nothing, and each
// change stores the whole list.

import TandemBase
import TandemConsole
import TandemOperations
import TandemPages
import TandemPropertyList
import TandemSettings
import TandemTestSupport
import TandemWire
import Testing

@Suite struct ListTests {
    private static let lists: [Specifier] = [
        Specifier(.childPane, ["Title": "More", "File": "More"]),
        Specifier(
            .listGroup,
            [
                "Key": "a/b", "Title": "Accounts", "Deletable": true,
                "ItemSpecifier": ["Type": "PSChildPaneSpecifier", "File": "Account", "Key": "user"],
                "AddSpecifier": ["Type": "PSChildPaneSpecifier", "File": "Account", "Title": "Add an account"],
            ]),
        list("tags", ["Type": "PSTextFieldSpecifier", "Title": "Tag"]),
        list("flags", ["Type": "PSToggleSwitchSpecifier", "Title": "Flag", "DefaultValue": true]),
        list("levels", ["Type": "PSSliderSpecifier", "Title": "Level", "MaximumValue": 3, "TandemInteger": true]),
        list("bases", ["Type": "PSMultiValueSpecifier", "Values": ["A", "G"], "Titles": ["Adenine", "Guanine"]]),
        Specifier(
            .listGroup, ["Key": "fixed", "Title": "Fixed", "ItemSpecifier": ["Type": "PSTitleValueSpecifier"]]),
        Specifier(
            .listGroup,
            ["Key": "lost", "ItemSpecifier": ["Type": "PSChildPaneSpecifier", "File": "Lost"], "AddSpecifier": [:]]),
    ]
    private static let account: [Specifier] = [
        Specifier(.group, ["Title": "Login"]),
        Specifier(.textField, ["Key": "user", "Title": "User", "DefaultValue": "me"]),
        Specifier(.textField, ["Key": "pin", "Title": "Code", "IsSecure": true]),
        Specifier(
            .slider, ["Key": "port", "Title": "Port", "MinimumValue": 1, "MaximumValue": 9, "TandemInteger": true]),
        Specifier(.toggle, ["Key": "tls", "Title": "TLS", "TrueValue": "on", "FalseValue": "off"]),
        Specifier(.childPane, ["Title": "More", "File": "More"]),
    ]

    private static func list(_ key: String, _ entry: PropertyListDictionary) -> Specifier {
        Specifier(
            .listGroup,
            [
                "Key": .string(key), "Title": .string(key), "ItemSpecifier": .dictionary(entry),
                "AddSpecifier": .dictionary(entry),
            ])
    }

    private func browser(_ values: [String: PropertyListValue] = [:]) -> Browser {
        let pages = [
            "Root": [], "Lists": Self.lists, "More": [Specifier(.toggle, ["Key": "t"])], "Account": Self.account,
        ]
        let root = [Specifier(.childPane, ["Title": "Lists", "File": "Lists"])]
        let tree = PageTree { name throws(SettingsBundleProblem) in
            (name == "Root" ? root : pages[name]).map { specifiers in
                [
                    "Title": .string("\(name)!"),
                    "PreferenceSpecifiers": .array(specifiers.map { .dictionary($0.entries) }),
                ]
            }
        }
        let browser = Browser(tree.named.map(\.specifier).declarations, on: tree)
        for (key, value) in values { browser.rows[key] = ["value": value, "layer": "user"] }
        return browser
    }

    private static let page = Browser.page + "/pages/Lists"

    private static func draft(_ key: String, _ index: Int? = nil) -> String {
        "\(Browser.page)/lists/\(key)/\(index.map { "\($0)" } ?? "new")"
    }

    /// The value of a hidden field or of a button.
    private static func value(_ name: String, in page: String, at index: Int = 0) throws -> String {
        let parts = page.components(between: "name=\"\(name)\" value=\"", and: "\"")
        return try #require(parts.count > index ? parts[index] : nil, "\(name)")
    }

    @Test("CON-19: a list has its items, each with the way to its draft, and buttons with names; nothing is markup")
    func items() throws {
        let user: PropertyListDictionary = ["user": .string(Browser.markup), "pin": "4711", "port": 1]
        let browser = browser(["a/b": [.dictionary(user), ["user": "two"]], "fixed": ["one"], "lost": ["x"]])
        let page = try #require(browser.get(Self.page)?.text)
        for text in [
            "<a href=\"\(Browser.page)/lists/a%2Fb/1\"><bdi>two</bdi></a>", "aria-label=\"Delete two\"",
            "aria-label=\"Move two up\"", "<bdi>Add an account</bdi>", "href=\"\(Self.draft("tags"))\"", "No items.",
            "<li><bdi>one</bdi></li>", "<li><bdi>x</bdi></li>",
        ] { #expect(page.contains(text), "\(text)") }
        for text in [
            "4711", "<script>alert", "aria-label=\"Move two down\"", "aria-label=\"Delete one\"", "lists/fixed/new",
            "lists/lost",
        ] { #expect(!page.contains(text), "\(text)") }
        browser.rows["a/b"]?["layer"] = "signed"
        let signed = try #require(browser.get(Self.page)?.text)
        #expect(signed.contains("<li><bdi>two</bdi></li>") && !signed.contains("lists/a%2Fb"))
    }

    @Test("CON-25, PAG-37: the deletion of an item and the reset of a list stand behind a sentence that says what goes")
    func questions() throws {
        let browser = browser(["a/b": [["user": "one"], ["user": "<two>"]]])
        browser.rows["a/b"]?["edited"] = true
        let page = try #require(browser.get(Self.page)?.text)
        let questions = page.components(between: "<details class=\"question\">", and: "</details>")
        let deletions = questions.filter { $0.contains("name=\"item-remove\"") }
        #expect(deletions.count == 2 && page.components(between: "name=\"item-remove\"", and: ">").count == 2)
        for text in [
            "<summary aria-label=\"Delete &lt;two&gt;\">Delete\u{2026}</summary>",
            "<p>Deletes <bdi>&lt;two&gt;</bdi> with all of its values. This cannot be undone.</p><button",
            ">Delete <bdi>&lt;two&gt;</bdi></button>",
        ] { #expect(deletions.last?.contains(text) == true, "\(text)") }
        let resets = questions.filter { $0.contains("name=\"reset\"") }
        #expect(
            resets.count == 1 && resets[0].contains("<p>Removes the edit of the whole list, with all of its items: "))
    }

    @Test("CON-19, PAG-20: a new item begins with the defaults; Done stores the whole list, and Cancel is a link")
    func add() throws {
        let browser = browser(["a/b": [["user": "one"]]])
        let page = try #require(browser.get(Self.draft("a%2Fb"))?.text)
        for text in [
            "name=\"v.user\" value=\"me\"", "type=\"password\"", "min=\"1\" max=\"9\" step=\"1\"", ">Done</button>",
            "<a href=\"\(Self.page)#r-1\">Cancel</a>", "Pages and lists within an item are not supported.",
            "<legend><h2><bdi>Login</bdi></h2></legend>",
        ] { #expect(page.contains(text), "\(text)") }
        #expect(!page.contains("/pages/More") && !page.contains("class=\"layer"))
        let edit = "b.user=me&v.user=you&b.pin=&v.pin=4711&b.port=1&v.port=9&b.tls=off&v.tls=off&v.tls=on"
        let answer = browser.add(Self.draft("a%2Fb"), edit)
        #expect(answer?.status == 303 && answer?.location == ConsoleRoute(path: Self.page))
        #expect(answer?.fragment == "r-1", "the browser is back at the list")
        let item: PropertyListValue = ["user": "you", "pin": "4711", "port": 9, "tls": "on"]
        #expect(browser.changed == ["a/b": [["user": "one"], item]])
    }

    @Test("CON-19, PAG-21: Done is refused with the text beside each field and what was typed, and stores nothing")
    func refused() throws {
        let browser = browser()
        let fields = "b.user=me&v.user=you&b.port=1&v.port=10&b.pin=&v.pin=4711&v.other=x"
        let answer = try #require(browser.add(Self.draft("a%2Fb"), fields))
        for text in [
            "Nothing was changed.", "over the maximum 9", "The page has no field &#39;other&#39;.", "value=\"you\"",
            "value=\"10\"",
        ] { #expect(answer.text.contains(text), "\(text)") }
        #expect(answer.status == 422 && !answer.text.contains("4711") && browser.changed == nil)
        let empty = try #require(browser.add(Self.draft("tags"), "b.value=&v.value="))
        #expect(empty.status == 422 && empty.text.contains("An item needs a value.") && browser.changed == nil)
        browser.refusal = .refused(name: "full", text: "too many <b>")
        let full = try #require(browser.add(Self.draft("tags"), "b.value=&v.value=kept"))
        #expect(full.status == 422 && full.text.contains("too many &lt;b&gt;") && full.text.contains("value=\"kept\""))
    }

    @Test("PAG-14, PAG-27: keys that the app hides have no field in a draft either")
    func hidden() throws {
        let browser = browser()
        #expect(browser.get(Self.draft("a%2Fb"))?.text.contains("v.port") == true)
        browser.running = .success(RunningState.running(RunningPage(hidden: ["port"])).body)
        let page = try #require(browser.get(Self.draft("a%2Fb"))?.text)
        #expect(page.contains("v.user") && !page.contains("v.port"))
        #expect(browser.add(Self.draft("a%2Fb"), "v.port=2")?.status == 422)
    }

    @Test("CON-20, PAG-21: the app's correction of a refused list stands in the draft's field, which shakes")
    func corrected() throws {
        let browser = browser(["a/b": [["user": "one"]], "tags": ["a"]])
        let item: PropertyListValue = ["user": "YOU", "port": 2, "tls": "off"]
        let check: PropertyListDictionary = [
            "text": "Capitals <only>.", "shake": true, "value": [["user": "one"], item],
        ]
        browser.refusal = .unfit(text: "all", checks: ["a/b": .dictionary(check)])
        let fields = "b.user=me&v.user=you&b.port=1&v.port=2&b.tls=off&v.tls=off"
        let answer = try #require(browser.add(Self.draft("a%2Fb"), fields))
        #expect(answer.status == 422 && answer.text.components(between: "row wrong", and: "id").count == 1)
        for text in [
            "name=\"v.user\" value=\"YOU\"", "name=\"v.port\" value=\"2\"", "class=\"row wrong shake\"",
            "<bdi>Capitals &lt;only&gt;.</bdi>", "name=\"b.user\" value=\"me\"",
        ] { #expect(answer.text.contains(text), "\(text)") }
        // A value without a field cannot come back with Done.
        browser.running = .success(RunningState.running(RunningPage(hidden: ["port"])).body)
        let unseen = try #require(browser.add(Self.draft("a%2Fb"), "b.user=me&v.user=YOU&b.tls=off&v.tls=off"))
        let sentence = "another value of &#39;port&#39;, which cannot be set here"
        #expect(unseen.status == 422 && unseen.text.contains(sentence))
        browser.running = .success(["state": "without-hooks"])
        let further: PropertyListDictionary = [
            "text": "No.", "value": [["user": "two"], ["user": "me", "pin": "", "port": 1, "tls": "off", "z": "Z"]],
        ]
        browser.refusal = .unfit(text: "all", checks: ["a/b": .dictionary(further)])
        for fields in ["b.user=me&v.user=you", "b.user=me&v.user=me"] {
            let named = try #require(browser.add(Self.draft("a%2Fb"), fields))
            let sentence = "The app also wants other values, which have no field here: &#39;z&#39;, item 1."
            #expect(named.status == 422 && named.text.contains(sentence) && named.text.contains("No."), "\(fields)")
        }
        // Without a correction the field that was typed has the reason.
        browser.refusal = .unfit(text: "all", checks: ["tags": ["text": "Not red.", "shake": true]])
        let plain = try #require(browser.add(Self.draft("tags"), "b.value=&v.value=red"))
        #expect(plain.status == 422 && plain.text.contains("name=\"v.value\" value=\"red\""))
        #expect(plain.text.contains("class=\"row wrong shake\"") && plain.text.contains("Not red."))
    }

    @Test(
        "CON-19, PAG-21: a text, a toggle, a slider and a choice make items that are single values",
        arguments: [
            ("tags", "b.value=&v.value=red", "red"), ("flags", "b.value=on&v.value=on", true),
            ("flags", "b.value=on&v.value=off", false), ("levels", "b.value=0&v.value=2", 2),
            ("bases", "b.value=&v.value=G", "G"),
        ] as [(String, String, PropertyListValue)])
    func singles(key: String, fields: String, value: PropertyListValue) throws {
        let browser = browser()
        #expect(browser.add(Self.draft(key), fields)?.status == 303)
        #expect(browser.changed == .dictionary([key: [value]]))
    }

    @Test("CON-19: a draft of an item shows it, keeps what no page edits and its secret, and stores it in its place")
    func edit() throws {
        let old: PropertyListDictionary = ["user": "one", "pin": "4711", "extra": 1, "port": 3]
        let browser = browser(["a/b": [["user": "zero"], .dictionary(old)]])
        let page = try #require(browser.get(Self.draft("a%2Fb", 1))?.text)
        #expect(page.contains("value=\"one\"") && page.contains("value=\"3\"") && !page.contains("4711"))
        let digest = try Self.value("item", in: page)
        let fields = "item=\(digest)&b.user=one&v.user=uno&b.pin=&v.pin="
        #expect(browser.post(Self.draft("a%2Fb", 1), fields)?.status == 303)
        var new = old
        new["user"] = "uno"
        #expect(browser.changed == ["a/b": [["user": "zero"], .dictionary(new)]])
    }

    @Test("CON-19: the form of a new item that is sent twice adds one, and is shown again with what was typed")
    func twice() throws {
        let browser = browser(["tags": ["a"]])
        let digest = try Self.value("item", in: try #require(browser.get(Self.draft("tags"))?.text))
        let fields = "b.value=&v.value=b"
        #expect(browser.post(Self.draft("tags"), "item=\(digest)&\(fields)")?.status == 303)
        browser.rows["tags"]?["value"] = ["a", "b"]
        for again in ["item=\(digest)&\(fields)", fields] {
            let second = try #require(browser.post(Self.draft("tags"), again))
            #expect(second.status == 409 && second.text.contains("value=\"b\""))
            #expect(second.text.contains("changed meanwhile") && browser.changed == nil)
            let next = try Self.value("item", in: second.text)
            #expect(next != digest)
        }
    }

    @Test("CTL-40, CON-19: a change of a list names the edit that it was read from")
    func tags() throws {
        let browser = browser(["tags": ["a"]])
        #expect(browser.add(Self.draft("tags"), "b.value=&v.value=b")?.status == 303)
        #expect(browser.commands.last?.body["tags"] == ["tags": .data([])], "it had no edit")
        browser.rows["tags"]?["tag"] = .data([1, 2])
        #expect(browser.add(Self.draft("tags"), "b.value=&v.value=c")?.status == 303)
        #expect(browser.commands.last?.body["tags"] == ["tags": .data([1, 2])])
    }

    @Test("CON-19: a list that is changed between reading and storing is read once more, and nobody's change is lost")
    func race() throws {
        let browser = browser(["tags": ["a"]])
        func insert(_ items: PropertyListValue) { browser.meanwhile = { browser.rows["tags"]?["value"] = items } }
        let page = try #require(browser.get(Self.draft("tags", 0))?.text)
        insert(["z", "a"])
        let fields = "item=\(try Self.value("item", in: page))&b.value=a&v.value=b"
        #expect(browser.post(Self.draft("tags", 0), fields)?.status == 303)
        #expect(browser.changed == ["tags": ["z", "b"]], "the item is found at its new place")
        let down = try Self.value("item-down", in: try #require(browser.get(Self.page)?.text))
        insert(["a", "z", "c"])
        #expect(browser.post(Self.page, "item-down=\(down)")?.status == 303)
        #expect(browser.changed == ["tags": ["a", "c", "z"]])
        insert(["z", "c"])
        let added = try #require(browser.add(Self.draft("tags"), "b.value=&v.value=d"))
        #expect(added.status == 409 && added.text.contains("value=\"d\""))
        #expect(added.text.contains("The list was changed meanwhile, perhaps by this form"))
        // A refusal of another cause is shown the second time.
        browser.refusal = .refused(name: "schema", text: "tags: too long")
        let refused = try #require(browser.add(Self.draft("tags"), "b.value=&v.value=e"))
        #expect(refused.status == 422 && refused.text.contains("tags: too long"))
        #expect(browser.commandsOfForm.count { $0.command == .settingsSet } == 2)
    }

    @Test("CON-19: an item that was moved is found, and one that was changed or is gone is never overwritten")
    func meanwhile() throws {
        let browser = browser(["tags": ["a", "b"]])
        let digest = try Self.value("item", in: try #require(browser.get(Self.draft("tags", 1))?.text))
        browser.rows["tags"]?["value"] = ["b", "a", "c"]
        #expect(browser.post(Self.draft("tags", 1), "item=\(digest)&b.value=b&v.value=x")?.status == 303)
        #expect(browser.changed == ["tags": ["x", "a", "c"]])
        browser.rows["tags"]?["value"] = ["a", "c"]
        for fields in ["item=\(digest)&b.value=b&v.value=x", "b.value=a&v.value=x", "item=&b.value=a&v.value=x"] {
            let gone = browser.post(Self.draft("tags", 1), fields)
            #expect(gone?.status == 409 && gone?.text.contains("Nothing was changed.") == true, "\(fields)")
            #expect(gone?.text.contains("action=\"\(Self.draft("tags"))\"") == true, "it can be added as a new item")
            #expect(gone?.text.contains("name=\"v.value\" value=\"x\"") == true, "what was typed is kept")
            #expect(browser.changed == nil, "\(fields)")
        }
    }

    @Test(
        "CON-19: items are deleted where the list allows it, and moved; a button of an older page touches no other item"
    )
    func buttons() throws {
        let browser = browser(["a/b": [["user": "one"], ["user": "two"]], "tags": ["x", "y"]])
        let page = try #require(browser.get(Self.page)?.text)
        let changes =
            [
                ("item-remove", 1, ["a/b": [["user": "one"]]]),
                ("item-up", 0, ["a/b": [["user": "two"], ["user": "one"]]]),
                ("item-down", 0, ["a/b": [["user": "two"], ["user": "one"]]]), ("item-down", 1, ["tags": ["y", "x"]]),
            ] as [(String, Int, PropertyListValue)]
        for (name, index, result) in changes {
            let value = try Self.value(name, in: page, at: index).replacing("%", with: "%25")
            #expect(browser.post(Self.page, "\(name)=\(value)")?.status == 303, "\(name)")
            #expect(browser.changed == result, "\(name)")
        }
        let older = try Self.value("item-remove", in: page, at: 1).replacing("%", with: "%25")
        let tag = try Self.value("item-down", in: page, at: 1)
        browser.rows["a/b"]?["value"] = [["user": "one"], ["user": "changed"]]
        for fields in ["item-remove=\(older)", "item-remove=\(tag)", "item-up=x", "item-up=tags/0", "item-up=t/99/"] {
            #expect(browser.post(Self.page, fields)?.status == 422 && browser.changed == nil, "\(fields)")
        }
    }

    @Test("CON-19: no address leads to a draft of what is no list, is signed, or has no such item")
    func addresses() {
        let browser = browser(["tags": ["a"], "levels": [1]])
        browser.rows["levels"]?["layer"] = "signed"
        for path in ["t/new", "none/new", "tags/1", "levels/0", "levels/new", "fixed/new", "lost/new", "tags/-1"] {
            let path = "\(Browser.page)/lists/\(path)"
            #expect(browser.get(path)?.status == 404, "\(path)")
        }
        #expect(browser.post(Self.draft("levels"), "v.value=1")?.status == 404 && browser.changed == nil)
        for path in ["tags/00", "tags/+0", "tags/0/x", "tags", "tags/old", "/new"] {
            #expect(ConsoleRoute(path: "\(Browser.page)/lists/\(path)") == nil, "\(path)")
        }
    }

    @Test("CON-16, CON-19: a list of a secondary is edited by its primary if the app has opened it, and only then")
    func secondary() throws {
        let browser = browser(["tags": ["a"]])
        let path = "/secondaries/0123ABCD-0000-4000-8000-0123456789AB\(Self.draft("tags"))"
        #expect(browser.get(path)?.status == 404 && browser.post(path, "v.value=b")?.status == 404)
        let list = try #require(browser.declarations.firstIndex { $0.name == "tags" })
        let old = browser.declarations[list]
        browser.declarations[list] = SettingDeclaration(
            name: old.name, type: old.type, editor: old.editor, summary: "", access: .counterpart,
            initialValue: old.initialValue)
        #expect(browser.add(path, "v.value=b")?.status == 303 && browser.changed == ["tags": ["a", "b"]])
        #expect(browser.commands.last?.body["pairing"]?.dataValue?.first == 1)
    }

    @Test(
        "CON-19, CON-7: no form about items traps or stores what breaks a rule, whatever its fields and its address are"
    )
    func anything() throws {
        var random = SeededGenerator(seed: 19)
        let browser = browser(["tags": ["a", "b"], "levels": [1], "a/b": [["user": "one"], 7]])
        let digest = try Self.value("item", in: try #require(browser.get(Self.draft("tags", 1))?.text))
        let names = [
            "item-remove", "item-up", "item-down", "item", "v.value", "b.value", "v.user", "v.port", "v.tls", "v.",
            "reset",
        ]
        let texts = [
            "tags/1/\(digest)", "tags/\(Int.min)/\(digest)", "a%252Fb/\(Int.max)/", "levels/0", "//", digest, "x", "99",
            "1e999",
            "%00", "%FF", "", "-0", "\u{2028}",
        ]
        let places = ["new", "0", "1", "\(Int.max)"]
        for _ in 0..<500 {
            let key = ["tags", "levels", "a%2Fb", "flags", "bases"].randomElement(using: &random) ?? ""
            let place = places.randomElement(using: &random) ?? ""
            let path = Bool.random(using: &random) ? Self.page : "\(Browser.page)/lists/\(key)/\(place)"
            let fields = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                "\(names.randomElement(using: &random) ?? "")=\(texts.randomElement(using: &random) ?? "")"
            }
            let answer = try #require(browser.post(path, fields.joined(separator: "&")))
            #expect([303, 400, 404, 409, 422].contains(answer.status), "\(path) \(fields)")
            guard let changed = browser.changed?.dictionaryValue else { continue }
            #expect(Set(changed.map(\.key)).isSubset(of: ["tags", "levels", "a/b", "flags", "bases"]))
            for level in changed["levels"]?.arrayValue ?? [] { #expect((0...3).contains(level.integerValue ?? -1)) }
            for base in changed["bases"]?.arrayValue ?? [] { #expect(["A", "G"].contains(base)) }
        }
    }

    @Test("CON-16, PAG-10: headings and titles of pages and drafts have the app's title and its device")
    func headings() throws {
        let browser = browser(["tags": ["a"]])
        let path = "/secondaries/0123ABCD-0000-4000-8000-0123456789AB\(Browser.page)"
        let pairing = try #require(UniqueIdentifier(text: "0123ABCD-0000-4000-8000-0123456789AB"))
        browser.pairings = [["pairing": .data(pairing.bytes), "name": "kiosk"]]
        browser.declarations = browser.declarations.map { old in
            SettingDeclaration(
                name: old.name, type: old.type, editor: old.editor, summary: "", access: .counterpart,
                initialValue: old.initialValue)
        }
        for (place, heading) in [
            ("", "Root! (org.example.lamp) on kiosk"), ("/pages/Lists", "Root! on kiosk: Lists!"),
            ("/lists/tags/0", "Root! on kiosk: tags, item 1"), ("/lists/tags/new", "Root! on kiosk: tags, new item"),
        ] {
            let page = try #require(browser.get(path + place)?.text)
            #expect(page.contains("<title>Pairing \(pairing): \(heading) - Tandem</title>"))
            #expect(page.contains("<bdi>\(heading)</bdi></h1><p id=\"place\">Pairing \(pairing)</p>"))
        }
        let found = try #require(browser.get(path + "?q=TAG")?.text)
        #expect(found.contains("<title>Search: TAG, Pairing \(pairing): Root!"))
        #expect(found.contains("aria-label=\"Search\" value=\"TAG\""))
    }

    @Test("CON-19, CON-12: the draft that nobody answers for is sent again with what was typed")
    func unsent() throws {
        let browser = browser(["tags": ["a"]])
        let digest = try Self.value("item", in: try #require(browser.get(Self.draft("tags"))?.text))
        browser.silence = .unanswered("away")
        let lost = try #require(browser.post(Self.draft("tags"), "item=\(digest)&b.value=&v.value=b"))
        #expect(lost.status == 504 && lost.text.contains("name=\"item\" value=\"\(digest)\""))
        #expect(lost.text.contains("action=\"\(Self.draft("tags"))\"") && lost.text.contains("value=\"b\""))
    }

    @Test("CON-18: a page below others leads back to each of them")
    func way() throws {
        let page = try #require(browser().get(Browser.page + "/pages/More")?.text)
        let first = "<li><a href=\"\(Browser.page)\"><bdi>Root!</bdi></a></li>"
        #expect(page.contains(first + "<li><a href=\"\(Self.page)\"><bdi>Lists!</bdi></a></li></ol>"))
    }
}

extension String {
    /// The texts between two others, in their order.
    func components(between start: String, and end: String) -> [String] {
        var (found, rest) = ([String](), self[...])
        while let begin = rest.firstRange(of: start), let stop = rest[begin.upperBound...].firstRange(of: end) {
            found.append(String(rest[begin.upperBound..<stop.lowerBound]))
            rest = rest[stop.upperBound...]
        }
        return found
    }
}
