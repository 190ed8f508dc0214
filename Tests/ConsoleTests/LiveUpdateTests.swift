// Events of open pages: a page is told that it is old, that it is not, or that nobody answers, whatever happened
// between its making and its stream.

import TandemBase
import TandemConsole
import TandemOperations
import TandemPropertyList
import TandemWire
import Testing

@Suite struct LiveUpdateTests {
    private static let away = ConsoleReply.failure(.unanswered("no daemon\nanswers"))

    private func instance(_ path: String = Browser.page) throws -> AppInstance {
        let route = try #require(ConsoleRoute(path: path))
        let instance: AppInstance? = if case .settings(let instance, page: _) = route { instance } else { nil }
        return try #require(instance)
    }

    private func settings(_ value: PropertyListValue, ordinal: Int64 = 1) -> ConsoleReply {
        .success(["settings": [["key": "name", "value": value]], "ordinal": .integer(ordinal)])
    }

    private func status(isConnected: Bool = true, version: Int64 = 1, uptime: Int64 = 1) -> ConsoleReply {
        .success([
            "uptime": .integer(uptime),
            "applications": [["app": .string(Browser.app), "connected": .boolean(isConnected)]],
            "configurations": [
                ["app": .string(Browser.app), "version": .integer(version)],
                ["app": "org.example.other", "version": .integer(uptime)],
            ],
        ])
    }

    private func state(_ settings: ConsoleReply, _ status: ConsoleReply) throws -> LiveState {
        var state = LiveState(of: try instance())
        state.take(settings: settings)
        state.take(status: status)
        return state
    }

    private func name(_ event: String?) -> String? {
        event.flatMap { $0.components(between: "event: ", and: "\n").first }
    }

    @Test("CON-15: an event says that a page is old and not why, and times, ordinals and other apps make none old")
    func events() throws {
        var state = try state(settings("a"), status())
        var updates = LiveUpdates(of: try instance(), mark: state.mark)
        #expect(updates.event(at: state) == "event: current\nid: \(state.mark)\ndata: same\n\n")
        state.take(settings: settings("a", ordinal: 2))
        state.take(status: status(uptime: 2))
        #expect(updates.event(at: state) == nil)
        state.take(settings: settings("b", ordinal: 3))
        #expect(updates.event(at: state) == "event: settings\nid: \(state.mark)\ndata: changed\n\n")
        #expect(updates.event(at: state) == nil)
    }

    @Test("CON-15: an app that starts or stops, and another configuration, make its page old")
    func facts() throws {
        var state = try state(settings("a"), status())
        var updates = LiveUpdates(of: try instance(), mark: state.mark)
        #expect(name(updates.event(at: state)) == "current")
        for next in [status(isConnected: false), status(), status(version: 2)] {
            state.take(status: next)
            #expect(name(updates.event(at: state)) == "settings")
        }
    }

    @Test("CON-15: a change between a page and its stream, or while the browser was away, is an event at once")
    func missed() throws {
        let before = try state(settings("a"), status())
        let after = try state(settings("b"), status())
        for mark in [before.mark, "", "-", "..", "a.b.c"] {
            var updates = LiveUpdates(of: try instance(), mark: mark)
            #expect(name(updates.event(at: after)) == "settings", "\(mark)")
        }
        let again = WebRequest(
            "GET", "/events?mark=old", fields: [("Last-Event-ID", after.mark)])
        #expect(again.mark == after.mark && WebRequest("GET", "/events?mark=old", fields: []).mark == "old")
        var updates = LiveUpdates(of: try instance(), mark: again.mark)
        #expect(name(updates.event(at: after)) == "current")
    }

    @Test("CON-15: nothing is said before everything was looked at, and a page without the device's facts is not old")
    func partial() throws {
        var state = LiveState(of: try instance())
        state.take(settings: settings("a"))
        var updates = LiveUpdates(of: try instance(), mark: state.mark)
        #expect(updates.event(at: state) == nil)
        state.take(status: status())
        #expect(name(updates.event(at: state)) == "current")
        state.take(status: status(version: 2))
        #expect(name(updates.event(at: state)) == "settings")
    }

    @Test("CON-15: a page is told once that nobody answers, on one line, and is old when there are answers again")
    func silence() throws {
        let known = try state(settings("a"), status())
        for isOfDevice in [false, true] {
            var state = known
            var updates = LiveUpdates(of: try instance(), mark: state.mark)
            #expect(name(updates.event(at: state)) == "current")
            if isOfDevice { state.take(status: Self.away) } else { state.take(settings: Self.away) }
            #expect(updates.event(at: state) == "event: silent\ndata: no daemon answers\n\n")
            #expect(updates.event(at: state) == nil)
            #expect(name(updates.event(at: known)) == "settings", "the page may have failed to load itself meanwhile")
        }
        var device = LiveState(of: nil)
        device.take(status: Self.away)
        var updates = LiveUpdates(of: nil, mark: device.mark)
        #expect(name(updates.event(at: device)) == "silent")
        device.take(status: status())
        #expect(name(updates.event(at: device)) == "device")
        var late = LiveUpdates(of: nil, mark: LiveState.deviceMark(Self.away))
        #expect(name(late.event(at: device)) == "device", "a page that was made without the daemon")
    }

    @Test("CON-15: a page of the console names the state that it was made of")
    func marks() throws {
        let browser = Browser()
        browser.enter()
        func mark(_ answer: WebAnswer?) throws -> String {
            try #require(answer?.text.components(between: "/events?mark=", and: "\"").first)
        }
        let first = try mark(browser.get(Browser.page))
        let again = try mark(browser.get(Browser.page))
        #expect(again == first)
        #expect(try mark(browser.post(Browser.page, "v.volume=101")) == first)
        browser.rows["mode"] = ["value": "b", "layer": "user"]
        let changed = try mark(browser.get(Browser.page))
        let (front, pair) = (try mark(browser.get("/")), try mark(browser.get("/pair")))
        #expect(changed != first && front == pair)
    }

