// Pages of settings: a form is judged as a whole whatever the browser has checked, and what may not be seen or edited
// is not.

import TandemBase
import TandemConsole
import TandemOperations
import TandemPages
import TandemPropertyList
import TandemSettings
import TandemWire
import Testing

@Suite struct SettingsPageTests {
    private let browser = Browser()

    init() { browser.enter() }

    @Test("CON-12: the values that a person has changed are one request, and no others")
    func changes() throws {
        let answer = browser.post(
            Browser.page,
            "b.volume=50&v.volume=70&b.logging=off&v.logging=off&v.logging=on&b.hosts=a%0D%0Ab"
                + "&v.hosts=a%0D%0Ab&b.mode=a&v.mode=b")
        #expect(answer?.status == 303)
        #expect(browser.changed == ["volume": 70, "logging": true, "mode": "b"])
        #expect(browser.post(Browser.page, "b.volume=50&v.volume=50")?.status == 303)
        #expect(browser.commandsOfForm.map(\.command) == [.settingsSchema, .settingsGet, .settingsPage, .status])
    }

    @Test("CON-12: an empty field of a property that may be nil means nil, and elsewhere an empty text")
    func nothing() {
        browser.rows["colour"] = ["value": "#ff0000", "layer": "user"]
        #expect(browser.post(Browser.page, "b.colour=%23ff0000&v.colour=")?.status == 303)
        #expect(browser.commands.last?.body["nothing"] == ["colour"])
        #expect(browser.post(Browser.page + "/pages/More", "b.name=a&v.name=")?.status == 303)
        #expect(browser.changed == ["name": ""])
    }

    @Test("CON-12: what was typed on several lines is several texts, whatever ends the lines")
    func lines() throws {
        #expect(browser.post(Browser.page, "b.hosts=a%0D%0Ab&v.hosts=a%0D%0Ab%0D%0Ac")?.status == 303)
        #expect(browser.changed == ["hosts": ["a", "b", "c"]])
        let more = Browser.page + "/pages/More"
        browser.rows["name"] = ["value": "a\r\nb", "layer": "user"]
        let page = try #require(browser.get(more)?.text)
        #expect(page.contains("<textarea") && !page.contains("type=\"text\""))
        for fields in ["b.name=a%0D%0Ab&v.name=a%0D%0Ab", "v.name=a%0D%0Ab"] {
            #expect(browser.post(more, fields)?.status == 303 && browser.changed == nil)
        }
        // As characters they are the same, and yet a person has changed them.
        #expect(browser.post(more, "b.name=%C3%A9&v.name=e%CC%81")?.status == 303)
        let name = browser.changed?.dictionaryValue?["name"]?.stringValue
        #expect(name.map { Array($0.utf8) } == Array("e\u{301}".utf8))
    }

    @Test("CON-12, LIM-123: of a long text a form has the digest, which tells whether a person has changed it")
    func longTexts() throws {
        func encoded(_ text: String) -> String { text.utf8.map { "%" + Hexadecimal.encode([$0]) }.joined() }
        let more = Browser.page + "/pages/More"
        let long = String(repeating: "\u{436}", count: 200) + "\n"
        browser.rows["name"] = ["value": .string(long + "\u{1}"), "layer": "user"]
        let page = try #require(browser.get(more)?.text)
        let digest = try #require(page.components(between: "name=\"d.name\" value=\"", and: "\"").first)
        #expect(digest.utf8.count == 64 && !page.contains("b.name"))
        // A browser sends its own ends of lines, and what HTML has in the place of a control character.
        let sent = encoded(String(long.dropLast()) + "\r\n\u{FFFD}")
        for value in [long + "\u{1}", "changed meanwhile"] {
            browser.rows["name"] = ["value": .string(value), "layer": "user"]
            #expect(browser.post(more, "d.name=\(digest)&v.name=\(sent)")?.status == 303)
            #expect(browser.changed == nil)
        }
        #expect(browser.post(more, "d.name=\(digest)&v.name=\(sent)x")?.status == 303)
        #expect(browser.changed == ["name": .string(long + "\u{FFFD}x")])
    }

