// The receipts of one broadcast while it waits: done when every device has reached the level or ended, or when the time
// is over. Confined to the session's scheduler.

import TandemBase
import TandemReactor
import TandemWire

final class ReceiptRound {
    private struct Device {
        let pairing: UniqueIdentifier
        let name: String
        var result: Result<Transfer, SessionError>?
        var isDone = false
    }

    private let level: AcknowledgementLevel
    private let scheduler: any Scheduler
    private var completion: ((Result<[DeviceReceipt], SessionError>) -> Void)?
    private var devices: [Device] = []
    private var timer: TimerToken?

    init(
        until level: AcknowledgementLevel, scheduler: any Scheduler,
        completion: @escaping (Result<[DeviceReceipt], SessionError>) -> Void
    ) {
        self.level = level
        self.scheduler = scheduler
        self.completion = completion
    }

    /// Adds a device; returns its place.
    func add(_ pairing: UniqueIdentifier, _ name: String) -> Int {
        devices.append(Device(pairing: pairing, name: name))
        return devices.count - 1
    }

    /// All devices are known.
    func begin(within limit: Duration) {
        timer = scheduler.schedule(after: limit) { [self] in finish() }
        finishIfDone()
    }

    /// The daemon has taken the item for a device, or will not.
    func accepted(_ place: Int, _ result: Result<Transfer, SessionError>) {
        devices[place].result = result
        guard case .success(let transfer) = result else { return done(place) }
        let (own, scheduler) = (LoopBound(self, to: scheduler), scheduler)
        let waits = transfer.whenReached(level) { scheduler.submit { own.value.done(place) } }
        if waits == nil { done(place) }
    }

    private func done(_ place: Int) {
        devices[place].isDone = true
        finishIfDone()
    }

    private func finishIfDone() {
        // Before the timer not all devices are known.
        if timer != nil, devices.allSatisfy(\.isDone) { finish() }
    }

    private func finish() {
        guard let completion else { return }
        self.completion = nil
        timer.map(scheduler.cancel)
        completion(.success(devices.map { DeviceReceipt($0.pairing, $0.name, $0.result) }))
    }
}

extension DeviceReceipt {
    /// As it is at this moment; a device whose daemon has not answered yet has neither level nor error.
    fileprivate init(_ pairing: UniqueIdentifier, _ name: String, _ result: Result<Transfer, SessionError>?) {
        self.pairing = pairing
        self.name = name
        transfer = try? result?.get()
        level = transfer?.level
        switch (result, transfer?.state) {
        case (.failure(let refusal), _): error = refusal
        case (_, .finished(let outcome)): error = outcome.error
        default: error = nil
        }
    }
}
