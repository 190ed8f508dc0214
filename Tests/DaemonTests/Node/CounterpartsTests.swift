// Stored announcements of a device's apps: coalesced and bounded, however often the device changes its mind (SES-64).

import TandemBase
import TandemDaemonTestSupport
import TandemSession
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct CounterpartsTests {
    private let scheduler = ManualScheduler()
    private let store = UnwillingStore()
    private let counterparts: Counterparts
    private let pairing = UniqueIdentifier.random()

    init() throws {
        counterparts = Counterparts(
            CommittedState(
                try CounterpartApplications(rows: [], path: "disk"), in: LoopStore(store, on: scheduler)),
            scheduler: scheduler, log: { _ in })
    }

    private func app(_ number: Int) throws -> ApplicationIdentifier { try ApplicationIdentifier("app.a\(number)") }

    private func announce(_ number: Int, _ isInstalled: Bool) throws {
        counterparts.announced(try app(number), isInstalled: isInstalled, in: pairing)
    }

    @Test func `SES-64: of a device that flips its mind the last word is stored, with one commit at a time`() throws {
        store.hold(commits: true)
        try announce(0, true)
        for _ in 0..<1000 {
            for number in 1...3 {
                try announce(number, true)
                try announce(number, false)
            }
            scheduler.run()
        }
        try announce(2, true)
        scheduler.run()
        #expect(store.commits == 1 && counterparts[pairing].isEmpty, "nothing is known before it is durable")
        store.goOn()
        scheduler.run()
        let last: Set = [try app(0), try app(2)]
        #expect(store.commits == 2 && counterparts[pairing] == last)
        try announce(2, false)
        try announce(2, true)
        scheduler.run()
        #expect(store.commits <= 4 && counterparts[pairing] == last)
        let before = store.commits
        for _ in 0..<1000 { try announce(2, true) }
        scheduler.run()
        #expect(store.commits == before, "what is stored costs nothing")
    }

    @Test func `SES-64, LIM-11: no more apps of a device are stored than it may have`() throws {
        for number in 0..<300 { try announce(number, true) }
        scheduler.run()
        #expect(counterparts[pairing].count == Limits.applications)
    }

    @Test func `SES-64, LIM-11: apps find the room of those that go in the same commit`() throws {
        for number in 0..<300 { try announce(number, true) }
        scheduler.run()
        let first = try app(0)
        let gone = counterparts[pairing].filter { $0 != first }.prefix(100)
        store.hold(commits: true)
        try announce(0, false)
        for app in gone { counterparts.announced(app, isInstalled: false, in: pairing) }
        for number in 300..<401 { try announce(number, true) }
        store.goOn()
        scheduler.run()
        let new = try (300..<401).map { try app($0) }
        #expect(counterparts[pairing].isSuperset(of: new) && counterparts[pairing].count == Limits.applications)
    }

    @Test func `SES-64, SES-16: apps that took the place of others over a new link are stored once those are gone`()
        throws
    {
        let world = TwoDevices()
        let counterparts = Counterparts(
            CommittedState(
                try CounterpartApplications(rows: [], path: "disk"),
                in: LoopStore(MemoryStore(), on: world.scheduler)),
            scheduler: world.scheduler, log: { _ in })
        world.devices.primary.relay.connect(
            Relay.Outlets(
                target: { _, pairing in .vendor(pairing.peer) }, directory: { _, _ in nil },
                announced: { app, pairing, announcement, _ in
                    counterparts.announced(app, isInstalled: announcement.isInstalled, in: pairing.pairing)
                }))
        let announcement = ApplicationAnnouncement(isInstalled: true, isConnected: false, trust: .noKey)
        for link in 0..<2 {
            let apps = try (0..<Limits.applications).map { try app(1_000 * link + $0) }
            try world.linkUp()
            let port = try #require(world.links?.primary.port)
            for app in apps {
                let envelope = try Envelope(.application, app: app).with(body: announcement.body)
                #expect(port.receive(try envelope.frame(), envelope) == nil)
            }
            world.scheduler.advance(by: .seconds(10))
            #expect(counterparts[world.pairing] == Set(apps))
            world.linkDown()
        }
    }

    @Test func `SES-64: a pairing that ends takes what waits to be stored with it`() throws {
        store.hold(commits: true)
        for number in 0..<2 { try announce(number, true) }
        counterparts.remove(pairing)
        store.goOn()
        scheduler.run()
        #expect(counterparts[pairing].isEmpty)
        store.isFull = true
        try announce(1, true)
        scheduler.run()
        #expect(counterparts[pairing].isEmpty)
        store.isFull = false
        scheduler.advance(by: .seconds(11))
        let last = try app(1)
        #expect(counterparts[pairing] == [last])
    }

    @Test func `SES-64, DEL-31: what a full disk does not take is stored once there is room, if nothing newer came`()
        throws
    {
        store.isFull = true
        for number in 1...2 { try announce(number, true) }
        scheduler.run()
        #expect(counterparts[pairing].isEmpty)
        try announce(2, false)
        scheduler.run()
        store.isFull = false
        scheduler.advance(by: .seconds(11))
        #expect(counterparts[pairing] == [try app(1)])
    }
}
