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
            do throws(SessionError) {
                try await apps.queue(number, padding: 20_000)
                accepted.append(number)
            } catch {
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

    @Test("DEL-31: on a full disk all but one item of each pack are taken back, and those arrive after a kill")
    func itemsOfPacksAreTakenBack() async throws {
        let workspace = Workspace()
        let disk = try SmallDisk(at: workspace["hub"], size: "64m")
        let devices = try await TwoDevices(in: workspace)
        try await devices.pair()
        let apps = try DeviceApps(workspace)
        try await apps.activate()
        try await apps.untilReachable()
        devices.kiosk.signal(SIGTERM)
        _ = try await devices.kiosk.ending()
        // The reserve of a disk of 64 MiB, and some 3 MiB for items.
        try disk.grow(to: "8m")
        let accepted = try await fill(apps)
        try #require(accepted.count > 1000)
        let taken = accepted.indices.filter { $0 % Self.itemsOfPack != 0 }
        let results = try await inBursts(taken.count) { try await accepted[taken[$0]].transfer.cancel() }
        #expect(results.allSatisfy { $0 == .cancelled }, "\(results.filter { $0 != .cancelled }.count)")
        devices.hub.signal(SIGKILL)
        try await devices.restartHub()
        try await devices.restartKiosk()
        let kept = Set(accepted.indices.lazy.filter { $0 % Self.itemsOfPack == 0 }.map { accepted[$0].number })
        let isDelivered = try await holds(within: .seconds(30)) { apps.received.count >= kept.count }
        #expect(isDelivered && Set(apps.received) == kept, "\(apps.received.count) of \(kept.count)")
        await apps.end()
    }

    /// As many items as a pack has at most (LIM-131).
    private static let itemsOfPack = 32

    /// Queues short items, many at once, until the disk is full.
    private func fill(_ apps: DeviceApps) async throws -> [(number: Int64, transfer: Transfer)] {
        var accepted: [(number: Int64, transfer: Transfer)] = []
        for first in stride(from: Int64(0), to: 10_000, by: Self.burst) {
            let queued = try await inBursts(Self.burst) { place -> (Int64, Transfer)? in
                let number = first + Int64(place)
                do throws(SessionError) {
                    return (number, try await apps.queue(number, padding: 300))
                } catch {
                    guard error.code == .insufficientSpace else { throw error }
                    return nil
                }
            }
            accepted += queued.compactMap { $0 }
            if queued.contains(where: { $0 == nil }) { return accepted }
        }
        Issue.record("the disk did not become full")
        return accepted
    }

    private static let burst = 64

    /// The results of so many calls, of which some are under way at once, in the order of the calls.
    private func inBursts<Value: Sendable>(
        _ count: Int, _ call: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> [Value] {
        var values: [Value] = []
        for first in stride(from: 0, to: count, by: Self.burst) {
            let calls = (first..<min(count, first + Self.burst)).map { place in Task { try await call(place) } }
            for call in calls { values.append(try await call.value) }
        }
        return values
    }
}
