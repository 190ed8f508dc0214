// Host apps of this process at two daemons: one queues numbered items, the other notes what its handler saw.

import Foundation
import PairedSession
import Synchronization
import TandemPropertyList
import Testing

/// The apps of one identifier on both devices.
final class DeviceApps: Sendable {
    let sender: PairedSession
    let receiver: PairedSession
    private let seen = Mutex<[Int64]>([])

    /// - Parameter sending: the device whose app queues; the other's receives.
    init(
        _ workspace: Workspace, from sending: String = "hub", app: String = TwoDevices.app, identifier: String? = nil
    ) throws {
        func session(_ device: String) throws -> PairedSession {
            var options = PairedSessionOptions(application: app, socketPath: workspace["\(device).sock"])
            options.identifier = device == "hub" ? identifier : nil
            return try PairedSession(options)
        }
        sender = try session(sending)
        receiver = try session(sending == "hub" ? "kiosk" : "hub")
    }

    /// Registers both apps; the receiver answers messages and handles items.
    func activate() async throws {
        receiver.handleMessages { _ in ["ok": true] }
        receiver.handleUserInfo { [self] info in
            let number = info.userInfo["n"]?.integerValue ?? -1
            seen.withLock { $0.append(number) }
        }
        try await receiver.activate(timeout: .seconds(20))
        try await sender.activate(timeout: .seconds(20))
    }

    /// The numbers of the items that the handler saw, in their order.
    var received: [Int64] { seen.withLock { $0 } }

    /// Queues an item with a number.
    func queue(_ number: Int64, padding: Int = 0) async throws {
        try await sender.transferUserInfo([
            "n": .integer(number), "padding": .data([UInt8](repeating: 1, count: padding)),
        ])
    }

    /// Waits until the counterpart can be reached at once.
    func untilReachable() async throws {
        #expect(try await eventually { sender.reachability.isImmediate })
    }

    /// How long each of some questions took, the shortest first.
    func askedTimes(_ count: Int) async throws -> [Duration] {
        var times: [Duration] = []
        for number in 0..<count {
            let begun = ContinuousClock.now
            _ = try await sender.sendMessage(["n": .integer(Int64(number))], timeout: .seconds(20))
            times.append(ContinuousClock.now - begun)
        }
        return times.sorted()
    }

    func end() async {
        await sender.end()
        await receiver.end()
    }
}