    @Test("CON-6, CON-12, LIM-123: all texts of a large app are one form, also where each character needs escaping")
    func largeForm() throws {
        let text = String(repeating: "\n", count: 1000)
        browser.declarations = (0..<240).map { index in
            SettingDeclaration(
                name: "t\(index)", type: .string, editor: .edit, summary: "", initialValue: .string(text))
        }
        let page = try #require(browser.get(Browser.page)?.text)
        let value = String(repeating: "%0D%0A", count: 1000)
        let fields = try (0..<240).map { index in
            let digest = try #require(page.components(between: "name=\"d.t\(index)\" value=\"", and: "\"").first)
            return "d.t\(index)=\(digest)&v.t\(index)=\(value)" + (index == 0 ? "x" : "")
        }
        #expect(browser.post(Browser.page, fields.joined(separator: "&"))?.status == 303)
        #expect(browser.changed == ["t0": .string(text + "x")])
    }

    @Test("CON-12, PAG-16: keys and choices with characters that no form carries are saved, reset and refused as any")
    func controlCharacters() throws {
        let (key, other) = ("a\u{1}%\r\n\u{E9}", "a\u{2}")
        browser.declarations = [
            SettingDeclaration(
                name: key, type: .integer, editor: .edit, summary: "", bounds: .integer(0...9),
                initialValue: .integer(0)),
            SettingDeclaration(
                name: other, type: .string, editor: .choice, summary: "",
                choices: ["x", "\u{1}b", "\u{2}b", "\"\\u0001b\""].map { .init(label: $0, value: .string($0)) },
                initialValue: .string("x")),
        ]
        browser.rows[key] = ["edited": true]
        let page = try #require(browser.get(Browser.page)?.text)
        let name = "a%01%25%0D%0A%C3%A9"
        #expect(page.contains("name=\"v.\(name)\"") && page.contains("name=\"reset\" value=\"\(name)\""))
        #expect(page.contains("value=\"&quot;\\u0001b&quot;\"") && page.contains("value=\"&quot;\\u0002b&quot;\""))
        let field = "a%2501%2525%250D%250A%25C3%25A9"
        let choice = "b.a%2502=x&v.a%2502=%22%5Cu0002b%22"
        #expect(browser.post(Browser.page, "b.\(field)=0&v.\(field)=7&\(choice)")?.status == 303)
        #expect(browser.changed == .dictionary([key: 7, other: "\u{2}b"]))
        #expect(browser.post(Browser.page, "b.\(field)=0&v.\(field)=70")?.status == 422)
        #expect(browser.post(Browser.page, "reset=\(field)")?.status == 303)
        #expect(browser.commands.last?.body["keys"] == .array([.string(key)]))
    }

    @Test("CON-12: a boolean that may be nil has three entries, and no control has a value of its own")
    func controls() throws {
        let numbers: [(value: Double, most: Double)] = [(1.5, 2), (9, 2)]
        browser.declarations = [
            SettingDeclaration(
                name: "decided", type: .boolean, editor: .toggle, summary: "", allowsNothing: true,
                initialValue: .nothing)
        ]
        for (index, number) in numbers.enumerated() {
            browser.declarations.append(
                SettingDeclaration(
                    name: "n\(index)", type: .double, editor: .slider, summary: "", bounds: .double(0...number.most),
                    initialValue: .double(1)))
            browser.rows["n\(index)"] = ["value": .real(number.value), "layer": "user"]
        }
        let page = try #require(browser.get(Browser.page)?.text)
        #expect(!page.contains("checkbox") && page.contains("<option value=\"\" selected>"))
        for (index, type) in ["range", "text"].enumerated() {
            #expect(page.contains("<input type=\"\(type)\" id=\"f-\(index + 1)\""), "\(index)")
        }
        #expect(browser.post(Browser.page, "b.decided=&v.decided=&b.n0=1.50&v.n0=1.5")?.status == 303)
        #expect(browser.changed == nil)
        #expect(browser.post(Browser.page, "b.decided=&v.decided=off")?.status == 303)
        #expect(browser.changed == ["decided": false])
    }

    @Test("CON-12: a refused form shows what is there now in the fields that nobody has touched")
    func untouched() throws {
        browser.rows["mode"] = ["value": "b", "layer": "user"]
        let page = try #require(browser.post(Browser.page, "b.mode=a&v.mode=a&b.volume=50&v.volume=101")?.text)
        #expect(page.contains("<option value=\"b\" selected>") && page.contains("value=\"101\""))
    }

