// The console as a program, with a real daemon and a real app, and clients that keep no rule.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct ConsoleTests {
    private let devices: TwoDevices
    private let app: Program
    private let console: ConsoleProgram
    private static let page = "/apps/\(TwoDevices.app)"

    init() async throws {
        devices = try await TwoDevices()
        try await devices.makeKey()
        app = try await devices.startSample()
        console = try await ConsoleProgram(device: devices.workspace["kiosk.sock"], in: devices.workspace)
    }

    /// A value that the app has shown, now or soon.
    private func shows(_ line: String, in other: Program? = nil) async throws -> Bool {
        try await holds(within: .seconds(10)) { (other ?? app).output.contains("value \(line)") }
    }

    @Test func `CON-2, CON-12: a browser that is let in edits a value, and the app has it; a mistake changes nothing`()
        async throws
    {
        #expect(try console.get("/").status == 403)
        let token = console.token
        try console.enter()
        #expect(try console.post("/enter", "token=\(token)").status == 403)
        #expect(try await holds(within: .seconds(5)) { console.token != token })
        for path in ["/", "/apps", Self.page, "/console.css", "/console.js"] {
            let answer = try console.get(path)
            #expect(answer.status == 200, "\(path)")
            #expect(answer.field("Cache-Control") == "no-store" && answer.field("X-Content-Type-Options") == "nosniff")
        }
        let form = try console.formToken(Self.page)
        #expect(try console.post(Self.page, "form=\(form)&b.volume=50&v.volume=71").status == 303)
        #expect(try await shows("volume = 71"))
        let refused = try console.post(Self.page, "form=\(form)&v.volume=1000&b.logging=false&v.logging=true")
        #expect(refused.status == 422 && refused.body.contains("1000 is over the maximum 100"))
        #expect(try console.post(Self.page, "form=\(form)&reset=volume").status == 303)
        #expect(try await shows("volume = 50"))
        #expect(!app.output.contains("logging = true"))
        #expect(devices.kiosk.errors.contains("settings edited"))
    }

    @Test func `CON-15: an open page hears of an edit that is made elsewhere, also before its stream begins`()
        async throws
    {
        try console.enter()
        let page = try console.get(Self.page).body
        let address = try #require(page.firstMatch(of: /data-events="([^"]+)"/)).1
        func edit(_ volume: Int) async throws {
            let edited = try await tandem(
                "settings", "set", "--app", TwoDevices.app, "--device", devices.workspace["kiosk.sock"],
                "volume=\(volume)", in: devices.workspace)
            #expect(edited.status == 0, "\(edited)")
        }
        try await edit(61)
        let stream = try WebClient(port: console.port)
        stream.write("GET \(address) HTTP/1.1\r\nHost: 127.0.0.1:\(console.port)\r\nCookie: \(console.cookie)\r\n\r\n")
        let begun = stream.read { $0.contains("event: settings") && $0.contains("changed\n\n") }
        #expect(begun.field("Content-Type") == "text/event-stream; charset=utf-8")
        try await edit(62)
        let event = stream.read { $0.contains("event: settings") && $0.contains("changed\n\n") }
        #expect(event.text.contains("data: changed") && !event.text.contains("volume"), "\(event.text)")
    }

    @Test
    func
        `CON-18, PAG-14: the pages of an app's Settings.bundle are shown, translated and edited in the browser, and shown in a terminal`()
        async throws
    {
        let bundle = devices.workspace["Settings.bundle"]
        try FileManager.default.createDirectory(atPath: "\(bundle)/de.lproj", withIntermediateDirectories: true)
        func write(_ name: String, _ specifiers: [[String: Any]]) throws {
            let page = ["PreferenceSpecifiers": specifiers]
            let data = try PropertyListSerialization.data(fromPropertyList: page, format: .xml, options: 0)
            try data.write(to: URL(fileURLWithPath: "\(bundle)/\(name).plist"))
        }
        try write(
            "Root",
            [
                ["Type": "PSGroupSpecifier", "Title": "Sound", "FooterText": "All in percent"],
                [
                    "Type": "PSSliderSpecifier", "Key": "volume", "Title": "Volume", "MinimumValue": 0,
                    "MaximumValue": 100,
                ],
                ["Type": "PSToggleSwitchSpecifier", "Key": "logging", "Title": "Write lines"],
                ["Type": "PSGroupSpecifier", "Key": "light", "TandemVisibleWhen": ["logging": true]],
                ["Type": "PSChildPaneSpecifier", "Title": "Light", "File": "Light"],
            ])
        try write(
            "Light",
            [
                [
                    "Type": "PSRadioGroupSpecifier", "Key": "colour", "Title": "Colour",
                    "Values": ["#ff0000", "#0000ff"],
                    "Titles": ["Red", "Blue"],
                ]
            ])
        try Data("\"Sound\" = \"Ton\"; \"Red\" = \"Rot\";".utf8).write(
            to: URL(fileURLWithPath: "\(bundle)/de.lproj/Root.strings"))
        try await app.end(by: SIGTERM)
        let paged = try await devices.startSample(named: "paged", "--pages", bundle)
        try console.enter()
        let german = { (path: String) in try console.send("GET \(path)", ["Accept-Language: de-DE,en;q=0.5"]).body }
        #expect(
            try await holds(within: .seconds(20)) {
                try german(Self.page).contains("<legend><h2><bdi lang=\"de\">Ton</bdi>")
            })
        let page = try german(Self.page)
        #expect(
            page.contains("All in percent") && page.contains("<bdi>Write lines</bdi>") && !page.contains("/pages/Light")
        )
        let light = "\(Self.page)/pages/Light"
        let (form, other) = (try console.formToken(Self.page), try console.formToken(light))
        for forged in ["v.volume=101", "v.volume=-1&v.logging=on", "v.colour=%23ff0000"] {
            #expect(try console.post(Self.page, "form=\(form)&\(forged)").status == 422, "\(forged)")
        }
        #expect(try console.post(Self.page, "form=\(form)&b.logging=off&v.logging=off&v.logging=on").status == 303)
        #expect(try await holds(within: .seconds(10)) { paged.output.contains("value logging = true") })
        #expect(try german(Self.page).contains("<a href=\"\(light)\"><bdi>Light</bdi></a>"))
        #expect(try german(light).contains("value=\"#ff0000\"><bdi lang=\"de\">Rot</bdi>"))
        #expect(try console.post(light, "form=\(form)&b.colour=&v.colour=%23ff0000").status == 403)
        #expect(try console.post(light, "form=\(other)&b.colour=&v.colour=%23ff0000").status == 303)
        #expect(try await holds(within: .seconds(10)) { paged.output.contains("value colour = #ff0000") })
        let shown = try await tandem(
            "settings", "pages", "--app", TwoDevices.app, "--device", devices.workspace["kiosk.sock"], "--language",
            "de",
            in: devices.workspace)
        for text in ["Root", "  Ton", "Write lines", "page Light", "Colour", "Rot", "Edited."] {
            #expect(shown.output.contains(text), "\(text): \(shown)")
        }
        #expect(!paged.output.contains("volume = 101") && !paged.output.contains("volume = -1"))
    }

    @Test
    func `CON-19, PAG-20, PAG-21: an item of the sample app's list is added, changed and deleted, and the app has it`()
        async throws
    {
        try await app.end(by: SIGTERM)
        let paged = try await devices.startSample(named: "paged", "--pages", TwoDevices.sampleBundle)
        try console.enter()
        let scenes = "\(Self.page)/pages/Scenes"
        let draft = { (place: String) in "\(Self.page)/lists/scenes/\(place)" }
        #expect(try await holds(within: .seconds(20)) { try console.get(scenes).body.contains("Add a scene") })
        let form = try console.formToken(draft("new"), of: "draft")
        let none = try #require(try console.get(draft("new")).body.firstMatch(of: /name="item" value="(\w+)"/)).1
        let wrong = try console.post(draft("new"), "form=\(form)&item=\(none)&v.name=Night&v.brightness=101")
        #expect(wrong.status == 422 && wrong.body.contains("over the maximum 100") && wrong.body.contains("Night"))
        let right = try console.post(draft("new"), "form=\(form)&item=\(none)&v.name=Night&v.brightness=10")
        let way = right.field("Location") ?? ""
        #expect(right.status == 303 && way.hasPrefix("\(scenes)?done=Saved") && way.hasSuffix("#r-0"), "\(way)")
        let again = try console.post(draft("new"), "form=\(form)&item=\(none)&v.name=Night&v.brightness=10")
        #expect(again.status == 409, "a form that is sent twice adds one item")
        #expect(try await holds(within: .seconds(10)) { paged.output.contains("Night") })
        let shown = try await tandem(
            "settings", "pages", "--app", TwoDevices.app, "--device", devices.workspace["kiosk.sock"], "--language",
            "de-AT", in: devices.workspace)
        for text in ["1 item", "  1. Night", "Name: Night, Helligkeit: 10", "Langsam"] {
            #expect(shown.output.contains(text), "\(text): \(shown)")
        }
        let page = try console.get(draft("0")).body
        let digest = try #require(page.firstMatch(of: /name="item" value="(\w+)"/)).1
        let other = try console.formToken(draft("0"), of: "draft")
        let edit = "form=\(other)&item=\(digest)&v.name=Dawn"
        #expect(try console.post(draft("0"), edit).status == 303)
        #expect(try await holds(within: .seconds(10)) { paged.output.contains("Dawn") })
        #expect(try console.post(draft("0"), edit).status == 409, "the item is another one now")
        let list = try console.get(scenes).body
        let button = try #require(list.firstMatch(of: /name="item-remove" value="([^"]+)"/)).1
        #expect(try console.post(scenes, "form=\(try console.formToken(scenes))&item-remove=\(button)").status == 303)
        #expect(try console.get(scenes).body.contains("No items."))
        // The same in a terminal, and from the paired primary, to which the app has opened no list.
        func typing(_ lines: String...) async throws -> Program.Ending {
            try await tandem(
                "settings", "edit", "--app", TwoDevices.app, "--device", devices.workspace["kiosk.sock"],
                in: devices.workspace, input: lines.joined(separator: "\n"))
        }
        let typed = try await typing("4", "1", "add", "1 Noon", "2 90", "done", "back", "back", "1 33", "quit")
        #expect(typed.status == 0, "\(typed)")
        let open = try await typing("4", "1", "add", "1 Late")
        #expect(open.status == 1 && open.errors.contains("not stored"), "a script that ends in a draft: \(open)")
        let late = try await typing("4", "1", "add", "2 101", "done", "back", "back", "1 34")
        #expect(late.status == 1 && late.errors.contains("over the maximum 100"), "\(late)")
        #expect(try await holds(within: .seconds(10)) { paged.output.contains("Noon") })
        #expect(try console.get(scenes).body.contains("<bdi>Noon</bdi>"))
        let far = try await tandem(
            "settings", "edit", "--app", TwoDevices.app, "--device", devices.workspace["hub.sock"], "--secondary",
            "kiosk", in: devices.workspace, input: "1 44\n")
        #expect(far.status == 1, "\(far)")
        #expect(try await shows("volume = 33", in: paged) && !paged.output.contains("volume = 34"))
        #expect(!paged.output.contains("101"))
    }

    @Test func `CON-21, CON-22, PAR-23: a real secondary pairs with the link of the page, which says so everywhere`()
        async throws
    {
        let hub = try await ConsoleProgram(
            device: devices.workspace["hub.sock"], named: "hub-console", in: devices.workspace)
        try hub.enter()
        let form = try hub.formToken("/pair", of: "main")
        func make(_ number: Int) throws -> String {
            let made = try hub.post("/pair", "form=\(form)&make=\(number)")
            try #require(made.status == 200, "\(made.text)")
            #expect(made.field("Cache-Control") == "no-store" && made.field("Set-Cookie") == nil)
            let link = try #require(made.body.firstMatch(of: /<code>(tandem:join[^<]+)<\/code>/)).1
            return String(link).replacing("&amp;", with: "&")
        }
        func join(_ link: String) async throws -> Program.Ending {
            try await tandem("join", "--device", devices.workspace["kiosk.sock"], in: devices.workspace, input: link)
        }
        let stream = try WebClient(port: hub.port)
        stream.write("GET /events HTTP/1.1\r\nHost: 127.0.0.1:\(hub.port)\r\nCookie: \(hub.cookie)\r\n\r\n")
        #expect(stream.read { $0.contains(":\n\n") }.status == 200)
        let link = try make(0)
        #expect(try hub.post("/pair", "form=\(form)&make=0").status == 409)
        let joined = try await join(link)
        #expect(joined.status == 0, "\(joined)")
        #expect(stream.read { $0.contains("event: device") }.text.contains("data: changed"))
        let isLinked = try await devices.isLinked()
        #expect(isLinked)
        let page = try hub.get("/pair").body
        #expect(page.contains("was used by kiosk.") && !page.contains("tandem:join"), "\(page)")
        let other = try make(1)
        let token = try #require(try hub.get("/pair").body.firstMatch(of: /name="cancel" value="(\w+)"/)).1
        #expect(try hub.post("/pair", "form=\(form)&cancel=\(token)").status == 303)
        #expect(try hub.post("/pair", "form=\(form)&cancel=\(token)").status == 422)
        let refused = try await join(other)
        #expect(refused.status == 1 && refused.errors.contains("join-refused"), "\(refused)")
        let short = try #require(
            try await devices.run("hub", "status").output.firstMatch(of: /(\w{8}) +used +- +kiosk/)
        ).1
        let used = try await devices.run("hub", "pair-cancel", String(short))
        #expect(used.status == 1 && used.errors.contains("tandem unpair"), "\(used)")
        for secret in try [link, other].map({ try #require($0.firstMatch(of: /secret=([A-Za-z0-9_-]+)/)).1 }) {
            for text in [hub.program.output, hub.program.errors, devices.hub.errors, devices.kiosk.errors] {
                #expect(!text.contains(secret))
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `CON-4: another user's connection is hung up, whichever socket it has, and takes no place`() async throws {
        try console.enter()
        let request = "GET /console.css HTTP/1.1\r\nHost: 127.0.0.1:\(console.port)\r\n\r\n"
        for (isMapped, isHalf) in [(false, false), (true, false), (false, true), (true, true)] {
            for (owner, status): (uid_t?, Int) in [(nil, 200), (1001, 0)] {
                let client = try WebClient(port: console.port, owner: owner, isMapped: isMapped)
                client.write(request)
                if isHalf { client.endWriting() }
                #expect(client.read { $0.contains("\r\n\r\n") }.status == status, "\(isMapped) \(isHalf)")
            }
        }
        let others = try (0..<100).map { _ in try WebClient(port: console.port, owner: 1001) }
        #expect(try console.get("/").status == 200)
        for other in others { #expect(other.read().text.isEmpty) }
    }

    @Test func `CON-5, CON-6, CON-7, CON-8, CON-9: hostile requests get a refusal, and the console goes on`()
        async throws
    {
        try console.enter()
        let (port, cookie) = (console.port, console.cookie)
        let form = try console.formToken(Self.page)
        let whole = { (text: String) throws -> Int in
            let client = try WebClient(port: port)
            client.write(text)
            return client.read { $0.contains("\r\n\r\n") }.status
        }
        let head = "Host: 127.0.0.1:\(port)\r\nCookie: \(cookie)\r\nConnection: close\r\n"
        #expect(try whole("GET / HTTP/1.1\r\nHost: evil.example\r\nCookie: \(cookie)\r\n\r\n") == 421)
        #expect(try whole("GET / HTTP/1.1\r\n\(head)Host: evil.example\r\n\r\n") == 421)
        #expect(try whole("GET / HTTP/1.1\r\n\(head)Origin: http://evil.example\r\n\r\n") == 403)
        #expect(try whole("GET /apps\u{0}zzz HTTP/1.1\r\n\(head)\r\n") == 400)
        #expect(try whole("GET /apps?q=a\u{0}b HTTP/1.1\r\n\(head)\r\n") == 400)
        #expect(try whole("GET /apps?q=a&b=c HTTP/1.1\r\n\(head)\r\n") == 200)
        #expect(try whole("HEAD /events HTTP/1.1\r\n\(head)\r\n") == 405)
        let post =
            "POST \(Self.page) HTTP/1.1\r\n\(head)Origin: http://127.0.0.1:\(port)\r\n"
            + "Content-Type: application/x-www-form-urlencoded\r\n"
        // Two lengths, or a length and chunks, hide a second request from one of two readers.
        #expect([400, 411].contains(try whole("\(post)Content-Length: 4\r\nContent-Length: 90\r\n\r\na=1&")))
        #expect(
            [400, 411].contains(
                try whole(
                    "\(post)Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n")))
        #expect(try whole("\(post)Content-Length: 2000000000\r\n\r\n") == 413)
        #expect(try whole("GET /\(String(repeating: "a", count: 200_000)) HTTP/1.1\r\n\(head)\r\n") != 200)
        let many = (0..<10_000).map { "f\($0)=" }.joined(separator: "&")
        #expect(try console.post(Self.page, "form=\(form)&\(many)").status == 400)
        #expect(try console.post(Self.page, "form=\(String(repeating: "0", count: 64))&v.volume=7").status == 403)
        for path in ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/apps/..%2f..%2fetc", "/console.css/../x"] {
            #expect(try console.get(path).status == 404, "\(path)")
        }
        let markup = try console.post(Self.page, "form=\(form)&v.colour=%3C%2Fp%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E")
        #expect(markup.status == 422 && !markup.body.contains("<script>"))
        // The library's own answers, as far as their end leaves them to be read (CON-9).
        let long = String(repeating: "zzz", count: 70_000)
        for unread in [
            "GET /zzz HTTP/1.1\r\nCookie: \(cookie)\r\nX: zzz\r\n\r\n", "GET /zzz HTTP/9.9\r\n\(head)\r\n",
            "GET /\(long) HTTP/1.1\r\n\(head)\r\n", "GET / HTTP/1.1\r\n\(head)X: \(long)\r\n\r\n",
        ] {
            let client = try WebClient(port: port)
            client.write(unread)
            let answer = client.read()
            #expect([0, 400, 414, 431, 505].contains(answer.status), "\(answer.text)")
            #expect(!["zzz", cookie, "<script", "http:"].contains { answer.text.contains($0) }, "\(answer.text)")
        }
        for garbage in ["\u{0}\u{1}\u{2}", "GET\r\n\r\n", "\r\n\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"] {
            let client = try WebClient(port: port)
            client.write(garbage)
        }
        #expect(try console.get("/").status == 200)
        #expect(!app.output.contains("volume = 7\n"))
    }

    @Test func `CON-4, LIM-125, LIM-127: a browser is let in with as many cookies of the name as the console compares`()
        throws
    {
        try console.enter()
        let name = console.cookie.prefix { $0 != "=" }
        let others = (100..<355).map { "\(name)=\(String(repeating: "0", count: 61))\($0)" }
        let cookies = (others + [console.cookie]).joined(separator: "; ")
        let client = try WebClient(port: console.port)
        client.write(
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(console.port)\r\nCookie: \(cookies)\r\nConnection: close\r\n\r\n")
        #expect(client.read().status == 200)
    }

    @Test func `CON-10, LIM-126, LIM-127: idle streams, slow clients and many connections are bounded`() async throws {
        try console.enter()
        let request = { (path: String) in
            "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(console.port)\r\nCookie: \(console.cookie)\r\n\r\n"
        }
        var streams: [WebClient] = []
        var refused = 0
        for _ in 0..<40 {
            let stream = try WebClient(port: console.port)
            stream.write(request("\(Self.page)/events"))
            let answer = stream.read { $0.contains("\r\n\r\n") }
            if answer.status == 200 { streams.append(stream) } else { refused += answer.status == 503 ? 1 : 0 }
        }
        #expect(streams.count == 32 && refused == 8)
        #expect(try console.get("/").status == 200)
        // A head that never ends, and a body that comes a byte at a time.
        let slow = try [0, 1].map { _ in try WebClient(port: console.port) }
        slow[0].write("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(console.port)\r\n")
        slow[1].write(
            "POST /enter HTTP/1.1\r\nHost: 127.0.0.1:\(console.port)\r\nOrigin: http://127.0.0.1:\(console.port)\r\n"
                + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n")
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end, slow[0].write("X: y\r\n") || slow[1].write("a") {
            try await Task.sleep(for: .seconds(1))
        }
        #expect(ContinuousClock.now < end)
        #expect(try console.get("/").status == 200)
        streams = []
        #expect(try await holds(within: .seconds(40)) { try console.get("\(Self.page)/nothing").status == 404 })
    }

    @Test func `CON-10: pages that are closed, and requests whose browser leaves, give back their places at once`()
        async throws
    {
        try console.enter()
        let request = { (path: String) in
            "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(console.port)\r\nCookie: \(console.cookie)\r\n\r\n"
        }
        func stream() throws -> (client: WebClient, status: Int) {
            let client = try WebClient(port: console.port)
            client.write(request("\(Self.page)/events"))
            return (client, client.read { $0.contains("\r\n\r\n") }.status)
        }
        var open: [WebClient] = []
        for _ in 0..<32 {
            let (client, status) = try stream()
            try #require(status == 200)
            open.append(client)
        }
        #expect(try stream().status == 503)
        open = []
        #expect(try await holds(within: .seconds(5)) { try stream().status == 200 })
        // A daemon that takes requests and answers none.
        try await devices.kiosk.pause()
        for _ in 0..<64 {
            let client = try WebClient(port: console.port)
            client.write(request(Self.page))
            open.append(client)
        }
        open = []
        let begin = ContinuousClock.now
        #expect(try console.get("/console.css").status == 200)
        #expect(begin.duration(to: .now) < .seconds(5))
        devices.kiosk.signal(SIGCONT)
    }

    @Test func `CON-10, LIM-127: connections that took every place, and all end at once, leave it to the next one`()
        async throws
    {
        let request = "GET /nothing HTTP/1.1\r\nHost: 127.0.0.1:\(console.port)\r\n\r\n"
        var held: [WebClient] = []
        for _ in 0..<64 {
            let client = try WebClient(port: console.port)
            client.write(request)
            try #require(client.read { $0.contains("no such page") }.status == 404)
            held.append(client)
        }
        try #require(held.count == 64)
        // The console sees all of their ends in one turn.
        try await console.program.pause()
        held = []
        console.program.signal(SIGCONT)
        #expect(try console.get("/nothing").status == 404)
    }

    @Test func `CON-2: an output that takes nothing keeps no signal waiting, and the console ends with one that fails`()
        async throws
    {
        let workspace = devices.workspace
        func start(_ output: String, _ name: String, _ address: String) throws -> ChildProcess {
            try ChildProcess(
                URL(fileURLWithPath: "tandem-console", relativeTo: Program.directory).path,
                ["--device", workspace["kiosk.sock"], "--address", address],
                ChildProcess.Surroundings(
                    directory: workspace.path, environment: ["PATH": "/usr/bin:/bin"], input: "/dev/null",
                    output: output, errors: try workspace.write("\(name).err", "")))
        }
        let failing = try start("/dev/full", "full", "127.0.0.1:0")
        #expect(try await holds(within: .seconds(10)) { !failing.isRunning })
        #expect(failing.status == 1)
        #expect(try workspace.text("full.err").contains("ENOSPC"))
        let command = URL(fileURLWithPath: "tandem-console", relativeTo: Program.directory).path
        let closed = try ChildProcess(
            "/bin/sh",
            ["-c", "exec \"$0\" --device \"$1\" --address 127.0.0.1:0 >&-", command, workspace["kiosk.sock"]],
            ChildProcess.Surroundings(
                directory: workspace.path, environment: ["PATH": "/usr/bin:/bin"], input: "/dev/null",
                output: "/dev/null", errors: try workspace.write("closed.err", "")))
        #expect(try await holds(within: .seconds(10)) { !closed.isRunning })
        #expect(closed.status == 1)
        #expect(try workspace.text("closed.err").contains("standard output is closed"))
        let pipe = workspace["stuck.pipe"]
        try #require(mkfifo(pipe, 0o600) == 0)
        let descriptor = open(pipe, O_RDWR | O_NONBLOCK)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let page = [UInt8](repeating: UInt8(ascii: "."), count: 4096)
        while write(descriptor, page, page.count) > 0 {}
        let stuck = try start(pipe, "stuck", "unix:\(workspace["stuck.sock"])")
        #expect(
            try await holds(within: .seconds(10)) {
                FileManager.default.fileExists(atPath: workspace["stuck.sock"])
            })
        kill(stuck.pid, SIGTERM)
        #expect(try await holds(within: .seconds(10)) { !stuck.isRunning })
        #expect(stuck.status == 0)
    }

    @Test func `CON-1, CON-5: others than loopback take a certificate, names have the port, and a file is its owner's`()
        async throws
    {
        let device = devices.workspace["kiosk.sock"]
        for (address, more) in [("0.0.0.0:0", []), ("192.0.2.1:0", []), ("127.0.0.1:0", ["--certificate", "x"])] {
            let program = try Program(
                "tandem-console", ["--device", device, "--address", address] + more, named: "refused-\(address)",
                in: devices.workspace)
            #expect(try await program.ending().status == 2, "\(address)")
        }
        let named = try Program(
            "tandem-console", ["--device", device, "--address", "127.0.0.1:0", "--name", "hub.example"], named: "named",
            in: devices.workspace)
        #expect(try await holds(within: .seconds(10)) { named.output.contains(/http:\/\/hub\.example:[1-9][0-9]*\/#/) })
        let path = devices.workspace["console.sock"]
        let program = try Program(
            "tandem-console", ["--device", device, "--address", "unix:\(path)"], named: "unix", in: devices.workspace)
        #expect(try await holds(within: .seconds(10)) { program.output.contains("http://localhost/#") })
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try await program.end(by: SIGTERM).status == 0)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
