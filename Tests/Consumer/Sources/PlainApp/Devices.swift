// Several paired devices, and whether they are there.

import PairedSession

enum Devices {
    // snippet.watch
    static func watch(_ session: PairedSession) async {
        for await status in session.reachabilityUpdates {
            if status.isImmediate { return }
            print("\(status.level) since \(status.since): \(status.reason.rawValue)")
        }
    }
    // snippet.end

    // snippet.callback
    static func light(_ session: PairedSession) -> StateObservation {
        session.onReachabilityChange { status in print(status.isImmediate ? "green" : "red") }
    }
    // snippet.end

    // snippet.address
    static func address(_ session: PairedSession) async throws(SessionError) {
        for device in session.pairedDevices where device.reachability.isImmediate {
            let one = session.session(for: device.pairing)
            try await one.sendMessageWithoutReply(["hello": .string(device.name)])
        }
        for outcome in try await session.broadcast(["lights": "off"], to: .providing("lights")) {
            if let failure = outcome.failure { print("\(outcome.pairing): \(failure)") }
        }
    }
    // snippet.end

    // snippet.switching
    static func follow(_ session: PairedSession) async {
        for await activation in session.activationUpdates {
            switch activation {
            case .activated: print("talking to \(session.pairedDevice?.name ?? "nobody")")
            case .inactive: print("another device becomes the active one")
            case .notActivated: print("between two devices, or without a daemon")
            }
        }
    }
    // snippet.end

    /// All devices, whenever one of them changes.
    static func list(_ session: PairedSession) async {
        for await devices in session.pairedDevicesUpdates {
            for device in devices {
                print(device.device, device.role, device.target.text, device.isInstalled, device.isActive)
                print(device.provides, device.hasComplication, device.directory ?? "-", device.reachability.revision)
                print(device.seenByCounterpart ?? .unreachable)
            }
        }
    }
}
