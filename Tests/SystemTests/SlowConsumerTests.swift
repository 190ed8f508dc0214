// A consumer that reads 1 KB/s, or nothing: it costs the relay no more than its quota, disturbs nobody else, and is
// closed when it has read nothing for 30 s (LIM-6).

import Foundation
import PairedSession
import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

// Both rates side by side: they wait, and need little else.
@Suite(.timeLimit(.minutes(10))) struct SlowConsumerTests {
    @Test(arguments: [0, 8192])
    func `LIM-6: a consumer that reads so many bytes a second`(rate: Int) async throws {
        let workspace = Workspace()
        let simulator = try Program(
            "tandem", ["simulate", "--local", workspace.path], named: "simulator", in: workspace)
        try #require(try await holds(within: .seconds(20)) { simulator.output.contains("ready") })
        let slow = try SlowApp("unix:\(workspace["secondary.sock"])", app: "app.slow")
        let flooder = try session("primary", "app.slow", in: workspace)
        let (asker, answerer) = (
            try session("primary", "app.other", in: workspace), try session("secondary", "app.other", in: workspace)
        )
        answerer.handleMessages { _ in ["ok": true] }
        for app in [flooder, answerer, asker] { try await app.activate(timeout: .seconds(20)) }
        #expect(try await eventually { asker.reachability.isImmediate && flooder.reachability.isImmediate })
        _ = try await asker.sendMessage(["warm": "up"])
        let before = try #require(simulator.residentBytes)
        let flooding = ContinuousClock.now
        // Less than the quota, so that only the lack of progress can end it.
        for _ in 0..<50 { try await flooder.sendMessageDataWithoutReply([UInt8](repeating: 7, count: 60_000)) }
        var (most, answered) = (0, 0)
        let begun = ContinuousClock.now
        while ContinuousClock.now - begun < .seconds(40), !slow.isClosed {
            slow.read(rate / 4)
            _ = try await asker.sendMessage(["are": "you there"], timeout: .seconds(2))
            answered += 1
            most = max(most, simulator.residentBytes ?? 0)
            try await Task.sleep(for: .milliseconds(250))
        }
        let time = (sinceFirst: ContinuousClock.now - flooding, sinceLast: ContinuousClock.now - begun)
        #expect(most - before < (4 + 1) << 20, "grew by \((most - before) >> 10) KiB")
        if rate == 0 {
            // Its last progress was somewhere in the flood.
            #expect(time.sinceFirst > .seconds(28) && time.sinceLast < .seconds(37), "closed after \(time)")
            #expect(simulator.errors.contains("reason=slow-consumer"))
        } else {
            #expect(!slow.isClosed, "it reads, slowly, and keeps its connection")
        }
        #expect(answered > 20)
        for app in [flooder, answerer, asker] { await app.end() }
    }

    private func session(_ side: String, _ app: String, in workspace: Workspace) throws -> PairedSession {
        try PairedSession(PairedSessionOptions(application: app, socketPath: workspace["\(side).sock"]))
    }
}

/// A registered app that reads only on the test's request.
private final class SlowApp {
    private let socket: RawSocket
    private(set) var isClosed = false

    init(_ address: String, app: String) throws {
        socket = try RawSocket(address)
        let application = try ApplicationIdentifier(app)
        let hello = try Envelope(.hello).with(body: Hello.offer(software: "slow").body)
        let register = try Envelope(.register, app: application).with(body: ["receives": true])
        for envelope in [hello, register] { socket.write(try envelope.frame().bytes.copied()) }
    }

    func read(_ count: Int) {
        if count > 0 { socket.read(count) }
        if socket.hasHungUp { isClosed = true }
    }
}
