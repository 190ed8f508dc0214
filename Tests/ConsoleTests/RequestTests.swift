// Requests of hostile clients: the head is judged before the body, forms are bounded, and their tokens fit one page of
// one browser.

import TandemBase
import TandemConsole
import TandemOperations
import TandemPropertyList
import TandemWire
import Testing

@Suite struct RequestTests {
    private let browser = Browser()

    private static let gate = RequestGate(scheme: "http", hosts: ["127.0.0.1:80", "localhost:80"])

    private func status(_ method: String, _ fields: [(name: String, value: String)]) -> Int? {
        Self.gate.refusal(of: WebRequest(method, "/", fields: fields))?.status
    }

    @Test("CON-5: a request names the console once, and comes from no other site")
    func hostAndOrigin() {
        #expect(status("GET", Browser.head()) == nil)
        #expect(status("GET", [("host", "LOCALHOST:80")]) == nil)
        for host in ["evil.example", "127.0.0.1", "127.0.0.1:81", "localhost:80.evil.example", ""] {
            #expect(status("GET", [("Host", host)]) == 421, "\(host)")
        }
        #expect(status("GET", []) == 421)
        #expect(status("GET", Browser.head([("Host", "127.0.0.1:80")])) == 421)
        for origin in [
            "http://evil.example", "null", "https://127.0.0.1:80", "http://127.0.0.1", "http://127.0.0.1:80/",
        ] {
            #expect(status("GET", Browser.head([("Origin", origin)])) == 403, "\(origin)")
        }
        #expect(status("GET", Browser.head([("Origin", "http://localhost:80")])) == nil)
        #expect(status("POST", Browser.head()) == 403)
        let places: [(site: String, target: String, status: Int?)] = [
            ("same-origin", "empty", nil), ("none", "document", nil), ("cross-site", "document", nil),
            ("same-site", "image", 403), ("cross-site", "empty", 403), ("same-site", "iframe", 403),
        ]
        for place in places {
            let fields = [(name: "Sec-Fetch-Site", value: place.site), (name: "Sec-Fetch-Dest", value: place.target)]
            #expect(status("GET", Browser.head(fields)) == place.status, "\(place)")
        }
        #expect(status("PUT", Browser.head()) == 405)
        #expect(status("get", Browser.head()) == 405)
    }

    @Test("CON-5, LIM-157: no text of combining marks is compared by Unicode")
    func marks() {
        let marks = String(repeating: "\u{301}\u{316}", count: 200)
        #expect(status("GET", Browser.head([("x-\u{E9}", "1")])) == 400)
        #expect(status("GET", Browser.head([("H\u{F6}st", "127.0.0.1:80")])) == 400)
        #expect(status("GET", [("Host", "127.0.0.1:80" + marks)]) == 421)
        #expect(status("GET", Browser.head([("Origin", marks)])) == 403)
        #expect(status("GET", Browser.head([("Sec-Fetch-Site", marks)])) == 403)
        #expect(status("GET" + marks, Browser.head()) == 405)
        #expect(status("GET", Browser.head([("User-Agent", "\u{E9}")])) == nil, "which nobody reads")
        let request = WebRequest(marks, "/", fields: [("Cookie", "a=\u{E9}; \(marks)=2; b=3"), ("Host", marks)])
        #expect(request.values("host").allSatisfy { $0.utf8.allSatisfy { $0 == UInt8(ascii: "?") } })
        #expect(request.cookies("a") == ["??"] && request.cookies("b") == ["3"])
        #expect(request.method.utf8.allSatisfy { $0 == UInt8(ascii: "?") })
        let (app, long) = ("/apps/org.example.lamp/pages/", String(repeating: "a", count: 256))
        #expect(ConsoleRoute(path: app + long) != nil && ConsoleRoute(path: app + long + "a") == nil)
        #expect(ConsoleRoute(path: app + "%CC%81") != nil && ConsoleRoute(path: "/apps%CC%81") == nil)
        #expect(ConsoleRoute(path: "/\u{301}apps") == nil, "a slash is a byte")
    }

