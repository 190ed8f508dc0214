// Requests of hostile clients: the head is judged before the body, forms are bounded, and their tokens fit one page of
// one browser.

import TandemBase
import TandemConsole
import Testing

@Suite struct RequestTests {
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
        #expect(status("PUT", Browser.head()) == 405)
        #expect(status("get", Browser.head()) == 405)
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

    @Test("CON-7, LIM-124: a form is text with so many fields, of which the last of a name counts")
    func fields() throws {
        let form = try #require(FormFields(Array("a=1&a=2&b+c=%C3%A9%26&d&=e&x=1%0D%0A2%0d3".utf8)))
        #expect(form["a"] == "2" && form["b c"] == "é&" && form["d"] == "" && form["x"] == "1\n2\n3")
        for text in ["a=%", "a=%4", "a=%zz", "a=%ff", "a=%00", "%ff=a"] {
            #expect(FormFields(Array(text.utf8)) == nil, "\(text)")
        }
        let most = (0..<FormFields.countLimit).map { "f\($0)=" }.joined(separator: "&")
        #expect(FormFields(Array(most.utf8)) != nil)
        #expect(FormFields(Array((most + "&g=").utf8)) == nil)
        #expect(FormFields([]) != nil)
    }

    @Test("CON-7: a form without the token of its page and its browser changes nothing")
    func formTokens() throws {
        let browser = Browser()
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
    }
}

@Suite struct ConsoleSessionTests {
    @Test("CON-2, CON-3: the token lets one browser in, once, with a cookie that scripts and other sites do not get")
    func entry() throws {
        let browser = Browser()
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

    @Test("CON-3: a browser that leaves, or is away too long, is out")
    func leaving() {
        let browser = Browser()
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
        for cookie in cookies { known.append(sessions.knows(cookie, now: now)) }
        #expect(known == [false] + [Bool](repeating: true, count: ConsoleSessions.countLimit))
        known = [sessions.knows(nil, now: now), sessions.knows("", now: now)]
        #expect(known == [false, false])
    }
}

@Suite struct ConnectionTableTests {
    private static let table = """
          sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
           0: 0100007F:12B7 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
           1: 0100007F:12B7 0100007F:A001 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 20 4 30 10 -1
           2: 0100007F:A001 0100007F:12B7 01 00000000:00000000 00:00000000 00000000  1001        0 3 1 0 20 4 30 10 -1
           3: 0100007F:A002 0100007F:12B7 06 00000000:00000000 00:00000000 00000000     0        0 0 3 0
           4: short
        """

    @Test("CON-4: the user of an established connection's other end is found, and of no other one")
    func owner() {
        let owner = { ConnectionTable.owner(of: $0, to: "0100007F:12B7", in: Self.table) }
        #expect(owner("0100007F:A001") == 1001)
        #expect(owner("0100007F:A002") == nil)
        #expect(owner("0200007F:A001") == nil)
        #expect(ConnectionTable.owner(of: "", to: "", in: "") == nil)
    }
}
