// A peer whose daemon is stopped and not gone: its sockets stay open, and nothing answers (SES-17, LIM-9).

import Foundation
import PairedSession
import TandemWire
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct StoppedPeerTests {
    @Test("SES-17: a stopped peer is no-heartbeat within three intervals; what waits comes in order and once after it")
    func stopped() async throws {
        let devices = try await TwoDevices(paired: true)
        let apps = try DeviceApps(devices.workspace)
        try await apps.activate()
        for number in Int64(0)..<10 { try await apps.queue(number) }
        #expect(try await holds(within: .seconds(10)) { apps.received.count == 10 })
        devices.kiosk.signal(SIGSTOP)
        let stopped = ContinuousClock.now
        // Asked while nobody knows yet: its own deadline ends it.
        let asked = await #expect(throws: SessionError.self) {
            try await apps.sender.sendMessage(["are": "you there"], timeout: .seconds(2))
        }
        let waited = ContinuousClock.now - stopped
        #expect(asked?.code == .messageReplyTimedOut && waited < .seconds(3), "\(asked as Any) after \(waited)")
        for number in Int64(10)..<40 { try await apps.queue(number) }
        let isSeen = try await holds(within: .seconds(17)) { apps.sender.reachability.level == .unreachable }
        #expect(isSeen && ContinuousClock.now - stopped < .seconds(17), "after \(ContinuousClock.now - stopped)")
        #expect(apps.sender.reachability.reason == .noHeartbeat, "\(apps.sender.reachability)")
        let refused = ContinuousClock.now
        let error = await #expect(throws: SessionError.self) { try await apps.sender.sendMessage(["and": "now"]) }
        #expect(error?.code == .notReachable && ContinuousClock.now - refused < .seconds(1), "\(error as Any)")
        for number in Int64(40)..<50 { try await apps.queue(number) }
        #expect(apps.received == Array(0..<10))
        devices.kiosk.signal(SIGCONT)
        let isDelivered = try await holds(within: .seconds(20)) { apps.received.count >= 50 }
        #expect(isDelivered && apps.received == Array(0..<50), "\(apps.received)")
        try await apps.untilReachable()
        await apps.end()
    }
}
