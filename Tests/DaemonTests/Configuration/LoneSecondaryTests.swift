// The configuration of a secondary alone: reports for which their queue has no room, and verdicts for which the disk
// has none.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct LoneSecondaryTests {
    private let secondary: LoneSecondary

    init() throws { secondary = try LoneSecondary() }

    private var refused: Int { secondary.log.all.count { "\($0.message)" == "report not queued" } }

    @Test("CFG-50: of a full queue one report asks for room, and again at the next tick; all leave when there is room")
    func fullQueue() throws {
        for version in 1...100 { secondary.receive(try secondary.envelope(UInt64(version))) }
        #expect(secondary.waiting.count == LoneSecondary.room)
        #expect((1...2).contains(refused), "\(refused)")
        let before = refused
        secondary.scheduler.advance(by: .seconds(30))
        #expect(refused - before <= 4, "\(refused - before): one for each tick, and not for each report")
        let first = secondary.waiting
        for id in first { secondary.delivery.submissions.cancel(id, in: secondary.queue) { _ in } }
        secondary.scheduler.advance(by: .seconds(11))
        let waiting = secondary.waiting
        #expect(waiting.count == LoneSecondary.room && Set(waiting).isDisjoint(with: first))
    }

    @Test("CFG-43, CFG-62: a verdict, a start and an end of an app for which the disk has no room are made up for")
    func fullDisk() throws {
        let (host, store, scheduler) = (secondary.host, secondary.store, secondary.scheduler)
        host.takesOffers = true
        secondary.receive(try secondary.envelope(1))
        #expect(host.offers.isEmpty)
        // The start.
        store.isFull = true
        secondary.connect()
        #expect(host.offers.isEmpty)
        store.isFull = false
        scheduler.advance(by: .seconds(11))
        #expect(host.offers.count == 1)
        // The verdict.
        store.isFull = true
        try secondary.answer(0)
        store.isFull = false
        scheduler.advance(by: .seconds(21))
        #expect(host.offers.count == 2)
        // The end of the app, and its next start.
        store.isFull = true
        host.offers[1].completion(.disconnected)
        secondary.service.disconnected(secondary.queue.app, as: .secondary, inOrder: false)
        secondary.connect()
        store.isFull = false
        scheduler.advance(by: .seconds(21))
        try #require(host.offers.count == 3)
        try secondary.answer(2)
        scheduler.advance(by: .seconds(1))
        #expect(secondary.service.status.stateName(of: secondary.queue.app) == "applied")
    }
}