    @Test("CON-15: a page of a former schema with later values shows no state, and loads itself again")
    func formerSchema() throws {
        let browser = Browser()
        browser.enter()
        func first(_ schema: UInt8, _ values: UInt8) throws -> String? {
            browser.digests = ([schema], [values])
            let page = try #require(browser.get(Browser.page)?.text)
            let mark = try #require(page.components(between: "/events?mark=", and: "\"").first)
            let known = try state(
                browser.reply(Console.state(of: instance())), browser.reply(ConsoleQuestion(.status)))
            var updates = LiveUpdates(of: try instance(), mark: mark)
            return name(updates.event(at: known))
        }
        #expect(try first(1, 1) == "current" && first(1, 2) == "settings" && first(2, 2) == "current")
    }

    @Test("CON-15: rows about a secondary's app are those with its pairing")
    func secondary() throws {
        let name = "0123ABCD-0000-4000-8000-0123456789AB"
        let pairing = try #require(UniqueIdentifier(text: name))
        var state = LiveState(of: try instance("/secondaries/\(name)\(Browser.page)"))
        state.take(settings: settings("a"))
        func status(own: Int64, forwarded: Int64) -> ConsoleReply {
            .success([
                "configurations": [
                    ["app": .string(Browser.app), "version": .integer(own)],
                    [
                        "app": .string(Browser.app), "version": .integer(forwarded),
                        "pairing": .data(pairing.bytes),
                    ],
                ]
            ])
        }
        state.take(status: status(own: 1, forwarded: 1))
        let first = state.mark
        state.take(status: status(own: 2, forwarded: 1))
        #expect(state.mark == first)
        state.take(status: status(own: 2, forwarded: 2))
        #expect(state.mark != first)
    }

    @Test("CON-15: at a primary an app that starts or stops on its secondary makes its page old, and no other one")
    func farStart() throws {
        let name = "0123ABCD-0000-4000-8000-0123456789AB"
        let pairing = PropertyListValue.data(try #require(UniqueIdentifier(text: name)).bytes)
        let other = PropertyListValue.data(UniqueIdentifier.zero.bytes)
        func status(_ isConnected: Bool, elsewhere: Bool = false) -> ConsoleReply {
            let rows = [(pairing, isConnected), (other, elsewhere)].map { pairing, isConnected -> PropertyListValue in
                ["app": .string(Browser.app), "pairing": pairing, "connected": .boolean(isConnected)]
            }
            return .success(["counterparts": .array(rows)])
        }
        let instance = try instance("/secondaries/\(name)\(Browser.page)")
        var state = LiveState(of: instance)
        state.take(settings: settings("a"))
        state.take(status: status(false))
        var updates = LiveUpdates(of: instance, mark: state.mark)
        #expect(self.name(updates.event(at: state)) == "current")
        for isConnected in [true, false] {
            state.take(status: status(isConnected))
            #expect(self.name(updates.event(at: state)) == "settings", "\(isConnected)")
        }
        state.take(status: status(false, elsewhere: true))
        #expect(updates.event(at: state) == nil)
    }

    private func deviceMark(_ status: PropertyListDictionary) -> String { LiveState.deviceMark(.success(status)) }

    @Test("CON-15: the device's times are no change, and its links are")
    func times() {
        func mark(_ time: Int64, _ level: PropertyListValue) -> String {
            deviceMark(["uptime": .integer(time), "pairings": [["since": .integer(time), "level": level]]])
        }
        #expect(mark(1, "linked") == mark(2, "linked") && mark(2, "linked") != mark(2, "unreachable"))
    }

    @Test("CON-15: the time since which a device has no such pairing, also in the text of a problem, is no change")
    func endedPairing() {
        func mark(_ seconds: Int64, _ problem: PropertyListValue, _ text: String) -> String {
            deviceMark([
                "pairings": [["name": "kiosk", "endedThere": .integer(seconds * 1000)]],
                "health": ["problems": [["name": problem, "text": .string("\(text) \(seconds) s")]]],
            ])
        }
        #expect(mark(1, "unlinked", "ended") == mark(2, "unlinked", "ended"))
        #expect(mark(2, "unlinked", "ended") != mark(3, "store", "the disk is full"))
        #expect(mark(3, "store", "stored again") != mark(3, "store", "the disk is full"), "another text is a change")
    }

    @Test("CON-15, CON-22: the time that a link has left is no event; an attempt with it and its use are")
    func links() {
        func mark(_ link: PropertyListDictionary) -> String { deviceMark(["links": [.dictionary(link)]]) }
        let first = mark(["left": 2000, "attempts": 5])
        #expect(mark(["left": 1000, "attempts": 5]) == first && mark(["left": 900, "attempts": 4]) != first)
        #expect(mark(["left": 900, "attempts": 5, "pairing": .data([1])]) != first)
    }

    @Test("CON-15, LIM-126: looks at an app's settings have a pause, however fast its device answers")
    func pause() throws {
        let start = MonotonicTime(nanoseconds: 0)
        var state = LiveState(of: try instance())
        state.looks(at: start)
        #expect(state.pause(at: start) == .milliseconds(500))
        #expect(state.pause(at: start + .milliseconds(200)) == .milliseconds(300))
        #expect(state.pause(at: start + .seconds(10)) == .zero)
    }
}