    @Test("CON-12: one mistake and nothing is changed, each with the schema's own text, and what was typed is kept")
    func mistakes() throws {
        let answer = try #require(
            browser.post(Browser.page, "v.volume=101&v.mode=c&v.logging=maybe&v.hosts=x&v.nothing=1"))
        #expect(answer.status == 422)
        #expect(browser.changed == nil)
        for text in [
            "<bdi>Volume</bdi>: <bdi>101 is over the maximum 100</bdi>", "&#39;c&#39; is none of the choices",
            "<bdi>logging</bdi>: <bdi>&#39;maybe&#39; is neither on nor off</bdi>",
            "The page has no field &#39;nothing&#39;.", "value=\"101\"", "<title>Not saved: ",
        ] { #expect(answer.text.contains(text), "\(text)") }
        for text in ["", "abc", "1e2", "7.5", "\u{664}"] {
            #expect(
                browser.post(Browser.page, "v.volume=\(text.utf8.map { "%" + String($0, radix: 16) }.joined())")?.status
                    == (text == "1e2" ? 303 : 422), "\(text)")
        }
    }

    @Test("CON-12: a refusal of the daemon is shown, and a daemon that is away is no fault of the form")
    func refusals() throws {
        browser.refusal = .refused(name: "full", text: "too many \(Browser.markup)")
        let answer = browser.post(Browser.page, "v.volume=7")
        #expect(answer?.status == 422 && answer?.text.contains("too many &lt;") == true)
        for (error, status, isSent): (ControlError, Int, Bool) in [
            (.silent("gone"), 504, true), (.failed("gone"), 502, true),
            (.refused(name: "unreachable", text: "no answer"), 503, true),
            (.unanswered("gone"), 504, false), (.unusable("gone"), 502, false),
            (.unsent(name: "unreachable", text: "no link"), 503, false),
        ] {
            browser.refusal = error
            let lost = try #require(browser.post(Browser.page, "v.volume=7"))
            #expect(lost.status == status && lost.text.contains("value=\"7\""), "what was typed is kept")
            #expect(lost.text.contains("look whether it was stored") == isSent, "\(error)")
            #expect(lost.text.contains("Nothing was changed.") != isSent, "\(error)")
        }
    }

    @Test("CON-12, CON-13: a form whose page nobody answers for is sent again with what was typed, but for secrets")
    func unsent() throws {
        #expect(browser.get(Browser.page)?.text.contains("name=\"s.password\"") == true)
        browser.silence = .refused(name: "unreachable", text: "no link")
        let fields = "b.volume=50&v.volume=7&b.password=&s.password=&v.password=hush"
        let lost = try #require(browser.post(Browser.page, fields))
        #expect(lost.status == 503 && lost.text.contains("no link") && lost.text.contains("Secrets are not kept"))
        #expect(lost.text.contains("sends the fields that this page could keep.") && !lost.text.contains("you typed"))
        #expect(lost.text.contains("name=\"v.volume\" value=\"7\"") && !lost.text.contains("hush"))
        #expect(lost.text.contains("action=\"\(Browser.page)\"") && browser.changed == nil)
        let gone = browser.post(Browser.page, "b2048.password=&s2048.password=&v2048.password=hush")
        #expect(gone?.text.contains("Secrets are not kept") == true && gone?.text.contains("hush") == false)
        #expect(browser.get(Browser.page)?.status == 503)
        let token = try #require(lost.text.components(between: "name=\"form\" value=\"", and: "\"").last)
        browser.silence = nil
        let again = "form=\(token)&b.volume=50&v.volume=7&b.password=&s.password="
        #expect(browser.post(Browser.page, again, token: false)?.status == 303 && browser.changed == ["volume": 7])
        browser.silence = .refused(name: "not-found", text: "no app")
        let refused = try #require(browser.post(Browser.page, fields))
        #expect(refused.status == 404 && !refused.text.contains("Try again"), "no second try would help")
    }

    @Test("CON-12: a form for whose page the daemon has no room now is sent again with what was typed")
    func unsentWithoutRoom() throws {
        browser.silence = .refused(name: "full", text: "too many requests")
        let lost = try #require(browser.post(Browser.page, "b.volume=50&v.volume=7"))
        #expect(lost.status == 503 && lost.text.contains("too many requests [full]"))
        #expect(lost.text.contains("name=\"v.volume\" value=\"7\"") && lost.text.contains(">Try again</button>"))
        #expect(browser.get(Browser.page)?.status == 503)
    }

    @Test("CON-12: a form that is sent again has no field that HTML would change, and names it")
    func unsentControlCharacters() throws {
        browser.silence = .unanswered("away")
        let lost = try #require(browser.post(Browser.page, "b.volume=50&v.volume=7&b.name=&v.name=a%01b&v.hosts=a%0Ab"))
        #expect(lost.text.contains("Fields with control characters are not kept: name. Type them again"))
        #expect(lost.text.contains("sends the fields that this page could keep.") && !lost.text.contains("you typed"))
        #expect(!lost.text.contains("name=\"v.name\"") && lost.text.contains("name=\"v.volume\" value=\"7\""))
        #expect(lost.text.contains("name=\"v.hosts\""))
        let plain = try #require(browser.post(Browser.page, "b.volume=50&v.volume=7"))
        #expect(!plain.text.contains("control characters") && plain.text.contains("sends what you typed."))
    }

    @Test("CON-12, LIM-92: a form whose texts are too long for a page is not repeated, and the answer says so")
    func longUnsent() throws {
        browser.silence = .unanswered("away")
        func answer(_ count: Int) -> String? {
            browser.post(Browser.page, "v.name=" + String(repeating: "\"", count: count))?.text
        }
        let long = try #require(answer(700_000))
        #expect(long.contains("too long for this page") && !long.contains("&quot;&quot;"))
        #expect(answer(600_000)?.contains("name=\"v.name\"") == true)
    }

    @Test("CON-13: a signed value is shown and locked, and a form that has it anyway is refused")
    func signed() throws {
        browser.rows["volume"] = ["layer": "signed", "value": 90]
        let page = try #require(browser.get(Browser.page)).text
        #expect(page.contains("class=\"layer signed\">signed<") && page.contains("value=\"90\""))
        #expect(!page.contains("name=\"b.volume\""))
        for fields in ["v.volume=7", "v.server=x"] {
            #expect(browser.post(Browser.page, fields)?.status == 422 && browser.changed == nil)
        }
    }

    @Test("CON-23: a field that cannot be edited is reached by Tab with its reason, has no name, and is never taken")
    func readOnly() throws {
        let keys = ["volume", "logging", "mode", "password", "hosts"]
        for key in keys { browser.rows[key] = ["layer": "signed"] }
        let page = try #require(browser.get(Browser.page)?.text)
        let form = try #require(page.components(between: "id=\"values\"", and: "</form>").first)
        #expect(!page.contains("disabled") && !form.contains("name=\"v.volume") && !form.contains("type=\"checkbox\""))
        let controls = ["<input ", "<select ", "<textarea "].flatMap { form.components(between: $0, and: ">") }
        let shown = controls.filter { !$0.contains("type=\"hidden\"") }
        let locked = shown.filter { $0.contains(" readonly") }
        #expect(locked.count == keys.count + 1, "with the property that only a configuration sets")
        for control in locked {
            let id = try #require(control.components(between: "id=\"f-", and: "\"").first)
            #expect(control.contains("aria-describedby=\"r-\(id)-notes\"") && !control.contains("name="), "\(control)")
        }
        for key in keys {
            #expect(
                browser.post(Browser.page, "b.\(key)=&v.\(key)=b")?.status == 422 && browser.changed == nil, "\(key)")
        }
    }

    @Test(
        "CON-24: a slider's typed number counts before the slider, unless it is the one that the page showed",
        arguments: [
            ("v.volume=70&n.volume=50", 70), ("v.volume=50&n.volume=37", 37), ("v.volume=70&n.volume=37", 37),
            ("v.volume=70", 70), ("n.volume=37", 37), ("v.volume=50&n.volume=50", nil),
        ] as [(String, Int64?)])
    func slider(fields: String, result: Int64?) throws {
        #expect(browser.post(Browser.page, "b.volume=50&\(fields)")?.status == 303)
        let expected: PropertyListValue? = result.map { ["volume": .integer($0)] }
        #expect(browser.changed == expected)
    }

    @Test("CON-24: a page has both fields of a slider, and one field of text for what was typed")
    func sliderFields() throws {
        let page = try #require(browser.get(Browser.page)?.text)
        #expect(page.contains("<input type=\"range\" id=\"f-0\" name=\"v.volume\" value=\"50\""))
        #expect(page.contains("<input type=\"text\" id=\"f-0-number\" name=\"n.volume\" value=\"50\""))
        #expect(page.contains("aria-label=\"Volume: number\"") && page.contains(" (0 to 100)</span>"))
        let fields = "b.volume=50&v.volume=50&n.volume=60&v.mode=c"
        let refused = try #require(browser.post(Browser.page, fields))
        #expect(
            refused.status == 422 && refused.text.contains("type=\"text\" id=\"f-0\" name=\"v.volume\" value=\"60\""))
        #expect(!refused.text.contains("n.volume") && !refused.text.contains("type=\"range\""))
        let gone = "b2048.volume=50&v2048.volume=50&n2048.volume="
        #expect(browser.post(Browser.page, "\(gone)60")?.status == 422, "the number of a row that is gone counts, too")
        #expect(browser.post(Browser.page, "\(gone)50")?.status == 303)
        browser.silence = .unanswered("away")
        let unsent = try #require(browser.post(Browser.page, "b.volume=50&v.volume=50&n.volume=6%01"))
        #expect(unsent.text.contains("not kept: volume.") && !unsent.text.contains("name=\"n.volume\""))
        #expect(browser.post(Browser.page, fields)?.text.contains("name=\"n.volume\" value=\"60\"") == true)
    }

    @Test(
        "CON-17: a page names the app, its configuration, and the primary that made an edit; a bad signature is marked")
    func facts() throws {
        browser.rows["volume"] = ["layer": "user", "value": 7, "edited": true, "by": "hub"]
        browser.configurations = [["app": .string(Browser.app), "version": 3, "state": "applied"]]
        let page = try #require(browser.get(Browser.page)?.text)
        #expect(page.contains("<div id=\"facts\"><section"), "an open page replaces this part")
        for text in ["Lamp 1.2", "Configuration 3: applied<", "Edited by hub."] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(!page.contains("INVALID"))
        browser.application["waives"] = true
        let warned = try #require(browser.get(Browser.page)?.text)
        #expect(warned.contains("<p class=\"mistake\">The app and its device apply configuration with an INVALID"))
        browser.configurations[0]["waived"] = true
        let marked = try #require(browser.get(Browser.page)?.text)
        #expect(marked.contains("class=\"mistake\"><bdi>Configuration 3: applied, invalid signature allowed"))
    }

    @Test("CON-12, CON-15: a page with a field has one Save, and one without a field has none")
    func save() throws {
        let page = try #require(browser.get(Browser.page)?.text)
        #expect(page.components(between: "<p class=\"save\">", and: "</p>").count == 1)
        browser.declarations = [
            SettingDeclaration(
                name: "server", type: .string, editor: .edit, summary: "", access: .signed, initialValue: .string("s"))
        ]
        #expect(browser.get(Browser.page)?.text.contains("class=\"save\"") == false)
    }

    @Test("CON-13: a secret is written and never shown")
    func secrets() throws {
        browser.rows["password"] = ["value": "hush", "layer": "user"]
        #expect(browser.get(Browser.page)?.text.contains("hush") == false)
        #expect(browser.post(Browser.page, "b.password=&v.password=")?.status == 303)
        #expect(browser.changed == nil)
        #expect(browser.post(Browser.page, "b.password=&v.password=new")?.status == 303)
        #expect(browser.changed == ["password": "new"])
        let refused = try #require(browser.post(Browser.page, "v.password=hush&v.volume=101"))
        #expect(refused.status == 422 && !refused.text.contains("hush"))
        // Its field comes back empty: a person who mends the other mistake alone would believe that it is stored.
        #expect(refused.text.contains("<bdi>password</bdi>: <bdi>Type it again: it was not stored.</bdi>"))
        let untouched = try #require(browser.post(Browser.page, "b.password=&v.password=&v.volume=101"))
        #expect(!untouched.text.contains("it was not stored"))
    }

    @Test("PAG-13: a signed value that hides an edit says so, with the edit, before a reset removes it")
    func hiddenEdit() throws {
        browser.rows["volume"] = ["layer": "signed", "value": 90, "edited": true, "edit": 7, "by": "hub"]
        let page = try #require(browser.get(Browser.page)?.text)
        #expect(page.contains("class=\"layer signed\">signed, edited<"))
        #expect(page.contains("Edited by hub: 7. The signed value hides the edit, which a reset removes."))
        browser.rows["password"] = ["layer": "signed", "edited": true, "edit": "hush"]
        #expect(browser.get(Browser.page)?.text.contains("hush") == false)
    }

    @Test("PAG-36: a page of a running app has the signed value that the app does not load, and the app's own in force")
    func notLoaded() throws {
        browser.rows["volume"] = ["layer": "signed", "value": 90, "notLoaded": true]
        let own = RunningPage(values: ["volume": RunningPage.OwnValue(.preference, 30)])
        browser.running = .success(RunningState.running(own).body)
        let page = try #require(browser.get(Browser.page)?.text)
        #expect(page.contains("class=\"layer preference\">preference<") && page.contains("value=\"30\""))
        #expect(page.contains("Signed: 90, but the app does NOT load it."))
        #expect(page.contains("The app&#39;s own value (preference) is in force: 30."))
        #expect(browser.post(Browser.page, "v.volume=7")?.status == 422 && browser.changed == nil)
    }

    @Test("CON-12, CON-20: the page after a form says what was saved, and the app's own part in it")
    func saved() throws {
        func said(_ fields: String) throws -> String {
            let answer = try #require(browser.post(Browser.page, fields))
            let page = try #require(browser.get("\(Browser.page)?\(answer.query ?? "")"))
            let news = page.text.components(between: "aria-live=\"polite\" tabindex=\"-1\" autofocus>", and: "</p>")
            return try #require(news.first)
        }
        #expect(try said("b.mode=a&v.mode=b&b.volume=50&v.volume=7") == "<bdi>Saved: Volume, mode.</bdi>")
        #expect(try said("b.volume=50&v.volume=50").contains("Nothing was changed"))
        browser.stored = ["replaced": ["volume"], "unchecked": true]
        let text = try said("v.volume=7")
        #expect(text.contains("Saved: Volume. The app has replaced the value of Volume. The app has given no answer:"))
        browser.rows["volume"] = ["edited": true]
        #expect(try said("reset=volume") == "<bdi>Reset: Volume.</bdi>")
        #expect(try said("reset-all=yes") == "<bdi>All edits of the app were reset.</bdi>")
    }

    @Test("CON-12: mistakes stand in the order of the page, with the names of their rows and the ways to their fields")
    func mistakesOfRows() throws {
        let page = try #require(browser.post(Browser.page, "v.server=x&v.logging=maybe&v.volume=x")?.text)
        let list = try #require(page.components(between: "<div role=\"alert\"", and: "</div>").first)
        #expect(list.components(between: "<a href=\"", and: "\"") == ["#f-0", "#f-1", "#r-4"])
        #expect(list.contains("<bdi>server</bdi>: <bdi>Changed by a signed configuration only.</bdi>"))
        #expect(list.contains("&#39;x&#39; is no whole number such as 15"))
    }

    @Test("CON-14: one edit, those of a group or a page, or all are taken back")
    func resets() {
        browser.rows = ["volume": ["edited": true], "logging": ["edited": true], "name": ["edited": true]]
        let page = browser.get(Browser.page)?.text ?? ""
        for name in ["reset", "reset-group", "reset-page", "reset-all"] {
            #expect(page.contains("form=\"resets\" name=\"\(name)\""))
        }
        for (path, field, keys) in [
            (Browser.page, "reset=volume", ["volume"]), (Browser.page, "reset-page=yes", ["volume", "logging"]),
            (Browser.page, "reset-group=mode%09volume%09logging", ["volume", "logging"]),
            (Browser.page + "/pages/More", "reset-page=yes", ["name"]), (Browser.page, "reset-all=yes", nil),
        ] {
            #expect(browser.post(path, field)?.status == 303)
            #expect(browser.commands.last?.command == .settingsReset)
            #expect(browser.commands.last?.body["keys"]?.arrayValue?.compactMap(\.stringValue) == keys, "\(field)")
        }
        for value in ["7", "", "%09", "mode"] {
            #expect(browser.post(Browser.page, "reset-group=\(value)")?.status == 303)
            #expect(browser.commands.last?.command == .status, "nothing of it has an edit")
        }
    }

    @Test("CON-14: a group's button resets the rows below which it stood, in whatever order, and hidden ones, too")
    func resetOfMovedGroup() throws {
        let names =
            [Specifier(.group, ["Title": "Names"])]
            + ["first\t%", "other"].map { Specifier(.textField, ["Key": .string($0)]) }
        let rest = [Specifier(.group, [:])] + ["flag", "gear"].map { Specifier(.textField, ["Key": .string($0)]) }
        let before = Browser(names + rest)
        for key in ["first\t%", "other", "flag", "gear"] { before.rows[key] = ["edited": true] }
        let values = try #require(before.get(Browser.page)?.text).components(
            between: "name=\"reset-group\" value=\"", and: "\"")
        #expect(values == ["first%09%25\tother", "flag\tgear"])
        let after = Browser(rest + names)
        after.rows = before.rows
        let page = RunningPage(hidden: ["first\t%"])
        after.running = .success(RunningState.running(page).body)
        #expect(after.post(Browser.page, "reset-group=first%2509%2525%09other")?.status == 303)
        #expect(after.commands.last?.body["keys"] == ["first\t%", "other"])
    }

    @Test(
        "CON-25, PAG-37: a reset of more than one edit stands behind a sentence that says what goes, and no other one")
    func questions() throws {
        browser.rows = ["volume": ["edited": true], "logging": ["edited": true]]
        func shown(_ path: String) throws -> [String] {
            try #require(browser.get(path)?.text).components(between: "<details class=\"question\">", and: "</details>")
        }
        let all = try shown(Browser.page)
        let names = ["reset-group", "reset-page", "reset-all"]
        #expect(all.count == names.count)
        for (question, name) in zip(all, names) {
            #expect(
                question.hasPrefix("<summary>Reset") && question.contains("\u{2026}</summary><p>Removes every edit of ")
            )
            #expect(question.contains("</p><button type=\"submit\" form=\"resets\" name=\"\(name)\""), "\(question)")
        }
        #expect(all[2].contains("also of settings that no page shows"))
        let page = try #require(browser.get(Browser.page)?.text)
        let buttons = page.components(between: "form=\"resets\" name=\"", and: "\"")
        let known = buttons.filter { names.contains($0) }
        #expect(known == names && buttons.contains("reset"), "each of these once, in its question")
        let far = try shown("/secondaries/0123ABCD-0000-4000-8000-0123456789AB\(Browser.page)")
        #expect(far.last?.contains("every edit of the settings that the app opens to this device") == true)
    }

    @Test("CON-16: a secondary's app is asked of the primary")
    func secondary() throws {
        let path = "/secondaries/0123ABCD-0000-4000-8000-0123456789AB\(Browser.page)"
        let pairing = try #require(UniqueIdentifier(text: "0123ABCD-0000-4000-8000-0123456789AB"))
        browser.pairings = [["pairing": .data(pairing.bytes), "name": "kiosk"]]
        let page = try #require(browser.get(path))
        #expect(page.status == 200 && page.text.contains("<h1><bdi>org.example.lamp on kiosk</bdi></h1>"))
        #expect(page.text.contains("<title>Pairing \(pairing): org.example.lamp on kiosk - Tandem</title>"))
        #expect(browser.commands.last { $0.command == .settingsGet }?.body["pairing"]?.dataValue?.first == 1)
        let own = try #require(browser.get(Browser.page)?.text)
        #expect(own.contains("<h1><bdi>org.example.lamp on &lt;") && !own.contains("kiosk"))
        #expect(browser.post(path, "v.volume=7")?.status == 422)
        #expect(browser.post(path, "v.mode=b")?.status == 303)
        #expect(browser.changed == ["mode": "b"])
    }

    @Test("CON-16: a page says which device it edits, also where names are equal or imitate what it says")
    func sameNames() throws {
        let ids = ["0123ABCD-0000-4000-8000-0123456789AB", "0123ABCD-0000-4000-8000-0123456789AC"]
        let pairings = try ids.map { try #require(UniqueIdentifier(text: $0)) }
        let places = ids.map { "Pairing \($0)" } + ["This device"]
        for names in [
            ["kiosk", "panel"], ["kiosk", "kiosk"], ["kiosk", "kiosk "],
            [Browser.markup, "\(Browser.markup) (this device)"], ["This device", "kiosk (pairing \(ids[0]))"],
        ] {
            browser.pairings = zip(pairings, names).map { ["pairing": .data($0.bytes), "name": .string($1)] }
            let paths = ids.map { "/secondaries/\($0)\(Browser.page)" } + [Browser.page]
            for (path, (name, place)) in zip(paths, zip(names + [Browser.markup], places)) {
                let page = try #require(browser.get(path)?.text)
                let heading = "org.example.lamp on \(Markup(name).html)"
                #expect(page.contains("<h1><bdi>\(heading)</bdi></h1><p id=\"place\">\(place)</p>"))
                #expect(page.contains("<title>\(place): \(heading) - Tandem</title>"))
            }
        }
    }

    @Test("CON-16: the page of apps leads to each app of a secondary that is known, and says if there is none")
    func apps() throws {
        let pairing = PropertyListValue.data([UInt8](repeating: 1, count: 16))
        func page(_ counterparts: PropertyListValue) throws -> String {
            let status: PropertyListDictionary = [
                "name": "hub", "role": "primary",
                "pairings": [
                    ["pairing": pairing, "name": "kiosk", "role": "primary", "level": "linked", "reason": "none"]
                ],
                "counterparts": counterparts,
            ]
            return Markup(try AppsPage.content([.success(["apps": []]), .success(status)])).html
        }
        let listed = try page([
            ["pairing": pairing, "app": "org.example.lamp"],
            ["pairing": pairing, "app": "org.example.horn", "name": "Horn", "version": "2"],
        ])
        #expect(listed.contains("<p><bdi>linked</bdi></p>"))
        #expect(listed.contains("org.example.lamp</bdi>") && listed.contains("Horn 2"))
        let none = try page([])
        #expect(none.contains("announced no app") && !listed.contains("announced no app"))
    }

    @Test("CON-16: a gateway lists the apps of its secondary, and neither its primary nor apps of its other side")
    func gateway() throws {
        func id(_ byte: UInt8) -> PropertyListValue { .data([UInt8](repeating: byte, count: 16)) }
        let apps: PropertyListDictionary = [
            "apps": [
                ["app": "org.example.lamp", "uid": 0, "role": "primary"],
                ["app": "org.example.horn", "uid": 0, "role": "secondary"],
            ]
        ]
        let status: PropertyListDictionary = [
            "name": "gateway", "role": "secondary",
            "pairings": [
                ["pairing": id(1), "name": "kiosk", "role": "primary"],
                ["pairing": id(2), "name": "hub", "role": "secondary"],
            ],
        ]
        let page = Markup(try AppsPage.content([.success(apps), .success(status)])).html
        #expect(page.contains("kiosk") && !page.contains("hub"))
        #expect(page.components(between: "org.example.lamp", and: "</bdi>").count == 2)
        #expect(page.components(between: "org.example.horn", and: "</bdi>").count == 1)
    }

    @Test("CON-11: the front page has what the command line has, and says what the daemon does not answer")
    func front() throws {
        let replies: [ConsoleReply] = [
            .success(["name": "hub", "pairings": [["name": "kiosk", "level": "unreachable", "reason": "no-link"]]]),
            .success(["state": "degraded", "problems": [["name": "unlinked", "text": "kiosk is away", "since": 5000]]]),
            .success(["letters": [["app": "org.example.lamp", "refusal": "too-large"]], "leftOut": ["letters": 12]]),
            .failure(.unanswered("no answer to trace")),
        ]
        let page = Markup(FrontPage.content(replies)).html
        let texts = [
            "kiosk", "no-link", "unlinked for 5 s: kiosk is away", "too-large", "no answer to trace",
            "12 more of &#39;letters&#39;",
        ]
        for text in texts { #expect(page.contains(text), "\(text)") }
        let away = [ConsoleReply](repeating: .failure(.unanswered("no daemon answers")), count: 4)
        let without = Markup(FrontPage.content(away)).html
        #expect(without.contains("<h1><bdi>Device</bdi></h1>"))
        #expect(without.components(between: "no daemon", and: "<").count == 1, "one reason is said once")
    }

    @Test("CON-11: the front page has the last events of a daemon that has traced more than one answer has")
    func lastEvents() throws {
        let browser = Browser()
        browser.enter()
        for count in [0, 7, 300] {
            browser.traced = count
            let page = try #require(browser.get("/")).text
            let shown = page.components(between: "event ", and: "<")
            #expect(shown == (1...300).filter { $0 <= count && $0 > count - 20 }.reversed().map { "\($0)" }, "\(count)")
        }
    }
}
