// An app with a Settings.bundle of two pages at the console: all kinds of entries, translated, hidden, and edited by
// forms that keep no rule.

import TandemBase
import TandemConsole
import TandemPages
import TandemPropertyList
import TandemSettings
import TandemWire
import Testing

@Suite struct BundlePageTests {
    private static let root: [Specifier] = [
        Specifier(.group, ["Title": "Sound", "FooterText": "Loud <b>is</b> bad"]),
        Specifier(.toggle, ["Key": "mute", "Title": "Mute", "TrueValue": "silent", "FalseValue": "loud"]),
        Specifier(
            .slider, ["Key": "volume", "MinimumValue": 0, "MaximumValue": 10, "TandemInteger": true, "DefaultValue": 5]),
        Specifier(.textField, ["Key": "name", "Title": "Name", "DefaultValue": "me", "KeyboardType": "EmailAddress"]),
        Specifier(.group, ["Key": "quiet", "TandemVisibleWhen": ["mute": "silent"]]),
        Specifier(.datePicker, ["Key": "until", "Title": "Until", "DatePickerMode": "Time"]),
        Specifier(
            .radioGroup,
            ["Key": "tone", "Title": "Tone", "Values": [1, 2], "Titles": ["Low", "High"], "DefaultValue": 1]),
        Specifier(.group, ["Title": "Others"]),
        Specifier(.childPane, ["Title": "More", "File": "More"]),
        Specifier(.openURL, ["Title": "Site", "File": "https://example.org/?a=b&c"]),
        Specifier(.openURL, ["Title": "Script", "File": "javascript:alert(1)"]),
        Specifier(
            .mailCompose,
            ["Title": "Write", "IASKMailComposeToRecipents": ["a@b"], "IASKMailComposeSubject": "x&bcc=y"]),
        Specifier(.button, ["Title": "Press"]), Specifier(.custom, ["Title": "Own"]), Specifier(["Type": "Fancy"]),
        Specifier(.titleValue, ["Key": "version", "Title": "Version", "DefaultValue": "<1.0>"]),
        Specifier(.textView, ["Key": "name", "Title": "Name again"]),
        Specifier(
            .listGroup,
            [
                "Key": "accounts", "Title": "Accounts", "DefaultValue": [["user": "<i>"]],
                "ItemSpecifier": ["Type": "PSChildPaneSpecifier", "File": "Account", "Key": "user"],
            ]),
    ]
    private static let more: [Specifier] = [
        Specifier(
            .multiValue,
            [
                "Key": "speed", "Title": "Speed", "Values": ["s", "f"], "Titles": ["Slow", "Fast"], "DefaultValue": "s",
                "DisplaySortedByTitle": true,
            ]),
        Specifier(.textField, ["Key": "pin", "Title": "Code", "IsSecure": true]),
        Specifier(.datePicker, ["Key": "day", "DatePickerMode": "Date"]),
    ]

    private func browser() -> Browser {
        var strings = StringsTables()
        _ = strings.add(["Sound": "Ton", "Slow": "Langsam", "Fast": "Eilig"], table: "Root", language: "de")
        let account = [Specifier(.textField, ["Key": "name"])]
        let tree = pageTree(["Root": Self.root, "More": Self.more, "Account": account], strings: strings)
        return Browser(tree.named.map(\.specifier).declarations, on: tree)
    }