    @Test("CON-5: a name without a port has the console's own, and browsers leave out the scheme's")
    func names() {
        let places: [(name: String, scheme: String, bound: UInt16?, text: String)] = [
            ("hub.example", "https", 4780, "hub.example:4780"), ("hub.example", "https", 443, "hub.example"),
            ("hub.example:443", "https", 4780, "hub.example"), ("hub.example:80", "http", 4780, "hub.example"),
            ("hub.example:80", "https", 443, "hub.example:80"), ("hub.example:4780", "https", 443, "hub.example:4780"),
            ("[::1]", "http", 4780, "[::1]:4780"), ("[::1]:80", "http", 4780, "[::1]"),
            ("hub.example", "http", nil, "hub.example"), ("hub.example:8080", "http", nil, "hub.example:8080"),
        ]
        for place in places {
            #expect(ConsoleName(place.name)?.text(scheme: place.scheme, bound: place.bound) == place.text, "\(place)")
        }
        for text in ["", ":80", "h:", "h:0", "h:65536", "h:+1", "https://h", "h/", "::1", "[::1", "[]", "[::1]80", "ä"]
        {
            #expect(ConsoleName(text) == nil, "\(text)")
        }
    }

    @Test("CON-6, LIM-123: a form says one length, which is not over the limit, and its type")
    func length() {
        let form: (name: String, value: String) = ("Content-Type", "application/x-www-form-urlencoded")
        let head = Browser.head([("Origin", "http://127.0.0.1:80"), form])
        #expect(status("POST", head + [("Content-Length", "\(RequestGate.bodyLimit)")]) == nil)
        #expect(status("POST", head + [("Content-Length", "\(RequestGate.bodyLimit + 1)")]) == 413)
        #expect(status("POST", head) == 411)
        #expect(status("POST", head + [("Content-Length", "1"), ("Content-Length", "1")]) == 400)
        for length in ["-1", "+1", "0x1", "", " 1", "1,1", "99999999999999999999"] {
            #expect(status("POST", head + [("Content-Length", length)]) == 400, "\(length)")
        }
        #expect(status("POST", head + [("Content-Length", "1"), ("Transfer-Encoding", "chunked")]) == 411)
        #expect(status("GET", Browser.head([("Content-Length", "1")])) == 400)
        let plain = Browser.head([("Origin", "http://127.0.0.1:80"), ("Content-Type", "text/plain")])
        #expect(status("POST", plain + [("Content-Length", "1")]) == 415)
    }

    @Test("CON-6, LIM-123: the body of a long form is read from a browser that was let in, and from no other one")
    func strangers() throws {
        let body = "v.name=" + String(repeating: "x", count: 1_048_576)
        let refused = try #require(browser.post(Browser.page, body))
        #expect(refused.status == 403 && refused.closes)
        browser.enter()
        #expect(browser.post(Browser.page, body)?.status == 422, "too long for the schema")
        let long = try #require(browser.post(Browser.page, String(repeating: "x", count: RequestGate.bodyLimit)))
        #expect(long.status == 413 && long.text.contains("has what you typed"))
    }

    @Test("CON-7, LIM-124: a form is text with so many fields, of which the last of a name counts")
    func fields() throws {
        let form = try #require(FormFields(Array("a=1&a=2&b+c=%C3%A9%26&d&=e&x=1%0D%0A2%0d3".utf8)))
        #expect(form["a"] == "2" && form["b c"] == "é&" && form["d"] == "" && form["x"] == "1\r\n2\r3")
        #expect(form.values(after: "b") == [" c": "é&"] && form.values(after: "y").isEmpty)
        for text in ["a=%", "a=%4", "a=%zz", "a=%ff", "a=%00", "%ff=a", "%C3%A9=a", "é=a"] {
            #expect(FormFields(Array(text.utf8)) == nil, "\(text)")
        }
        let most = (0..<FormFields.countLimit).map { "f\($0)=" }.joined(separator: "&")
        #expect(FormFields(Array(most.utf8)) != nil)
        #expect(FormFields(Array((most + "&g=").utf8)) == nil)
        let name = String(repeating: "n", count: FormFields.nameLimit)
        #expect(FormFields(Array("\(name)=".utf8)) != nil && FormFields(Array("\(name)n=".utf8)) == nil)
        #expect(FormFields([]) != nil)
    }

