// One user info to the counterparts on several devices, with a receipt for each: how far it has got there, or why it
// will not arrive. Each device has an item of its own, so that one that is away holds up nobody.

public import TandemBase
public import TandemPropertyList
import TandemReactor
import TandemSession
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
    ///   - limit: or when this time is over: who is away gets the item later.
    /// - Returns: a receipt for each device, in the order of their pairings' identifiers.
    /// - Throws: what stands against it for all: the first that applies of 7004, 7016, 7005 (no pairing), 7008, 7010,
    ///   7009 (over 65,536 bytes).
    public func broadcastUserInfo(
        _ userInfo: PropertyListDictionary, options: TransferOptions = TransferOptions(),
        to receivers: BroadcastReceivers = .all, until level: AcknowledgementLevel = .accepted,
        within limit: Duration = .seconds(30)
    ) async throws(SessionError) -> [DeviceReceipt] {
        var submission = Submission(.userInfo, to: nil, OutgoingContent(userInfo))
        submission.options = options
        let (handle, ready) = (handle, submission)
        typealias Receipts = Result<[DeviceReceipt], SessionError>
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Receipts, Never>) in
            handle.run { core in
                core.broadcast(ready, of: handle, to: receivers, until: level, within: limit) {
                    continuation.resume(returning: $0)
                }
            }
        }
        return try result.get()
    }
}

extension SessionCore {
    /// - Parameter completion: called once.
    package func broadcast(
        _ submission: Submission, of handle: SessionHandle, to receivers: BroadcastReceivers,
        until level: AcknowledgementLevel, within limit: Duration,
        completion: @escaping (Result<[DeviceReceipt], SessionError>) -> Void
    ) {
        let entries = (machine.situation?.pairings ?? []).sorted { $0.pairing < $1.pairing }
        // Who can be reached, and where the app is installed, is each device's own matter.
        let anybody = entries.first.map { SendCheck.Counterpart(role: $0.role, level: .immediate, reason: .none) }
        if let refusal = submission.refusal(machine.activation, anybody, isSupported: machine.isSupported) {
            return completion(.failure(SessionError(refusal, messageID: submission.id)))
        }
        let round = ReceiptRound(until: level, scheduler: scheduler, completion: completion)
        for entry in entries where receivers.includes(entry) {
            var own = submission
            own.id = .random()
            own.pairing = entry.pairing
            let place = round.add(entry.pairing, entry.name)
            transfer(own, of: handle) { round.accepted(place, $0) }
        }
        round.begin(within: limit)
    }
}
