// A running app's part in its pages at the console: presses and what they say, the app's own checks, hidden rows and
// choices of the moment, and pages that say what they lack.

import TandemBase
import TandemConsole
import TandemOperations
import TandemPages
import TandemPropertyList
import TandemSettings
import TandemWire
import Testing

@Suite struct PageHookTests {
    private static let page = [
        Specifier(.textField, ["Key": "name", "Title": "Name", "DefaultValue": "me"]),
        Specifier(.datePicker, ["Key": "at", "DatePickerMode": "Time"]),
        Specifier(.textField, ["Key": "pin", "IsSecure": true]),
        Specifier(.multiValue, ["Key": "tone"]), Specifier(.button, ["Key": "te&st", "Title": "Te<st"]),
    ]

    private func browser(_ state: RunningState) -> Browser {
        let properties = Self.page.filter { $0.kind != .button }.declarations
        let browser = Browser(properties, on: pageTree(["Root": Self.page]))
        browser.running = .success(state.body)
        return browser
    }

    @Test(
        "CON-20, PAG-27: a button that the app takes presses of is one, and the page after a press has the app's text")
    func press() throws {
        let browser = browser(.running(RunningPage(buttons: ["te&st"])))
        let page = try #require(browser.get(Browser.page)?.text)
        let button = "form=\"resets\" name=\"press\" value=\"te&amp;st\"><bdi>Te&lt;st</bdi></button>"
        #expect(page.contains(button) && !page.contains("in the app alone"))
        browser.pressed = .success(["text": "<b>Done</b>"])
        let led = try #require(browser.post(Browser.page, "press=te%26st"))
        #expect(led.status == 303 && led.location == ConsoleRoute(path: Browser.page))
        let address = "\(Browser.page)?\(led.query ?? "")"
        for _ in 0..<2 { #expect(browser.get(address)?.status == 200) }
        #expect(
            browser.commands.count { $0.command == .settingsPress } == 1, "a page that is loaded again presses nothing")
        let done = try #require(browser.get(address))
        #expect(done.status == 200 && done.text.contains("<bdi>Te&lt;st: &lt;b&gt;Done&lt;/b&gt;</bdi>"))
        #expect(done.text.contains("role=\"status\"") && done.text.contains("id=\"values\""))
        let question = browser.commands.last { $0.command == .settingsPress }
        #expect(question?.body == ["app": .string(Browser.app), "key": "te&st"])
        browser.pressed = .failure(.refused(name: "refused", text: "Not <now>."))
        let leads = try #require(browser.post(Browser.page, "press=te%26st"))
        let refused = try #require(browser.get("\(Browser.page)?\(leads.query ?? "")"))
        #expect(
            leads.status == 303 && refused.status == 200 && refused.text.contains("role=\"alert\" class=\"mistake\""))
        #expect(refused.text.contains("Te&lt;st: Not &lt;now&gt;."))
        browser.pressed = .failure(.unanswered("no daemon answers"))
        #expect(browser.post(Browser.page, "press=te%26st")?.query?.hasPrefix("refused=") == true)
        #expect(!browser.commands.contains { $0.command == .settingsSet })
    }

    @Test("CON-20, CON-5: no address puts a text on a page but the console's own, for one browser and page")
    func spoken() throws {
        let browser = browser(.running(RunningPage(buttons: ["te&st"])))
        browser.pressed = .success(["text": .string("Done\u{0}" + String(repeating: "é", count: 40_000))])
        let query = try #require(browser.post(Browser.page, "press=te%26st")?.query)
        #expect(query.utf8.count < 8_192)
        #expect(browser.get("\(Browser.page)?\(query)")?.text.contains("Te&lt;st: Done") == true)
        let other = self.browser(.withoutHooks)
        other.enter()
        let forged = [
            "\(Browser.page)?done=Done&code=00", "\(Browser.page)?done=Done", "\(Browser.page)?\(query)0",
            "\(Browser.page)?" + query.replacing("done=", with: "refused="),
        ]
        for address in forged { #expect(browser.get(address)?.text.contains("Done") == false, "\(address.prefix(80))") }
        #expect(other.get("\(Browser.page)?\(query)")?.text.contains("Te&lt;st: Done") == false, "another browser's")
    }

    @Test("CON-16, CON-20: a button of a secondary's app is pressed through the primary")
    func secondary() throws {
        let browser = browser(.running(RunningPage(buttons: ["te&st"])))
        let path = "/secondaries/0123ABCD-0000-4000-8000-0123456789AB\(Browser.page)"
        #expect(browser.get(path)?.text.contains("name=\"press\" value=\"te&amp;st\"") == true)
        browser.pressed = .success(["text": "It sounds."])
        let query = try #require(browser.post(path, "press=te%26st")?.query)
        #expect(browser.get("\(path)?\(query)")?.text.contains("It sounds.") == true)
        let question = browser.commands.last { $0.command == .settingsPress }
        #expect(question?.body["key"] == "te&st" && question?.body["pairing"]?.dataValue?.first == 1)
    }

    @Test("CON-20: a press of what the app does not take now, or without the form's token, reaches nobody")
    func forged() throws {
        let browser = browser(.running(RunningPage(buttons: ["other"])))
        for key in ["te%26st", "other", "name", ""] {
            #expect(browser.post(Browser.page, "press=\(key)")?.status == 422, "\(key)")
        }
        #expect(browser.post(Browser.page, "press=other", token: false)?.status == 403)
        #expect(!browser.commands.contains { $0.command == .settingsPress })
    }

    @Test("CON-20: a press from a page that was made before the app was at work is sent, and the daemon judges it")
    func busy() throws {
        let full = ConsoleReply.failure(.refused(name: "full", text: ""))
        for reply in [full, .success(RunningState.noAnswer.body)] {
            let browser = browser(.withoutHooks)
            browser.running = reply
            browser.pressed = .success(["text": "It sounds."])
            #expect(browser.post(Browser.page, "press=te%26st")?.query?.hasPrefix("done=Te%3Cst") == true)
            #expect(browser.commands.last { $0.command == .settingsPress }?.body["key"] == "te&st")
            for key in ["other", "name", ""] {
                #expect(browser.post(Browser.page, "press=\(key)")?.status == 422, "\(key)")
            }
        }
        let stopped = browser(.notRunning)
        #expect(stopped.post(Browser.page, "press=te%26st")?.status == 422)
    }

    @Test("CON-20, PAG-26: what the app refuses stands beside its field, with its replacement in it, and shakes")
    func refused() throws {
        // A value that the app itself has set hides no replacement.
        let browser = browser(.running(RunningPage(values: ["name": .init(.preference, "me")])))
        let at = try #require(PropertyListDate(millisecondsSince1970: 9 * 3_600_000))
        browser.refusal = .unfit(
            text: "all",
            checks: [
                "name": ["text": "Not <you>.", "shake": true, "value": "you"],
                "at": ["text": "Too early.", "value": .date(at)], "pin": ["text": "Too short."],
            ])
        let fields = "b.name=me&v.name=them&b.at=&v.at=07:00&b.pin=&v.pin=4711"
        let answer = try #require(browser.post(Browser.page, fields))
        #expect(answer.status == 422 && answer.text.contains("Nothing was changed."))
        for text in [
            "<div class=\"row wrong shake\" id=\"r-0\" data-key=\".name\" data-typed=\"yes\">",
            "name=\"v.name\" value=\"you\"",
            "<a href=\"#f-0\"><bdi>Name</bdi>: <bdi>Not &lt;you&gt;.</bdi></a>", "name=\"v.at\" value=\"09:00\"",
            "<bdi>Too early.</bdi>", "<bdi>Too short.</bdi>", "name=\"b.name\" value=\"me\"",
        ] { #expect(answer.text.contains(text), "\(text)") }
        #expect(!answer.text.contains("4711"))
    }

    @Test("CON-20, PAG-14, PAG-17: hidden rows have no field, and a choice of the moment can be chosen")
    func running() throws {
        let page = RunningPage(hidden: ["name"], choices: ["tone": [.init(label: "Lo<w", value: "l")]])
        let browser = browser(.running(page))
        let shown = try #require(browser.get(Browser.page)?.text)
        #expect(!shown.contains("v.name") && shown.contains("<option value=\"l\">Lo&lt;w</option>"))
        #expect(browser.post(Browser.page, "v.name=x")?.status == 422)
        #expect(browser.post(Browser.page, "b.tone=&v.tone=l")?.status == 303 && browser.changed == ["tone": "l"])
    }

    @Test("CON-20, PAG-31: a mail's link has the app's parts, and a refused one is a row with its reason")
    func mails() throws {
        let entries = ["ask", "tell"].map { key in
            Specifier(.mailCompose, ["Key": .string(key), "Title": "Mail", "IASKMailComposeToRecipents": ["a@b"]])
        }
        let mail = PageView.Mail(to: ["c@d"], copy: [], blindCopy: ["e@f?cc=x"], subject: "a&bcc=y", body: "<b>\r\n")
        let page = RunningPage(mails: ["ask": .compose(mail), "tell": .refused("No <account>.")])
        let browser = Browser([], on: pageTree(["Root": entries]))
        browser.running = .success(RunningState.running(page).body)
        let text = try #require(browser.get(Browser.page)?.text)
        #expect(
            text.contains("href=\"mailto:c%40d?bcc=e%40f%3Fcc%3Dx&amp;subject=a%26bcc%3Dy&amp;body=%3Cb%3E%0D%0A\""))
        #expect(text.contains("<p>No &lt;account&gt;.</p>") && !text.contains("a%40b"))
    }

    @Test("CON-20, PAG-32: a date of the app's own making is a picker with the app's text, and what is picked is sent")
    func dates() throws {
        let nine = try #require(PropertyListDate(millisecondsSince1970: 9 * 3_600_000))
        let browser = browser(.running(RunningPage(dates: ["at": .init(date: nine, shown: "ni<ne")])))
        browser.declarations = browser.declarations.map { declaration in
            guard declaration.name == "at" else { return declaration }
            return SettingDeclaration(
                name: "at", type: .integer, editor: .edit, summary: "", initialValue: .integer(540))
        }
        let page = try #require(browser.get(Browser.page)?.text)
        #expect(page.contains("type=\"time\"") && page.contains("value=\"09:00\"") && page.contains("ni&lt;ne"))
        let ten = try #require(PropertyListDate(millisecondsSince1970: 10 * 3_600_000))
        #expect(browser.post(Browser.page, "b.at=09:00&v.at=10:00")?.status == 303)
        #expect(browser.changed == ["at": .date(ten)])
    }

    @Test(
        "CON-15, CON-20, PAG-28: a page without its app is whole and says what it lacks; so is one of an older daemon")
    func absent() throws {
        for (reply, note): (ConsoleReply, String?) in [
            (.success(RunningState.notRunning.body), "The app does not run"),
            (.success(RunningState.noAnswer.body), "The app does not answer"),
            (.failure(.refused(name: "not-here", text: "")), "on another device"),
            (.failure(.refused(name: "unreachable", text: "")), "The app does not answer"),
            (.failure(.refused(name: "full", text: "")), "The app is at work"),
            (.failure(.refused(name: "unknown-command", text: "")), nil), (.failure(.failed("x")), nil),
        ] {
            let browser = browser(.withoutHooks)
            browser.running = reply
            let page = try #require(browser.get(Browser.page))
            #expect(page.status == 200 && page.text.contains("in the app alone") && page.text.contains("v.name"))
            #expect(page.text.contains("id=\"running\"") == (note != nil))
            let mayPass = note?.hasSuffix("not answer") == true || note?.hasSuffix("at work") == true
            #expect(page.text.contains("id=\"running\" data-passing") == mayPass, "the script loads the page again")
            if let note { #expect(page.text.contains(note)) }
        }
    }
}