    @Test("CON-18: languages come in the order of their weights, and what is no language is passed over")
    func languages() {
        func found(_ text: String) -> [String] {
            WebRequest("GET", "/", fields: [("Accept-Language", text)]).languages
        }
        #expect(found("en;q=0.5, de-CH, fr;q=0.9,de") == ["de-CH", "de", "fr", "en"])
        #expect(
            found("*, en;q=0, x;q=2, y;q=nan, z;q=, <b>;q=1, \(String(repeating: "a", count: 36)), ok;q=0.1") == ["ok"])
        #expect(found((0..<99).map { "l\($0)" }.joined(separator: ",")).count == 32)
        #expect(WebRequest("GET", "/", fields: []).languages.isEmpty)
        #expect(WebRequest("GET", "/?a=b&q=x%20y", fields: []).sought == "x y")
        #expect(WebRequest("GET", "/?q=%00", fields: []).sought.isEmpty)
        #expect(WebRequest("GET", "/?q=\(String(repeating: "a", count: 999))", fields: []).sought.utf8.count == 256)
    }

    @Test("CON-8: an address answers a method that it does not take with those that it takes")
    func methods() {
        for isIn in [false, true] {
            if isIn { browser.enter() }
            for path in ["/console.css", "/console.js"] {
                let answer = browser.post(path, "")
                #expect(answer?.status == 405 && answer?.methods == "GET, HEAD", "\(path), let in: \(isIn)")
            }
        }
        #expect(browser.get("/events") == nil, "a stream")
        for path in ["/events", "\(Browser.page)/events"] {
            let answer = browser.get(path, method: "HEAD")
            #expect(answer?.status == 405 && answer?.methods == "GET", "\(path)")
        }
        #expect(browser.get("/", method: "HEAD")?.status == 200)
        #expect(browser.get("/leave")?.methods == "POST")
        #expect(browser.post("/apps", "")?.methods == "GET, HEAD")
        let unknown = { (path: String) in Self.gate.refusal(of: WebRequest("PUT", path, fields: Browser.head())) }
        for (path, methods) in [("/", "GET, HEAD"), ("/leave", "POST"), (Browser.page, "GET, HEAD, POST")] {
            #expect(unknown(path)?.status == 405 && unknown(path)?.methods == methods, "\(path)")
        }
        #expect(unknown("/nothing")?.status == 404 && unknown("/nothing")?.methods == nil)
    }

    @Test("CON-7: a form without the token of its page and its browser changes nothing")
    func formTokens() throws {
        #expect(browser.post(Browser.page, "v.volume=7", token: false)?.status == 403)
        browser.enter()
        let count = browser.commands.count
        #expect(browser.post(Browser.page, "v.volume=7", token: false)?.status == 403)
        let other = FormToken.make(for: .leave, cookie: "01")
        #expect(browser.post(Browser.page, "v.volume=7&form=\(other)", token: false)?.status == 403)
        let many = (0...FormFields.countLimit).map { "v\($0)=" }.joined(separator: "&")
        #expect(browser.post(Browser.page, many)?.status == 400)
        #expect(browser.commands.count == count)
        #expect(browser.post(Browser.page, "v.volume=7")?.status == 303)
        #expect(Browser().post("/enter", "token=%")?.status == 400)
    }
}

@Suite struct ConsoleSessionTests {
    private let browser = Browser()

