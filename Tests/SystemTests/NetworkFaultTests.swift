// Network faults on a link, through a proxy between two real daemons: every accepted item is delivered once and in
// order, at most 10 s after the fault is over (SES-17, SES-19, DEL-9).

import Foundation
import Testing

// Side by side: they wait, and need little else.
@Suite(.timeLimit(.minutes(10))) struct NetworkFaultTests {
    enum Fault: String, CaseIterable, Sendable {
        case delay, loss, narrow, silence, resets, halfOpen, flap
    }

    @Test(arguments: Fault.allCases, ["hub", "kiosk"])
    func `all items are delivered in order within 10 s after the fault`(fault: Fault, sending: String) async throws {
        let port = try FreePort.find()
        let proxy = try NetworkProxy(to: port)
        defer { proxy.end() }
        let devices = try await TwoDevices(port: port, advertised: proxy.port, paired: true)
        let apps = try DeviceApps(devices.workspace, from: sending)
        try await apps.activate()
        for number in Int64(0)..<10 { try await apps.queue(number) }
        async let weather: Void = suffer(fault, proxy)
        for number in Int64(10)..<40 {
            try await apps.queue(number, padding: 8000)
            try await Task.sleep(for: .milliseconds(50))
        }
        try await weather
        for number in Int64(40)..<50 { try await apps.queue(number) }
        let healed = ContinuousClock.now
        let isDelivered = try await holds(within: .seconds(10)) { apps.received.count >= 50 }
        #expect(
            isDelivered && apps.received == Array(0..<50),
            "\(fault) after \(ContinuousClock.now - healed): \(apps.received)")
        #expect(devices.hub.isRunning && devices.kiosk.isRunning)
        await apps.end()
    }

    /// Begins the fault and returns when it is over.
    private func suffer(_ fault: Fault, _ proxy: NetworkProxy) async throws {
        switch fault {
        case .delay:
            proxy.set(.delay(milliseconds: 500))
            try await Task.sleep(for: .seconds(5))
        case .loss, .narrow:
            proxy.set(fault == .loss ? .loss : .narrow)
            try await Task.sleep(for: .seconds(5))
        case .silence:
            // Longer than it takes to give the link up (LIM-9), so that another one is dialled into the silence.
            proxy.set(.silence)
            try await Task.sleep(for: .seconds(20))
        case .resets:
            for pause in [130, 610, 250, 90, 700, 340, 55, 480, 200, 390] {
                try await Task.sleep(for: .milliseconds(pause))
                proxy.reset()
            }
        case .halfOpen:
            // Over when the side that heard nothing has given up: three heartbeats.
            proxy.halfOpen()
            try await Task.sleep(for: .seconds(15))
        case .flap:
            proxy.set(.closed)
            proxy.reset()
            try await Task.sleep(for: .seconds(1))
        }
        proxy.set(.fine)
    }
}
