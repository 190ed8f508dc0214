// Requests about settings on a link: how many are open, and which of them wait for their turn.

import TandemBase
import TandemOperations
import Testing

struct LinkRequestsTests {
    private let ids = (0..<8).map { _ in UniqueIdentifier.random() }

    private func kind(_ app: String, _ group: LinkRequests.Kind.Group = .prompt) throws -> LinkRequests.Kind {
        LinkRequests.Kind(try ApplicationIdentifier(app), group)
    }

    @Test("LIM-118: a prompt request waits for its turn behind one about its app, and goes ahead of that about another")
    func turns() throws {
        var requests = LinkRequests()
        #expect(try requests.ask(ids[0], kind("a")) == .open)
        #expect(try requests.ask(ids[1], kind("a")) == .waits)
        #expect(try requests.ask(ids[2], kind("a")) == .waits)
        for (number, app) in [(3, "b"), (4, "c"), (5, "d")] {
            #expect(try requests.ask(ids[number], kind(app)) == .open)
        }
        #expect(try requests.ask(ids[6], kind("e")) == .waits)
        #expect(requests.end(ids[3]) == [ids[6]], "of the app of the first two one is open")
        #expect(requests.end(ids[0]) == [ids[1]] && !requests.isOpen(ids[0]))
        #expect(requests.end(ids[2]).isEmpty, "it waits no longer")
        #expect(requests.end(ids[1]).isEmpty && !requests.isOpen(ids[2]))
    }

    @Test("LIM-118: groups are counted for themselves, and of those that last long a further one is full")
    func groups() throws {
        var requests = LinkRequests()
        for group in [LinkRequests.Kind.Group.waiting, .question] {
            for _ in 0..<LinkRequests.groupLimit { #expect(try requests.ask(.random(), kind("a", group)) == .open) }
            #expect(try requests.ask(.random(), kind("b", group)) == .full)
        }
        #expect(try requests.ask(ids[0], kind("a")) == .open)
        #expect(try !requests.open(ids[0], kind("b")), "an identifier is open once")
        #expect(try !requests.open(ids[1], kind("a")), "the answering end lets none wait")
        #expect(requests.end(ids[0]).isEmpty)
    }

    @Test("LIM-118: as many wait as the queue holds, and the next is full")
    func bound() throws {
        var requests = LinkRequests()
        #expect(try requests.ask(ids[0], kind("a")) == .open)
        for _ in 0..<LinkRequests.queueLimit { #expect(try requests.ask(.random(), kind("a")) == .waits) }
        #expect(try requests.ask(ids[1], kind("a")) == .full)
        #expect(requests.end(ids[0]).count == 1)
        #expect(try requests.ask(ids[1], kind("a")) == .waits)
    }
}
