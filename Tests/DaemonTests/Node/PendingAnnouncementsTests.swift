// Announcements on their way to the store, with a store that answers when the test says so.

import TandemBase
import TandemDaemonTestSupport
import TandemTestSupport
import Testing

@testable import TandemDaemon

@Suite struct PendingAnnouncementsTests {
    /// Identifiers of apps; nil for one that was taken back.
    private typealias Announcements = [UniqueIdentifier: [ApplicationIdentifier: String?]]

    @Test func `PAR-18, DEL-31: the last word of an app waits for the store, also one that takes its identifier back`()
        throws
    {
        let scheduler = ManualScheduler()
        let (app, pairing) = (try ApplicationIdentifier("app.a"), UniqueIdentifier.random())
        let kitchen: Announcements = [pairing: [app: "kitchen"]]
        let hall: Announcements = [pairing: [app: "hall"]]
        let none: Announcements = [pairing: [app: nil]]
        var stored: [Announcements] = []
        var ends: [(Bool) -> Void] = []
        let pending = PendingAnnouncements<String?>(on: scheduler) { all, done in
            stored.append(all)
            ends.append(done)
        }
        pending.add("kitchen", for: app, in: pairing)
        pending.add("hall", for: app, in: pairing)
        pending.add(nil, for: app, in: pairing)
        #expect(stored == [kitchen], "one commit at a time")
        ends[0](false)
        pending.add(nil, for: app, in: pairing)
        #expect(stored.count == 1, "it waits with the retry")
        scheduler.advance(by: .seconds(11))
        #expect(stored.count == 2 && stored.last == none)
        pending.add("hall", for: app, in: pairing)
        ends[1](true)
        #expect(stored.count == 3 && stored.last == hall, "what came meanwhile is newer")
        pending.remove(pairing)
        ends[2](false)
        scheduler.advance(by: .seconds(11))
        #expect(stored.count == 3, "its pairing has ended")
    }
}
