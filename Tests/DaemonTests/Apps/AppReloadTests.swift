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
        /// The numbers of the reloads whose completions were called.
        var numbers: [Int] = []
    }

    /// - Parameter number: distinguishes its outcome from those of other reloads.
    private func ask(_ number: Int) throws {
        device.endpoint.reload([1], to: try ApplicationIdentifier("com.example.app")) { [outcomes] in
            outcomes.all.append($0)
            outcomes.numbers.append(number)
        }
    }

    private func reload(_ number: Int = 1) throws {
        try ask(number)
        device.scheduler.run()
    }

    @Test("CFG-43, LIM-142: a reload comes again at six ticks and then each ten minutes; one does for all that wait")
    func again() throws {
        let app = try device.app()
        app.offerFailure = full
        for number in 1...3 { try reload(number) }
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
        #expect(outcomes.numbers == [3] && outcomes.all.allSatisfy { if case .reply = $0 { true } else { false } })
    }

    @Test("CFG-43: a reload that is asked for while another one waits for room is sent at once, and takes its place")
    func joined() throws {
        let app = try device.app()
        app.offerFailure = full
        try reload()
        device.scheduler.advance(by: .seconds(100))
        app.offerFailure = nil
        app.onFrame = { client, _, envelope in
            if envelope.kind == .configuration { try? client.send(envelope.answer("applied")) }
        }
        try reload(2)
        #expect(outcomes.numbers == [2])
    }

    @Test("CFG-43: a reload that waits for room ends with the connection, and the next one of the app has its own")
    func ended() throws {
        let app = try device.app()
        app.offerFailure = full
        for number in 1...2 { try reload(number) }
        app.disconnect()
        device.scheduler.run()
        #expect(outcomes.all == [.disconnected] && outcomes.numbers == [2])
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
        for number in 1...2 { try ask(number) }
        device.scheduler.run()
        #expect(app.received(.configuration).count == 2 && outcomes.all.isEmpty)
        device.scheduler.advance(by: .seconds(10))
        #expect(app.received(.configuration).count == 3)
        app.disconnect()
        device.scheduler.run()
        #expect(outcomes.numbers == [2])
    }

    @Test("CFG-42: a reload of an app that is not connected ends at once")
    func absent() throws {
        try reload()
        #expect(outcomes.all == [.notConnected])
    }
}
