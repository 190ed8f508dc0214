// A disk that fills up under a daemon that queues items: 7015 and no acknowledgement while there is no space, items
// again within 5 s after there is some, and all that was accepted arrives (DEL-1). It needs a small file system of its
// own, so it runs for root only.

import Foundation
import PairedSession
import TandemDaemon
import TandemDelivery
import TandemStore
import TandemWire
import Testing

@Suite(.serialized, .enabled(if: geteuid() == 0), .timeLimit(.minutes(10))) struct DurableFullDiskTests {
    /// Two devices, the hub on a disk of its own, and their apps, which can reach each other.
    private func started(diskOfHub size: String) async throws -> (SmallDisk, TwoDevices, DeviceApps) {
        let workspace = Workspace()
        let disk = try SmallDisk(at: workspace["hub"], size: size)
        let devices = try await TwoDevices(in: workspace, paired: true)
        let apps = try DeviceApps(workspace)
        try await apps.activate()
        return (disk, devices, apps)
    }

    @Test func `items are refused without space, and go on within 5 s when there is some`() async throws {
        let (disk, devices, apps) = try await started(diskOfHub: "4m")
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
        try disk.resize(to: "32m")
        let grown = ContinuousClock.now
        let isTaken = try await eventually {
            do { try await apps.queue(1000) } catch { return false }
            return true
        }
        #expect(isTaken && ContinuousClock.now - grown < .seconds(5), "after \(ContinuousClock.now - grown)")
        let isDelivered = try await holds(within: .seconds(30)) { apps.received.last == 1000 }
        #expect(isDelivered && apps.received == accepted + [1000], "\(apps.received.count) of \(accepted.count + 1)")
        await apps.end()
        #expect(try await devices.hub.end(by: SIGTERM).status == 0)
    }

    @Test("DEL-31: on a full disk most items of each pack are taken back, and the others arrive after a kill")
    func itemsOfPacksAreTakenBack() async throws {
        let (disk, devices, apps) = try await started(diskOfHub: "64m")
        try await devices.kiosk.end(by: SIGTERM)
        // The reserve of a disk of 64 MiB, and some 3 MiB for items.
        try disk.resize(to: "8m")
        let accepted = try await fill(apps)
        let taken = accepted.indices.filter { $0 % Self.leastOfPack != 0 }
        let results = try await inBursts(taken.count) { try await accepted[taken[$0]].transfer.cancel() }
        #expect(results.allSatisfy { $0 == .cancelled }, "\(results.filter { $0 != .cancelled }.count)")
        try await devices.hub.end(by: SIGKILL)
        let packs = try await packs(in: devices.workspace)
        #expect(packs > 50, "\(accepted.count) items")
        try await devices.restartHub()
        try await devices.restartKiosk()
        try disk.resize(to: "32m")
        // Behind all others.
        #expect(try await eventually { (try? await apps.queue(-1)) != nil })
        let isDelivered = try await holds(within: .seconds(30)) { apps.received.last == -1 }
        let kept = accepted.indices.filter { $0 % Self.leastOfPack == 0 }.map { accepted[$0].number }
        #expect(isDelivered && apps.received.dropLast().sorted() == kept.sorted(), "\(apps.received.count)")
        await apps.end()
    }

    /// As few items as a pack has: each keeps one, but for items of a burst that changed their order.
    private static let leastOfPack = 8

    /// The packs in the store of the hub, which has ended. Counted in a copy, because to open a store writes to it.
    private func packs(in workspace: Workspace) async throws -> Int {
        let copy = workspace["copy"]
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        for name in ["tandem.sqlite", "tandem.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: workspace["hub/\(name)"], toPath: "\(copy)/\(name)")
        }
        let store = try Store(path: "\(copy)/tandem.sqlite")
        defer { store.close() }
        return try await withCheckedContinuation { continuation in
            store.fetch(RowRange(space: DeliveryTable.outboundPack.space)) { continuation.resume(returning: $0) }
        }.get().count
    }

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
