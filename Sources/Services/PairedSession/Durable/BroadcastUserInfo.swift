// One user info to the counterparts on several devices, with a receipt for each: how far it has got there, or why it
// will not arrive. Each device has an item of its own, so that one that is away does not delay the others.

public import TandemBase
public import TandemPropertyList
import TandemReactor
public import TandemWire

/// How far an item has got on its way to one device.
public struct DeviceReceipt: Sendable {
    /// The pairing with the device.
    public let pairing: UniqueIdentifier
    /// The device's name, for people.
    public let name: String
    /// The level that was reached when the call returned; nil with an error.
    public let level: AcknowledgementLevel?
    /// Follows the item from here on; nil if it was not accepted.
    public let transfer: Transfer?
    /// Why the item was not accepted, or ended before it was handled.
    public let error: SessionError?
}

extension PairedSession {
    /// Gives an item to the counterparts on several devices, each as ``transferUserInfo(_:options:until:)``.
    /// - Parameters:
    ///   - userInfo: up to 65,536 bytes encoded, without top-level keys that start with `tandem.`.
    ///   - options: as for one device.
    ///   - receivers: all paired devices, or those whose app provides something.
    ///   - level: returns when the item has got this far everywhere, or has ended there,
    ///   - limit: or when this time is over: a device that is away gets the item later.
    /// - Returns: a receipt for each device, in the order of their pairings' identifiers.
    /// - Throws: what stands against it for all: the first that applies of 7004, 7016, 7005 (no pairing), 7008, 7010,
    ///   7009 (over 65,536 bytes); 7001 `cancelled` if the caller's task is cancelled: nothing is queued if it was
    ///   before the call, otherwise the items may still arrive.
    public func broadcastUserInfo(
        _ userInfo: PropertyListDictionary, options: TransferOptions = TransferOptions(),
        to receivers: BroadcastReceivers = .all, until level: AcknowledgementLevel = .accepted,
        within limit: Duration = .seconds(30)
    ) async throws(SessionError) -> [DeviceReceipt] {
        var submission = Submission(.userInfo, to: nil, OutgoingContent(userInfo))
        submission.options = options
        return try await core.result { [submission] core, completion in
            core.broadcast(submission, to: receivers, until: level, within: limit, completion: completion)
        }
    }
}

/// The receipts of one broadcast while it waits: done when every device has reached the level or its item has ended, or
/// when the time is over. Confined to the session's scheduler.
final class ReceiptRound {
    private struct Device {
        let pairing: UniqueIdentifier
        let name: String
        var result: Result<Transfer, SessionError>?
        var isDone = false
    }

    private let level: AcknowledgementLevel
    private let scheduler: any Scheduler
    private var completion: Completion<[DeviceReceipt]>?
    private var devices: [Device] = []
    private var doneCount = 0
    private var timer: TimerToken?

    init(
        until level: AcknowledgementLevel, scheduler: any Scheduler,
        completion: @escaping Completion<[DeviceReceipt]>
    ) {
        self.level = level
        self.scheduler = scheduler
        self.completion = completion
    }

    /// Adds a device; returns its index.
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
    func accepted(_ index: Int, _ result: Result<Transfer, SessionError>) {
        guard completion != nil else { return }
        devices[index].result = result
        guard case .success(let transfer) = result else { return done(index) }
        let (own, scheduler) = (LoopBound(self, to: scheduler), scheduler)
        let waits = transfer.whenReached(level) { scheduler.submit { own.value.done(index) } }
        if waits == nil { done(index) }
    }

    private func done(_ index: Int) {
        guard completion != nil, !devices[index].isDone else { return }
        devices[index].isDone = true
        doneCount += 1
        finishIfDone()
    }

    private func finishIfDone() {
        // Before the timer not all devices are known.
        if timer != nil, doneCount == devices.count { finish() }
    }

    private func finish() {
        guard let completion else { return }
        self.completion = nil
        timer.map(scheduler.cancel)
        let receipts = devices.map { DeviceReceipt($0.pairing, $0.name, $0.result) }
        // An item that waits for a device that is away holds this round, and must not hold the others' transfers.
        devices = []
        completion(.success(receipts))
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
