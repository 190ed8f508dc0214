// A user info to several devices, with a receipt for each (SES-50, SES-55).

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct ReceiptTests {
    private let fixture: SessionFixture

    init() throws {
        fixture = try SessionFixture()
        fixture.daemon.pair()
    }

    private typealias Receipts = Result<[DeviceReceipt], SessionError>

    private func broadcast(
        _ level: AcknowledgementLevel, _ content: PropertyListDictionary = ["n": 1],
        within time: Duration = .seconds(10)
    ) -> Collector<Receipts> {
        let receipts = Collector<Receipts>()
        let submission = Submission(.userInfo, to: nil, OutgoingContent(content))
        fixture.core.run { core in
            core.broadcast(submission, to: .all, until: level, within: time) { receipts.add($0) }
        }
        fixture.scheduler.run()
        return receipts
    }

    private var submitted: [Envelope] { fixture.daemon.received.filter { $0.kind == .submit } }

    private func say(_ kind: FrameKind, _ item: Envelope, _ name: String? = nil) {
        fixture.daemon.send(
            Envelope(kind, app: item.app, pairing: item.pairing, id: item.id, channel: item.channel, name: name))
        fixture.scheduler.run()
    }

    @Test("SES-55: of fifty devices, five that are away keep their item queued, and each is reported for itself")
    func fifty() throws {
        for number in 1..<50 {
            if number % 10 == 0 { fixture.daemon.pair(.unreachable, .noLink) } else { fixture.daemon.pair() }
        }
        fixture.daemon.situation.pairings[0].level = .unreachable
        fixture.daemon.situation.pairings[0].reason = .noLink
        fixture.activate()
        let receipts = broadcast(.handled)
        #expect(submitted.count == 50 && Set(submitted.compactMap(\.id)).count == 50)
        let away = Set(fixture.daemon.situation.pairings.filter { $0.level == .unreachable }.map(\.pairing))
        for item in submitted {
            say(.accepted, item)
            guard let pairing = item.pairing, !away.contains(pairing) else { continue }
            say(.progress, item, "stored")
            say(.finished, item, "handled")
        }
        #expect(receipts.all.isEmpty)
        fixture.scheduler.advance(by: .seconds(10))
        fixture.scheduler.run()
        let devices = try #require(receipts.all.first).get()
        #expect(devices.count == 50 && away.count == 5)
        #expect(devices.count { $0.level == .handled } == 45)
        #expect(Set(devices.filter { $0.level == .accepted }.map(\.pairing)) == away)
        #expect(devices.map(\.pairing) == devices.map(\.pairing).sorted())
        let late = try #require(devices.first { $0.level == .accepted }?.transfer)
        let lateItem = try #require(submitted.first { $0.id == late.id })
        say(.finished, lateItem, "handled")
        #expect(late.state == .finished(.handled) && receipts.all.count == 1)
    }

    @Test("SES-55: a broadcast whose time is over releases the other devices' transfers while one is away")
    func over() throws {
        fixture.daemon.pair()
        fixture.activate()
        let receipts = broadcast(.handled)
        for item in submitted { say(.accepted, item) }
        say(.finished, submitted[0], "handled")
        fixture.scheduler.advance(by: .seconds(10))
        fixture.scheduler.run()
        let devices = try #require(receipts.all.first).get()
        weak let handled = devices.first { $0.level == .handled }?.transfer
        #expect(handled != nil && devices.contains { $0.level == .accepted })
        _ = consume devices
        receipts.removeAll()
        #expect(handled == nil)
    }

    @Test("SES-55: a broadcast may wait for any time, also one longer than the clock counts")
    func endless() throws {
        fixture.daemon.pair(.unreachable, .noLink)
        fixture.activate()
        let receipts = broadcast(.accepted, within: Duration.seconds(Int64.max) * 2)
        say(.accepted, submitted[0])
        fixture.scheduler.advance(by: .seconds(10))
        #expect(receipts.all.isEmpty)
        say(.accepted, submitted[1])
        #expect(try receipts.all.first?.get().count == 2)
    }

    @Test("SES-55: a refusal and an end are the receipt's error, and no device waits for another")
    func errors() throws {
        fixture.daemon.pair()
        fixture.daemon.pair()
        fixture.activate()
        let receipts = broadcast(.stored)
        let items = submitted
        let error = SessionError(.genericError, name: "queue-full", reason: "full")
        let (refused, id) = (try #require(items[0].pairing), try #require(items[0].id))
        fixture.daemon.send(try error.failure(app: fixture.daemon.app, pairing: refused, id: id, channel: .userInfo))
        say(.accepted, items[1])
        say(.finished, items[1], "expired")
        say(.accepted, items[2])
        #expect(receipts.all.isEmpty)
        say(.progress, items[2], "stored")
        let devices = try #require(receipts.all.first).get()
        let byPairing = Dictionary(uniqueKeysWithValues: devices.map { ($0.pairing, $0) })
        let places = try items.map { try #require($0.pairing) }
        #expect(byPairing[places[0]]?.error?.name == "queue-full")
        #expect(byPairing[places[1]]?.error?.code == .transferTimedOut)
        let last = try #require(byPairing[places[2]])
        #expect(last.level == .stored && last.error == nil)
    }

    @Test("SES-55: what stands against it for all is the caller's error, and nothing is submitted")
    func refused() throws {
        let early = broadcast(.accepted)
        #expect(early.all.first?.error?.code == .sessionNotActivated)
        fixture.activate()
        let large = broadcast(.accepted, ["d": .data(Array(repeating: 0, count: 65_536))])
        #expect(large.all.first?.error?.code == .payloadTooLarge && submitted.isEmpty)
    }
}