    @Test("CON-2, CON-3: the token lets one browser in, once, with a cookie that scripts and other sites do not get")
    func entry() throws {
        let token = browser.console.entryToken
        #expect(token.count == 32)
        #expect(browser.get("/")?.status == 403)
        #expect(browser.get("/apps")?.text.contains("name=\"token\"") == true)
        #expect(browser.enter("")?.status == 403)
        #expect(browser.enter(String(token.dropLast()))?.status == 403)
        let answer = try #require(browser.enter())
        #expect(answer.status == 303 && answer.location == .front)
        #expect(answer.cookie?.hasSuffix("; Path=/; HttpOnly; SameSite=Strict") == true)
        #expect(browser.get("/")?.status == 200)
        #expect(browser.console.entryToken != token)
        let other = Browser()
        _ = other.enter(token)
        #expect(browser.post("/enter", "token=\(token)")?.status == 403)
    }

    @Test("CON-2: the script takes a token out of the address before it looks whether this page asks for one")
    func unusedToken() throws {
        let script = ConsoleFiles.script
        let cleared = try #require(script.firstRange(of: "history.replaceState(null, \"\", enter ?"))
        let asked = try #require(script.firstRange(of: "if (!enter) return;"))
        #expect(cleared.upperBound < asked.lowerBound)
        #expect(script.contains("/^[0-9a-f]{\(2 * ConsoleSessions.tokenBytes)}$/i"))
        #expect(script.contains("addEventListener(\"hashchange\", takeToken)"))
    }

    @Test("CON-12: a form that waits while the console stops may have been stored, and its answer says so")
    func stopping() {
        let (page, form) = (WebRequest("GET", "/apps", fields: []), WebRequest("POST", "/apps", fields: []))
        #expect(WebAnswer.stopping(page).text == "the console is stopping\n")
        #expect(WebAnswer.stopping(form).text.contains("look whether it was done"))
        #expect([page, form].allSatisfy { WebAnswer.stopping($0).status == 503 && WebAnswer.stopping($0).closes })
    }

    @Test("CON-3: a browser that leaves, or is away too long, is out")
    func leaving() {
        browser.enter()
        #expect(browser.post("/leave", "")?.status == 303)
        #expect(browser.get("/")?.status == 403)
        browser.enter()
        #expect(browser.get("/")?.status == 200)
        browser.now = MonotonicTime(nanoseconds: 0) + ConsoleSessions.patience
        #expect(browser.get("/")?.status == 403)
    }

    @Test("LIM-125: of too many browsers the one that was away longest goes")
    func limit() throws {
        var count: UInt8 = 0
        var sessions = ConsoleSessions { size in
            count += 1
            return [UInt8](repeating: count, count: size)
        }
        let cookies = try (0...ConsoleSessions.countLimit).map { number -> String in
            let cookie = sessions.enter(sessions.entryToken, now: MonotonicTime(nanoseconds: UInt64(number)))
            return try #require(cookie)
        }
        let now = MonotonicTime(nanoseconds: 100)
        var known: [Bool] = []
        for cookie in cookies { known.append(sessions.known(among: [cookie], now: now) == cookie) }
        #expect(known == [false] + [Bool](repeating: true, count: ConsoleSessions.countLimit))
        let others = [sessions.known(among: [], now: now), sessions.known(among: [""], now: now)]
        #expect(others == [nil, nil])
    }

    @Test("CON-4, LIM-125: cookies of the console's name that another port has set do not hide the browser's own")
    func otherCookies() throws {
        browser.enter()
        let wrong = String(repeating: "e", count: 64)
        // Those of longer paths come first.
        browser.others = ["tandem-80=evil", "tandem-80=\(wrong)", "tandem-80"]
        #expect(browser.get("/")?.status == 200)
        #expect(browser.post(Browser.page, "v.volume=7")?.status == 303)
        browser.others = [String](repeating: "tandem-80=\(wrong)", count: ConsoleSessions.cookieLimit - 1)
        #expect(browser.get("/apps")?.status == 200)
        browser.others.append("tandem-80=\(wrong)")
        browser.comesFirst = true
        #expect(browser.get("/apps")?.status == 403)
        browser.others = ["tandem-80=evil"]
        #expect(browser.get("/apps")?.status == 200)
        #expect(browser.post("/leave", "")?.status == 303)
        #expect(browser.get("/")?.status == 403)
    }
}

