// The page of pairing: a link is shown once and nowhere else, its code is markup, and what became of links is shown to
// everyone who was let in.

import TandemBase
import TandemConsole
import TandemOperations
import TandemPropertyList
import TandemQRCode
import TandemWire
import Testing

@Suite struct PairingPageTests {
    private let browser = Browser()
    private static let escapedLink = Browser.link.replacing("&", with: "&amp;")

    init() { browser.enter() }

    @Test(
        "CON-21: a join link is shown once, to the browser that had it made, and a form that is sent again makes none")
    func shownOnce() throws {
        #expect(browser.get("/pair")?.text.contains("name=\"make\" value=\"0\"") == true)
        #expect(browser.post("/pair", "make=0", token: false)?.status == 403)
        #expect(browser.post("/pair", "make=1")?.status == 409)
        #expect(!browser.commands.contains { $0.command == .pair })
        let made = try #require(browser.post("/pair", "make=0"))
        #expect(made.status == 200 && made.text.contains(Self.escapedLink) && made.text.contains("2027-01-15"))
        #expect(made.text.contains("name=\"make\" value=\"1\""))
        #expect(made.location == nil && made.cookie == nil)
        let again = try #require(browser.post("/pair", "make=0"))
        #expect(again.status == 409 && again.text.contains("shown once"))
        #expect(browser.commands.filter { $0.command == .pair }.count == 1)
        for page in [again, try #require(browser.get("/pair")), try #require(browser.get("/"))] {
            #expect(!page.text.contains("tandem:join") && page.text.contains("3f2a91bc"))
        }
    }

    @Test("CON-21: the code is drawn module for module by markup of the page, without a style or a script")
    func code() throws {
        let made = try #require(browser.post("/pair", "make=0")).text
        let code = try QRCode(Browser.link)
        let side = code.width + 8
        let drawing = try #require(made.components(between: "<svg", and: "</svg>").first)
        #expect(drawing.contains("viewBox=\"0 0 \(side) \(side)\"") && !drawing.contains("style"))
        #expect(drawing.contains("role=\"img\" aria-label=\"QR code of the join link\""))
        let path = try #require(drawing.components(between: " d=\"", and: "\"").first)
        var dark: Set<[Int]> = []
        for run in path.split(separator: "z") {
            let numbers = run.split { !$0.isNumber }.compactMap { Int($0) }
            try #require(numbers.count == 5 && numbers[2] == numbers[4] && numbers[3] == 1)
            for column in numbers[0]..<numbers[0] + numbers[2] { dark.insert([column, numbers[1]]) }
        }
        for row in 0..<side {
            for column in 0..<side {
                #expect(dark.contains([column, row]) == code.isDark(column: column - 4, row: row - 4))
            }
        }
        #expect(made.components(between: "<script", and: ">") == [" src=\"/console.js\" defer"])
    }

    @Test("CON-22: an open link has its time and attempts and can be taken back, a used one has its device")
    func links() throws {
        let token = Hexadecimal.encode(Browser.token)
        browser.links = [
            ["token": .data(Browser.token), "left": 240_000, "attempts": 3],
            ["token": .data([1, 2, 3, 4]), "left": 1, "attempts": 5, "pairing": .data([9]), "name": "kiosk"],
        ]
        let page = try #require(browser.get("/pair")).text
        #expect(page.contains("Link 3f2a91bc may be used for 4 min, with 3 attempts left."))
        #expect(page.contains("Link 01020304 was used by kiosk.") && !page.contains("Take back link 01020304"))
        #expect(page.contains("data-events=\"/events?mark=-.") && page.contains("aria-live=\"polite\""))
        #expect(browser.post("/pair", "cancel=\(token)")?.location == .pair)
        #expect(browser.commands.last { $0.command == .pairCancel }?.body == ["token": .data(Browser.token)])
        browser.refusal = .refused(name: "not-found", text: "no such join link is open")
        for token in [token, "", "zz"] {
            let refused = try #require(browser.post("/pair", "cancel=\(token)"))
            #expect(refused.status == 422 && refused.text.contains("no such join link is open"))
        }
        let refused = try #require(browser.post("/pair", "make=0"))
        #expect(refused.status == 422 && refused.text.contains("name=\"make\" value=\"1\""))
    }

    @Test("CON-22: a secondary says how it joins, and makes links only if it accepts device links itself")
    func secondary() throws {
        browser.role = "secondary"
        var page = try #require(browser.get("/pair")).text
        #expect(page.contains("tandem join --device /a/b.sock") && page.contains("id=\"make\""))
        browser.listening = []
        page = try #require(browser.get("/pair")).text
        #expect(page.contains("tandem join --device /a/b.sock") && !page.contains("id=\"make\""))
        browser.role = "primary"
        page = try #require(browser.get("/pair")).text
        #expect(page.contains("--listen") && !page.contains("tandem join") && !page.contains("id=\"make\""))
    }
}
