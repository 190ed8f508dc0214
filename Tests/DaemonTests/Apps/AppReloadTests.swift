// Reloads of host apps: an app that has no room for the message gets it again, as long as its connection lasts.

import TandemBase
import TandemDaemonTestSupport
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct AppReloadTests {
    private let device = TestDevice(.secondary)
    private let outcomes = Outcomes()
    private let full = SessionError(.deliveryFailed, .inboxFull, reason: "there are too many unread messages")

    private final class Outcomes {
        var all: [OfferOutcome] = []
    }

    private func reload() throws {
        device.endpoint.reload([1], to: try ApplicationIdentifier("com.example.app")) { [outcomes] in
            outcomes.all.append($0)
        }
        device.scheduler.run()
    }

    @Test("CFG-43, LIM-142: a reload comes again at six ticks and then each ten minutes; one does for all that wait")
    func again() throws {
        let app = try device.app()
        app.offerFailure = full
        for _ in 1...3 { try reload() }
        var seconds: [Int] = []
        app.onFrame = { [device, began = device.scheduler.now] _, _, envelope in
            guard envelope.kind == .configuration else { return }
            seconds.append(Int(device.scheduler.now.since(began).components.seconds))
        }
        for _ in 0..<1300 { device.scheduler.advance(by: .seconds(1)) }
        #expect(seconds == [10, 20, 30, 40, 50, 60, 660, 1260] && outcomes.all.isEmpty)
        app.offerFailure = nil
        app.onFrame = { client, _, envelope in
            if envelope.kind == .configuration { try? client.send(envelope.answer("applied")) }
        }
        device.scheduler.advance(by: .seconds(600))
        #expect(outcomes.all.count == 3 && outcomes.all.allSatisfy { if case .reply = $0 { true } else { false } })
    }

    @Test("CFG-43: a reload that is asked for while another one waits for room is sent at once, with both ends")
    func joined() throws {
        let app = try device.app()
        app.offerFailure = full
        try reload()
        device.scheduler.advance(by: .seconds(100))
        app.offerFailure = nil
        app.onFrame = { client, _, envelope in
            if envelope.kind == .configuration { try? client.send(envelope.answer("applied")) }
        }
        try reload()
        #expect(outcomes.all.count == 2)
    }

    @Test("CFG-43: a reload that waits for room ends with the connection, and the next one of the app has its own")
    func ended() throws {
        let app = try device.app()
        app.offerFailure = full
        for _ in 1...2 { try reload() }
        app.disconnect()
        device.scheduler.run()
        #expect(outcomes.all == [.disconnected, .disconnected])
        let next = try device.app()
        device.scheduler.advance(by: .seconds(60))
        #expect(next.received(.configuration).isEmpty)
        try reload()
        #expect(next.received(.configuration).count == 1)
    }

    @Test("CFG-43: two reloads that are on their way at the same time and both refused go on as one")
    func together() throws {
        let app = try device.app()
        app.offerFailure = full
        let name = try ApplicationIdentifier("com.example.app")
        for _ in 1...2 { device.endpoint.reload([1], to: name) { [outcomes] in outcomes.all.append($0) } }
        device.scheduler.run()
        #expect(app.received(.configuration).count == 2 && outcomes.all.isEmpty)
        device.scheduler.advance(by: .seconds(10))
        #expect(app.received(.configuration).count == 3)
        app.disconnect()
        device.scheduler.run()
        #expect(outcomes.all.count == 2)
    }

    @Test("CFG-42: a reload of an app that is not connected ends at once")
    func absent() throws {
        try reload()
        #expect(outcomes.all == [.notConnected])
    }
}
