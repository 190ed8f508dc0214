// A disk that fills up under a daemon that queues items: 7015 and no acknowledgement while there is no space, items
// again within 5 s after there is some, and all that was accepted arrives (DEL-1). It needs a small file system of its
// own, so it runs for root only.

import Foundation
import PairedSession
import TandemWire
import Testing

@Suite(.serialized, .enabled(if: geteuid() == 0), .timeLimit(.minutes(10))) struct DurableFullDiskTests {
    @Test func `items are refused without space, and go on within 5 s when there is some`() async throws {
        let workspace = Workspace()
        let disk = try SmallDisk(at: workspace["hub"], size: "4m")
        let devices = try await TwoDevices(in: workspace)
        try await devices.pair()
        let apps = try DeviceApps(workspace)
        try await apps.activate()
        try await apps.untilReachable()
        devices.kiosk.signal(SIGSTOP)
        var accepted: [Int64] = []
        var refusal: SessionError?
        for number in Int64(0)..<600 where refusal == nil {
            do {
                try await apps.queue(number, padding: 20_000)
                accepted.append(number)
            } catch let error as SessionError {
                refusal = error
            }
        }
        #expect(refusal?.code == .insufficientSpace && refusal?.name == "insufficient-space", "\(refusal as Any)")
        #expect(refusal?.isRetryable == true && devices.hub.isRunning && !accepted.isEmpty)
        devices.kiosk.signal(SIGCONT)
        try disk.grow(to: "32m")
        let grown = ContinuousClock.now
        let isTaken = try await eventually {
            do { try await apps.queue(1000) } catch { return false }
            return true
        }
        #expect(isTaken && ContinuousClock.now - grown < .seconds(5), "after \(ContinuousClock.now - grown)")
        let isDelivered = try await holds(within: .seconds(30)) { apps.received.last == 1000 }
        #expect(isDelivered && apps.received == accepted + [1000], "\(apps.received.count) of \(accepted.count + 1)")
        await apps.end()
        devices.hub.signal(SIGTERM)
        #expect(try await devices.hub.ending().status == 0)
    }
}