@Suite struct SocketQuestionTests {
    private let near = SocketEnd(address: [127, 0, 0, 1], port: 4780)
    private let far = SocketEnd(address: [127, 0, 0, 1], port: 0xE60A)
    private static let unknown = answer(2, [0xFE, 0xFF, 0xFF, 0xFF])

    /// A message of the kernel of this kind, in the order of a small-endian machine.
    private static func answer(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
        [UInt8(16 + body.count), 0, 0, 0, kind, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0] + body
    }

    /// The far socket: its ports, its user and its inode.
    private func found(_ user: UInt16, inode: UInt8 = 7, ports: [UInt8] = [0xE6, 0x0A, 0x12, 0xAC]) -> [UInt8] {
        let owner = [UInt8(truncatingIfNeeded: user), UInt8(user >> 8), 0, 0, inode, 0, 0, 0]
        return Self.answer(20, [2, 1, 0, 0] + ports + [UInt8](repeating: 0, count: 56) + owner)
    }

    @Test("CON-4: a connection is let in for the console's user and root alone, in any state of its socket")
    func owner() {
        let question = SocketQuestion(near: near, far: far)
        #expect(question.isAllowed(1000, by: found(1000)) && question.isAllowed(1000, by: found(0)))
        #expect(!question.isAllowed(1000, by: found(1001)))
        #expect(!question.isAllowed(1000, by: found(0, inode: 0)))
        #expect(!question.isAllowed(1000, by: found(0, ports: [0xE6, 0x0A, 0, 0])))
        for count in 0..<found(0).count { #expect(!question.isAllowed(1000, by: Array(found(0).prefix(count)))) }
    }

    @Test("CON-4, LIM-146: the operator learns once of each user whose connections are hung up, of a few users in all")
    func refusedUsers() {
        let question = SocketQuestion(near: near, far: far)
        #expect(question.owner(by: found(1001)) == 1001 && question.owner(by: Self.unknown) == nil)
        var users = RefusedUsers()
        let line = users.line(about: 1001, own: 0)
        #expect(line?.contains("user 1001") == true && line?.contains("serves user 0 (root) only") == true)
        #expect(users.line(about: 1001, own: 0) == nil)
        #expect((UInt32(1002)..<1100).compactMap { users.line(about: $0, own: 0) }.count == 15)
    }

    @Test("CON-4: a socket of this machine that is not found is refused, whichever form its address has")
    func notFound() {
        let mapped = [UInt8](repeating: 0, count: 10) + [255, 255]
        let loopback = [UInt8](repeating: 0, count: 15) + [1]
        let address: [UInt8] = [192, 0, 2, 1]
        let isAllowed = { (near: [UInt8], far: [UInt8]) in
            SocketQuestion(near: SocketEnd(address: near, port: 1), far: SocketEnd(address: far, port: 2))
                .isAllowed(1000, by: Self.unknown)
        }
        for far in [[127, 0, 0, 1], [127, 9, 9, 9], mapped + [127, 0, 0, 1], loopback, address, mapped + address] {
            #expect(!isAllowed(address, far), "\(far)")
        }
        #expect(isAllowed(address, [192, 0, 2, 2]) && isAllowed(address, mapped + [192, 0, 2, 2]))
        #expect(!SocketQuestion(near: near, far: SocketEnd(address: address, port: 2)).isAllowed(0, by: []))
    }

    @Test("CON-4: the kernel is asked for the far socket, for a mapped address as for the one that it means")
    func message() {
        let mapped = SocketEnd(address: [UInt8](repeating: 0, count: 10) + [255, 255, 127, 0, 0, 1], port: 0xE60A)
        let message = SocketQuestion(near: near, far: mapped).message
        #expect(message == SocketQuestion(near: near, far: far).message)
        #expect(message.count == 72 && message[16] == 2 && message[17] == 6)
        #expect(message[24..<32] == [0xE6, 0x0A, 0x12, 0xAC, 127, 0, 0, 1])
    }
}

@Suite struct QuestionLineTests {
    private final class Daemon {
        var questions: [(question: ConsoleQuestion, answer: (ConsoleReply) -> Void)] = []
        lazy var line = QuestionLine { [unowned self] in questions.append(($0, $1)) }
        var commands: [ControlName] { questions.map(\.question.command) }

