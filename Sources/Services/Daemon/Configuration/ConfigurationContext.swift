// Surroundings of signed configuration in a daemon: what its receiving and its forwarding half use of the device. Lines
// of the log that peers and apps can cause go through here, so that nobody fills it.

import TandemBase
import TandemDelivery
import TandemOperations
import TandemReactor
import TandemSignedConfiguration
import TandemWire

/// Surroundings of both halves of the service; confined to its loop.
final class ConfigurationContext {
    let options: ConfigurationService.Options
    let device: ConfigurationService.Surroundings
    let delivery: DurableDelivery
    let scheduler: any Scheduler
    private let sink: LogHandler
    /// Of the warnings, which peers cause, and of what the apps of each user cause (LIM-54).
    private var paces = (peers: LogPaces.ofLinks, users: LogPaces<UInt32?>(burst: 20))

    init(
        options: ConfigurationService.Options, device: ConfigurationService.Surroundings, delivery: DurableDelivery,
        scheduler: any Scheduler, log: @escaping LogHandler
    ) {
        self.options = options
        self.device = device
        self.delivery = delivery
        self.scheduler = scheduler
        sink = log
    }

    func log(_ event: LogEvent) {
        guard event.level == .warning else { return sink(event) }
        if let line = paces.peers.admit(event, at: scheduler.now) { sink(line) }
    }

    /// A line that an app's registration causes.
    func log(_ event: LogEvent, causedBy app: ApplicationIdentifier) {
        if let line = paces.users.admit(event, of: device.owner(app), at: scheduler.now) { sink(line) }
    }

    var reading: ClockReading { ClockReading(monotonic: scheduler.now, wall: scheduler.wallNow) }

    /// The slot whose files the app sees now; nil if nothing pairs this device on the app's side.
    func shownKey(of app: ApplicationIdentifier, as role: DeviceRole) -> ConfigurationSlotKey? {
        device.target(app, role).map { ConfigurationSlotKey(application: app, role: role, target: $0) }
    }
}