    @Test("CON-18: a page has the groups, kinds, locks and reasons of its bundle, and nothing of it is markup")
    func page() throws {
        let browser = browser()
        let page = try #require(browser.get(Browser.page)?.text)
        for text in [
            "<legend><h2><bdi>Sound</bdi></h2></legend>", "Loud &lt;b&gt;is&lt;/b&gt; bad", "type=\"checkbox\"",
            "<input type=\"range\" id=\"f-2\" name=\"v.volume\" value=\"5\"", "min=\"0\" max=\"10\" step=\"1\"",
            "inputmode=\"email\"", "role=\"radiogroup\"",
            "<input type=\"radio\" name=\"v.tone\" value=\"1\" checked><bdi>Low</bdi>",
            "<a href=\"\(Browser.page)/pages/More\"><bdi>More</bdi></a>",
            "<a href=\"https://example.org/?a=b&amp;c\" rel=\"noreferrer\"><bdi>Site</bdi></a>",
            "<a href=\"mailto:a%40b?subject=x%26bcc%3Dy\" rel=\"noreferrer\">", "<bdi>javascript:alert(1)</bdi>",
            "><bdi>Press</bdi></button>", "The app has a view of its own",
            "Entries of this type are not known.",
            "<output id=\"f-15\"><bdi>&lt;1.0&gt;</bdi></output>", "Shown only.",
            "<li><a href=\"\(Browser.page)/lists/accounts/0\"><bdi>&lt;i&gt;</bdi></a></li>",
        ] { #expect(page.contains(text), "\(text)") }
        #expect(!page.contains("href=\"javascript") && !page.contains("v.until") && !page.contains("v.accounts"))
        #expect(page.split(separator: "name=\"b.name\"").count == 2, "one of two entries of a key is a field")
        #expect(page.contains("The same setting as <a href=\"#f-"), "and the other one says why not")
        browser.rows["mute"] = ["value": "silent", "layer": "user", "edited": true, "by": "hub"]
        browser.rows["volume"] = ["value": 9, "layer": "signed"]
        let other = try #require(browser.get(Browser.page)?.text)
        for text in [
            "<input type=\"time\" id=\"f-5\"", "Edited by hub.", "Default: false", "Set by a signed configuration.",
            "<input type=\"text\" id=\"f-2\" value=\"9\" dir=\"auto\" readonly",
        ] { #expect(other.contains(text), "\(text)") }
        #expect(!other.contains("b.volume"))
    }

    @Test(
        "CON-18: a content type with its first letter in either case is the browser's own kind of text, or none",
        arguments: [
            ("EmailAddress", "email"), ("emailAddress", "email"), ("URL", "url"), ("password", "current-password"),
            ("NewPassword", "new-password"), ("creditCardNumber", "cc-number"), ("Sublocality", "address-level3"),
            ("Location", nil), ("AddressCityAndState", nil), ("emailaddress", nil), ("", nil),
        ] as [(String, String?)])
    func contentTypes(type: String, token: String?) throws {
        let browser = Browser([Specifier(.textField, ["Key": "k", "IASKTextContentType": .string(type)])])
        let page = try #require(browser.get(Browser.page)?.text)
        let input = try #require(page.components(between: "<input type=\"text\" id=\"f-0\"", and: ">").first)
        #expect(input.components(between: " autocomplete=\"", and: "\"") == [token].compactMap(\.self))
    }

    @Test("CON-18: a field has the keyboard and the placeholder of its entry, also that of a secret")
    func keyboards() throws {
        let cases: [(Specifier.Kind, isSecure: Bool, type: String)] = [
            (.textField, false, "text"), (.textField, true, "password"), (.textView, true, "password"),
        ]
        for (kind, isSecure, type) in cases {
            let pin: PropertyListDictionary = [
                "Key": "k", "KeyboardType": "NumberPad", "IsSecure": .boolean(isSecure), "IASKPlaceholder": "four",
            ]
            let page = try #require(Browser([Specifier(kind, pin)]).get(Browser.page)?.text)
            let input = try #require(page.components(between: "<input type=\"\(type)\" id=\"f-0\"", and: ">").first)
            #expect(input.contains(" inputmode=\"numeric\"") && input.contains(" placeholder=\"four\""))
        }
    }

    @Test("CON-18: a list that takes other values suggests its choices, and a slider has its icon's signs at its ends")
    func suggestions() throws {
        let browser = Browser()
        browser.declarations = [
            SettingDeclaration(
                name: "size", type: .integer, editor: .editableChoice, summary: "",
                choices: [SettingChoice(label: "Sm<all", value: .integer(1))], initialValue: .integer(2))
        ]
        for icon in SliderIcon.allCases {
            browser.declarations.append(
                SettingDeclaration(
                    name: icon.rawValue, type: .integer, editor: .slider, summary: "", bounds: .integer(3...8),
                    icon: icon, initialValue: .integer(5)))
        }
        browser.enter()
        let page = try #require(browser.get(Browser.page)?.text)
        #expect(page.contains("name=\"v.size\" value=\"2\"") && page.contains("list=\"r-0-list\""))
        #expect(page.contains("<datalist id=\"r-0-list\"><option value=\"1\">Sm&lt;all</option></datalist>"))
        let signs = page.components(between: "<span aria-hidden=\"true\">", and: "</span>")
        #expect(page.components(between: "<span class=\"bounds\"> (3 to 8)", and: "</span>").count == 5)
        #expect(signs == ["🐢", "🐇", "🪫", "🔋", "3", "8", "🔅", "🔆", "🔈", "🔊"])
    }

    @Test(
        "CON-18, PAG-22: a button and a view of the app's own are shown with value and reason, a link with its target")
    func shown() throws {
        let specifiers = [
            Specifier(.button, ["Key": "login", "Title": "Log in", "DefaultValue": "Log <out>"]),
            Specifier(.custom, ["Key": "own", "Title": "Own", "DefaultValue": "<7>"]),
            Specifier(.openURL, ["Title": "Site", "File": "https://example.org/?a=b", "IASKTextAlignment": "x"]),
            Specifier(.mailCompose, ["Title": "Write", "IASKMailComposeToRecipents": ["a@b", "c@d"]]),
            Specifier(
                .multiValue,
                ["Key": "m", "Values": ["a"], "Titles": ["A"], "FooterText": "Below <b>", "DefaultValue": "a"]),
            Specifier(
                .textView,
                [
                    "Key": "text", "AutocapitalizationType": "Words", "AutocorrectionType": "No", "KeyboardType": "URL",
                    "IASKPlaceholder": "<two>",
                ]),
            Specifier(
                .textField,
                ["Key": "right", "IASKTextAlignment": "IASKUITextAlignmentRight", "IASKPlaceholder": "<one>"]),
            Specifier(.datePicker, ["Key": "at", "DatePickerMode": "Time", "MinuteInterval": 15]),
        ]
        let browser = Browser(specifiers)
        let page = try #require(browser.get(Browser.page)?.text)
        for text in [
            "<button type=\"button\" aria-disabled=\"true\" aria-describedby=\"r-0-why r-0-notes\">",
            "<bdi>Log &lt;out&gt;</bdi></button><p id=\"r-0-why\">This button works in the app alone.</p>",
            "<output id=\"f-1\"><bdi>&lt;7&gt;</bdi></output><p>The app has a view of its own for it.</p>",
            "<bdi>https://example.org/?a=b</bdi>", "<bdi>a@b, c@d</bdi>", "<bdi>Below &lt;b&gt;</bdi>",
            "inputmode=\"url\" autocapitalize=\"words\" spellcheck=\"false\"", "class=\"row right\"",
            "placeholder=\"&lt;one&gt;\"", "placeholder=\"&lt;two&gt;\"",
            "class=\"row center\" id=\"r-0\"", "step=\"900\"",
        ] { #expect(page.contains(text), "\(text)") }
        let date = try #require(PropertyListDate(millisecondsSince1970: 7 * 60_000))
        browser.rows["at"] = ["value": .date(date), "layer": "user"]
        let other = try #require(browser.get(Browser.page)?.text)
        #expect(other.contains("value=\"00:07\"") && !other.contains("step="), "a browser would send nothing")
    }

    @Test(
        "CON-18, CON-19: a view of the app's own with a page leads to it; fields and lists are edited there, and found"
    )
    func customPage() throws {
        let root = [Specifier(.custom, ["Key": "own", "Title": "Own", "File": "Deep", "DefaultValue": "7"])]
        let entry: PropertyListValue = ["Type": "PSTextFieldSpecifier"]
        let deep = [
            Specifier(.textField, ["Key": "deep", "DefaultValue": "a"]),
            Specifier(.listGroup, ["Key": "tags", "ItemSpecifier": entry, "AddSpecifier": entry]),
        ]
        let browser = Browser((root + deep).declarations, on: pageTree(["Root": root, "Deep": deep]))
        let address = Browser.page + "/pages/Deep"
        let page = try #require(browser.get(Browser.page)?.text)
        #expect(page.contains("<a href=\"\(address)\"><bdi>Own</bdi></a><output id=\"f-0\"><bdi>7</bdi></output>"))
        #expect(browser.get(address)?.text.contains("><bdi>org.example.lamp</bdi></a></li></ol></nav>") == true)
        #expect(browser.post(address, "b.deep=a&v.deep=b")?.status == 303 && browser.changed == ["deep": "b"])
        #expect(browser.get(address)?.text.contains("<a href=\"\(Browser.page)/lists/tags/new\">") == true)
        #expect(browser.add(Browser.page + "/lists/tags/new", "v.value=new")?.status == 303)
        #expect(browser.changed == ["tags": ["new"]])
        let found = try #require(browser.get(Browser.page + "?q=deep")?.text)
        #expect(found.contains("<a href=\"\(address)#r-0\"><bdi>deep</bdi></a>"))
    }

    @Test("CON-18: a translated text has its language in headings, ways, hits, items, values and buttons, too")
    func languages() throws {
        let item: PropertyListValue = ["Type": "PSTitleValueSpecifier", "Values": ["a"], "Titles": ["Item"]]
        let root = [
            Specifier(.childPane, ["Title": "Pane", "File": "P"]),
            Specifier(.titleValue, ["Key": "v", "Values": ["x"], "Titles": ["Shown"], "DefaultValue": "x"]),
        ]
        let deep = [
            Specifier(
                .listGroup,
                [
                    "Key": "l", "Title": "List", "DefaultValue": ["a"], "ItemSpecifier": item,
                    "AddSpecifier": ["Type": "PSTextFieldSpecifier", "Title": "More"],
                ]),
            Specifier(.childPane, ["Title": "Low", "File": "Q"]),
        ]
        let keys = ["Pane", "Shown", "List", "More", "Item", "Low", "Plain"]
        var strings = StringsTables()
        _ = strings.add(
            Dictionary(uniqueKeysWithValues: keys.dropLast().map { ($0, "de \($0)") }), table: "Root", language: "de")
        let plain = [Specifier(.group, ["Title": "Plain"])]
        let browser = Browser(
            (root + deep).declarations, on: pageTree(["Root": root, "P": deep, "Q": plain], strings: strings))
        browser.languages = "de"
        func spoken(_ text: String, _ tag: String = "bdi") -> String { "<\(tag) lang=\"de\">de \(text)</\(tag)>" }
        let texts: [(page: String, texts: [String])] = [
            (
                "",
                [
                    "<output id=\"f-1\">\(spoken("Shown"))</output>",
                    "<a href=\"\(Browser.page)/pages/P\">\(spoken("Pane"))",
                ]
            ),
            ("/pages/P", [": \(spoken("Pane", "span"))</bdi></h1>", spoken("Item"), spoken("More")]),
            ("/pages/Q", ["<a href=\"\(Browser.page)/pages/P\">\(spoken("Pane"))</a>", "<h2><bdi>Plain</bdi></h2>"]),
            ("?q=de%20list", ["\(spoken("List"))</a> \(spoken("Pane"))"]),
            ("/lists/l/new", [": \(spoken("List", "span")), new item</bdi></h1>"]),
        ]
        for (page, texts) in texts {
            let shown = try #require(browser.get(Browser.page + page)?.text)
            for text in texts { #expect(shown.contains(text), "\(page): \(text)") }
        }
    }

    @Test("CON-18: a value that is the same text as a translated title has no language, and its title has one")
    func plainValues() throws {
        let entry: PropertyListValue = ["Type": "PSTitleValueSpecifier", "Values": ["a"], "Titles": ["Name"]]
        func choices(_ kind: Specifier.Kind, _ key: String) -> Specifier {
            Specifier(
                kind,
                [
                    "Key": .string(key), "Title": "Name", "Values": ["x", "Ton"], "Titles": ["Name"],
                    "DefaultValue": "x",
                ])
        }
        let root = [
            Specifier(.titleValue, ["Key": "t", "Title": "Name", "DefaultValue": "Ton"]),
            Specifier(.custom, ["Key": "c", "Title": "Name", "DefaultValue": "Ton"]),
            choices(.multiValue, "m"), choices(.radioGroup, "r"),
            Specifier(
                .listGroup, ["Key": "l", "Title": "Name", "DefaultValue": ["a", "Ton"], "ItemSpecifier": entry]),
        ]
        var strings = StringsTables()
        _ = strings.add(["Name": "Ton"], table: "Root", language: "de")
        let browser = Browser(root.declarations, on: pageTree(["Root": root], strings: strings))
        browser.languages = "de"
        for isSigned in [false, true] {
            if isSigned { for key in ["m", "r"] { browser.rows[key] = ["value": "Ton", "layer": "signed"] } }
            let page = try #require(browser.get(Browser.page)?.text)
            let title = "<bdi lang=\"de\">Ton</bdi>"
            let (value, item) = ("<bdi>Ton</bdi>", "<li><bdi>Ton</bdi>")
            #expect(page.contains("<output id=\"f-0\">\(value)</output>") && page.contains(">\(title)</"))
            #expect(page.contains("<output id=\"f-1\">\(value)</output>"))
            #expect(page.contains(item) && page.contains("<li>\(title)"), "of a list")
            guard !isSigned else {
                #expect(page.contains("value=\"Ton\" dir=\"auto\" readonly") && !page.contains("lang=\"de\" aria"))
                continue
            }
            #expect(page.contains("value=\"x\" selected lang=\"de\">Ton<") && page.contains("value=\"Ton\">Ton<"))
            #expect(page.contains("checked>\(title)") && page.contains("value=\"Ton\">\(value)"))
        }
    }

    @Test("CON-18: another page is edited at its own address, in the reader's language, and a search finds its rows")
    func child() throws {
        let browser = browser()
        browser.languages = "fr;q=0.4, de-AT;q=0.8"
        browser.rows["pin"] = ["value": "4711", "layer": "user"]
        let more = Browser.page + "/pages/More"
        let page = try #require(browser.get(more)?.text)
        let options =
            "<option value=\"f\" lang=\"de\">Eilig</option>"
            + "<option value=\"s\" selected lang=\"de\">Langsam</option>"
        let zone = "<span class=\"zone\" id=\"r-2-zone\"> UTC</span>"
        let described = "aria-describedby=\"r-2-zone r-2-notes\""
        for text in [options, "type=\"password\"", "<input type=\"date\" id=\"f-2\"", zone, described] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(
            !page.contains("4711") && browser.get(Browser.page)?.text.contains("<bdi lang=\"de\">Ton</bdi>") == true)
        let edit = "b.speed=s&v.speed=f&b.pin=&v.pin=&b.day=&v.day=2026-11-23"
        #expect(browser.post(more, edit)?.status == 303)
        let day = try #require(PropertyListDate(millisecondsSince1970: 1_795_392_000_000))
        #expect(browser.changed == ["speed": "f", "day": .date(day)])
        let found = try #require(browser.get(Browser.page + "?q=SPEED")?.text)
        #expect(found.contains("<a href=\"\(more)#r-0\"><bdi>Speed</bdi></a>") && !found.contains("id=\"values\""))
        let none = try #require(browser.get(Browser.page + "?q=%3Cscript%3E")?.text)
        #expect(none.contains("Nothing was found.") && !none.contains("<script>"))
        for page in ["Account", "more", "Root.plist"] {
            #expect(browser.get(Browser.page + "/pages/\(page)")?.status == 404, "\(page)")
        }
        #expect(browser.get(Browser.page + "/pages/Root")?.text.contains("action=\"\(Browser.page)\"") == true)
    }

    @Test(
        "PAG-13, CON-14: a number that is typed has its bounds, a locked box its state, a reset the name of its group")
    func notes() throws {
        let specifiers = [
            Specifier(.group, ["Title": "Night"]), Specifier(.textField, ["Key": "count", "Title": "Count"]),
            Specifier(.toggle, ["Key": "quiet", "Title": "Quiet"]),
        ]
        let browser = Browser([], on: pageTree(["Root": specifiers]))
        browser.declarations = [
            SettingDeclaration(
                name: "count", type: .integer, editor: .edit, summary: "", bounds: .integer(1...9),
                initialValue: .integer(5)),
            SettingDeclaration(
                name: "quiet", type: .boolean, editor: .toggle, summary: "", initialValue: .boolean(false)),
        ]
        browser.rows = [
            "count": ["edited": true], "quiet": ["layer": "signed", "value": true, "edited": true, "edit": false],
        ]
        let page = try #require(browser.get(Browser.page)?.text)
        for text in [
            "Range: 1 to 9.", "id=\"f-2\" value=\"on\" dir=\"auto\" readonly", "Reset all of <bdi>Night</bdi>",
            "Edited: false.",
            "<section id=\"app\" aria-label=\"App\">",
        ] { #expect(page.contains(text), "\(text)") }
        browser.application = ["app": .string(Browser.app)]
        #expect(browser.get(Browser.page)?.text.contains("<section id=\"app\"></section>") == true)
    }

    @Test("CON-18, PAG-29: images that entries name are within the page, beside texts; one that nobody has is left out")
    func images() throws {
        let root = [
            Specifier(.toggle, ["Key": "a", "Title": "A", "IASKCellImage": "bulb"]),
            Specifier(.toggle, ["Key": "b", "Title": "B", "IASKCellImage": "none"]),
            Specifier(
                .slider, ["Key": "c", "MinimumValue": 0, "MaximumValue": 1, "MaximumValueImage": "bulb"]),
            Specifier(
                .radioGroup, ["Key": "d", "Values": [1], "Titles": ["One"], "IconNames": ["bulb"], "DefaultValue": 1]),
            Specifier(.openURL, ["Title": "Site", "File": "https://example.org", "IASKCellImage": "bulb"]),
        ]
        var tree = pageTree(["Root": root])
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0xFF, 0xFE]
        _ = tree.add(try #require(PageImage(png)), named: "bulb")
        let browser = Browser(root.declarations, on: tree)
        let page = try #require(browser.get(Browser.page)?.text)
        let image = "<img src=\"data:image/png;base64,iVBORw0KGgr//g==\" alt=\"\">"
        for text in [
            "for=\"f-0\">\(image)<bdi>A</bdi></label>", "for=\"f-1\"><bdi>B</bdi></label>",
            ">\(image)</div><input type=\"text\" id=\"f-2-number\" name=\"n.c\"",
            "checked>\(image)<bdi>One</bdi></label>", "rel=\"noreferrer\">\(image)<bdi>Site</bdi></a>",
        ] { #expect(page.contains(text), "\(text)") }
    }

    @Test("CON-12, CON-18: an edit of a toggle, a radio group and a slider is stored in the bundle's own form")
    func edit() throws {
        let browser = browser()
        let edit = "b.mute=off&v.mute=off&v.mute=on&b.volume=5&v.volume=7&b.tone=1&v.tone=2&b.name=me&v.name="
        #expect(browser.post(Browser.page, edit)?.status == 303)
        #expect(browser.changed == ["mute": "silent", "volume": 7, "tone": 2, "name": ""])
    }

    @Test(
        "CON-12, CON-18, PAG-16: of choices that differ by scalars alone the stored one is selected, and an edit keeps it"
    )
    func composedAndNot() throws {
        let (composed, parts) = ("\u{E9}.txt", "e\u{301}.txt")
        for (kind, mark) in [(Specifier.Kind.multiValue, " selected>"), (.radioGroup, " checked>")] {
            func browser(_ values: PropertyListValue) -> Browser {
                Browser([
                    Specifier(kind, ["Key": "file", "Title": "File", "Values": values, "DefaultValue": "a"]),
                    Specifier(.textField, ["Key": "name", "Title": "Name"]),
                ])
            }
            func isMarked(_ text: String, _ page: String) -> Bool {
                Array(page.utf8).contains(Array("value=\"\(text)\"\(mark)".utf8))
            }
            let both = browser([.string(composed), .string(parts)])
            for (stored, other) in [(composed, parts), (parts, composed)] {
                both.rows["file"] = ["value": .string(stored), "layer": "user"]
                let page = try #require(both.get(Browser.page)?.text)
                #expect(isMarked(stored, page) && !isMarked(other, page))
            }
            #expect(both.post(Browser.page, "b.file=e%CC%81.txt&v.file=%C3%A9.txt&b.name=&v.name=x")?.status == 303)
            #expect(both.changed == ["file": .string(composed), "name": "x"])
            let one = browser([.string(composed), "a"])
            one.rows["file"] = ["value": .string(parts), "layer": "user"]
            let page = try #require(one.get(Browser.page)?.text)
            #expect(!isMarked(composed, page) && isMarked(parts, page), "the stored value is no choice, and is shown")
            #expect(one.post(Browser.page, "b.file=e%CC%81.txt&v.file=e%CC%81.txt&b.name=&v.name=y")?.status == 303)
            #expect(one.changed == ["name": "y"])
            one.rows["file"] = ["value": .string(parts), "layer": "signed"]
            let locked = try #require(one.get(Browser.page)?.text)
            #expect(Array(locked.utf8).contains(Array("value=\"\(parts)\"".utf8)), "and is shown as it is")
        }
    }

    @Test(
        "CON-12, CON-15, CON-18: a day and a time of one date are two fields and rows, and a further time leads to one")
    func fieldsOfOneDate() throws {
        let root = ["Date", "Time", "Time"].map { mode in
            Specifier(.datePicker, ["Key": "at", "Title": .string(mode), "DatePickerMode": .string(mode)])
        }
        func date(_ seconds: Int64) throws -> PropertyListValue {
            .date(try #require(PropertyListDate(millisecondsSince1970: (1_795_392_000 + seconds) * 1000)))
        }
        let browser = Browser(root.declarations, on: pageTree(["Root": root]))
        browser.rows["at"] = ["value": try date(34_215), "layer": "user"]
        let page = try #require(browser.get(Browser.page)?.text)
        for text in [
            "<input type=\"date\" id=\"f-0\" name=\"v.at\" value=\"2026-11-23\"", "name=\"b.at\" value=\"2026-11-23\"",
            "<input type=\"time\" id=\"f-1\" name=\"v1.at\" value=\"09:30\"", "name=\"b1.at\" value=\"09:30\"",
            "id=\"r-0\" data-key=\"Date.at\"", "id=\"r-1\" data-key=\"Time.at\"",
            "The same setting as <a href=\"#f-1\">",
        ] { #expect(page.contains(text), "\(text)") }
        #expect(!page.contains("v2.at"))
        let shown = "b.at=2026-11-23&b1.at=09:30"
        for (fields, seconds) in [
            ("v.at=2026-11-23&v1.at=10:00", 36_000), ("v.at=2026-11-24&v1.at=09:30", 120_615),
            ("v.at=2026-11-24&v1.at=10:00", 122_400),
        ] {
            #expect(browser.post(Browser.page, "\(shown)&\(fields)")?.status == 303)
            #expect(try browser.changed == ["at": date(Int64(seconds))], "\(fields)")
        }
        let gone = "v.at=2026-11-24&b2048.at=09:30&v2048.at="
        #expect(browser.post(Browser.page, "\(shown)&v1.at=09:30&\(gone)09:30")?.status == 303)
        #expect(try browser.changed == ["at": date(120_615)], "a row that is gone and was left as it was says nothing")
        let others = ["v9.at=10:00", "v1.x=10:00", "b2048.at=09:30&v2048.at=10:00"]
        for fields in ["v.at=2026-11-23&v1.at=soon"] + others {
            let refused = try #require(browser.post(Browser.page, "\(shown)&\(fields)"))
            #expect(refused.status == 422 && browser.changed == nil, "\(fields)")
            #expect(refused.text.contains("name=\"v.at\" value=\"2026-11-23\""), "the day has no time's text")
            #expect(refused.text.contains("name=\"v1.at\" value=\"soon\"") == fields.contains("soon"))
        }
    }

    @Test(
        "CON-12: forged fields change nothing: beyond bounds, of other pages, hidden, shown only, of lists, of no choice",
        arguments: [
            "v.volume=11", "v.volume=-1", "v.volume=1e400", "v.volume=", "v.speed=f", "v.until=09:30", "v.version=2",
            "v.accounts=x", "v.tone=3", "v.tone=%23x", "v.mute=maybe", "v.user=x", "v.quiet=1", "v.=1",
            "v.name=ok&v.x=1",
        ])
    func forged(fields: String) throws {
        let browser = browser()
        let answer = try #require(browser.post(Browser.page, fields))
        #expect(answer.status == 422 && answer.text.contains("Nothing was changed."))
        #expect(!browser.commands.contains { [.settingsSet, .settingsReset].contains($0.command) })
    }

    @Test("CON-7, LIM-119, LIM-124: the form of the largest page can be sent: three fields for each of its entries")
    func largestForm() throws {
        let modes = ["Date", "Time", "DateAndTime"]
        let entries = (0..<512).flatMap { index in
            [Specifier(.slider, ["Key": "s\(index)", "MinimumValue": 0, "MaximumValue": 9, "DefaultValue": 1])]
                + modes.map { .init(.datePicker, ["Key": "d\(index)", "DatePickerMode": .string($0)]) }
        }
        let browser = Browser(entries)
        let page = try #require(browser.get(Browser.page)?.text)
        let forms = page.components(between: "<form", and: "</form>")
        let form = try #require(forms.first { $0.contains("id=\"values\"") })
        let names = form.components(between: " name=\"", and: "\"").filter { $0 != "form" }
        #expect(names.count == 512 * (3 + 3 * 2))
        let values = names.map { "\($0)=\($0.contains(".s") ? "1" : "")" }
        #expect(browser.post(Browser.page, values.joined(separator: "&"))?.status == 303)
    }

    @Test("LIM-92, CON-18: a long title that many rows lead to, or that many hits are on the page of, stands there cut")
    func longTitles() throws {
        let long = String(repeating: "T", count: 100_000)
        let field = Specifier(.textField, ["Key": "a", "Title": "zz"])
        let root = [
            Specifier(.childPane, ["File": "P", "Title": .string(long)]),
            Specifier(.textField, ["Key": "a", "Title": .string(long)]),
        ]
        let fields = [Specifier](repeating: field, count: 200)
        let browser = Browser((root + fields).declarations, on: pageTree(["Root": root + fields, "P": fields]))
        for address in [Browser.page, Browser.page + "?q=zz"] {
            let page = try #require(browser.get(address))
            #expect(page.text.contains("TTT\u{2026}</bdi>") && page.body.count < 1_000_000, "\(page.body.count)")
        }
    }

    @Test("CON-12: a refused form is shown again with its mistakes beside the fields and what was typed")
    func refused() throws {
        let browser = browser()
        let fields = "b.volume=5&v.volume=11&b.name=me&v.name=%3Cb%3E&b.tone=1&v.tone=2&b.mute=off&v.mute=on"
        let page = try #require(browser.post(Browser.page, fields)?.text)
        for text in [
            "<a href=\"#f-2\"><bdi>volume</bdi>: <bdi>11 is over the maximum 10</bdi></a>",
            "<div class=\"row wrong\" id=\"r-2\" data-key=\".volume\" data-typed=\"yes\">",
            "<input type=\"text\" id=\"f-2\" name=\"v.volume\" value=\"11\"", "value=\"&lt;b&gt;\"",
            "value=\"2\" checked", "value=\"on\" checked", "name=\"b.volume\" value=\"5\"",
        ] { #expect(page.contains(text), "\(text)") }
    }
}