        func answer(_ index: Int = 0, with reply: ConsoleReply = .success([:])) {
            questions.remove(at: index).answer(reply)
        }
    }

    private func question(_ command: ControlName, _ device: UInt8?) -> ConsoleQuestion {
        ConsoleQuestion(command, device.map { ["pairing": .data([$0])] } ?? [:])
    }

    @Test("CON-16: questions about one secondary are asked one after the other, and a save waits for a look's turn")
    func oneSecondary() {
        let daemon = Daemon()
        var done: [Int] = []
        daemon.line.ask([question(.settingsSchema, 1), question(.settingsGet, 1)]) { done.append($0.count) }
        daemon.line.ask([question(.settingsSet, 1)]) { _ in
            done.append(-1)
            daemon.line.ask([question(.settingsReset, 1)]) { _ in done.append(-2) }
        }
        #expect(daemon.commands == [.settingsSchema])
        daemon.answer()
        #expect(daemon.commands == [.settingsGet] && done.isEmpty)
        daemon.answer()
        #expect(daemon.commands == [.settingsSet] && done == [2])
        daemon.answer()
        #expect(daemon.commands == [.settingsReset] && done == [2, -1])
        daemon.answer()
        #expect(daemon.commands.isEmpty && done == [2, -1, -2])
        daemon.line.ask([question(.settingsGet, 1)]) { _ in }
        #expect(daemon.commands == [.settingsGet])
    }

    @Test("CON-10: a request waits for no other device's, and for none about the own device")
    func others() {
        let daemon = Daemon()
        for device: UInt8? in [1, 2, nil, nil] {
            daemon.line.ask([question(.settingsSchema, device), question(.settingsGet, device)]) { _ in }
        }
        #expect(daemon.commands == [ControlName](repeating: .settingsSchema, count: 4))
    }

    @Test("CON-10, LIM-102: half of one user's requests about settings read at once, and no app keeps them waiting")
    func readers() {
        let daemon = Daemon()
        var done = 0
        for _ in 0..<6 {
            daemon.line.ask([question(.settingsSchema, nil), question(.settingsPage, nil)]) { _ in done += 1 }
        }
        #expect(daemon.commands == [.settingsSchema, .settingsSchema])
        // The first two are asked of the app, which does not answer, while the others read.
        for _ in 0..<6 {
            let index = daemon.commands.firstIndex(of: .settingsSchema)
            daemon.answer(index ?? 0)
            #expect(daemon.commands.count { $0 == .settingsSchema } <= 2)
        }
        #expect(daemon.commands == [ControlName](repeating: .settingsPage, count: 6) && done == 0)
        daemon.line.ask([question(.settingsSet, nil)]) { _ in done += 1 }
        #expect(daemon.commands.last == .settingsSet)
        while !daemon.commands.isEmpty { daemon.answer() }
        #expect(done == 7)
    }

    @Test("CON-10: if the daemon answers none of them, those that wait in line end as well")
    func silentDaemon() {
        let daemon = Daemon()
        var failed = 0
        for _ in 0..<6 {
            daemon.line.ask([question(.settingsGet, nil)]) { replies in
                if case .failure(.silent(_, _)) = replies[0] { failed += 1 }
            }
        }
        daemon.answer(with: .failure(.silent("no answer")))
        #expect(failed == 5 && daemon.commands == [.settingsGet])
        daemon.answer(with: .failure(.silent("no answer")))
        #expect(failed == 6)
        daemon.line.ask([question(.settingsGet, nil), question(.status, nil)]) { failed = $0.count }
        daemon.answer(with: .failure(.silent("no answer")))
        #expect(failed == 2 && daemon.commands.isEmpty)
        daemon.line.ask([question(.settingsGet, nil), question(.status, nil)]) { _ in failed = 0 }
        daemon.answer()
        daemon.answer()
        #expect(failed == 0 && daemon.commands.isEmpty)
    }
}
