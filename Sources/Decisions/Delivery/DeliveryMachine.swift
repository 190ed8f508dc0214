// The two machines of the room as whoever drives them sees both: what each keeps, and when it has to hear of time. Their events
// have no part in it, because a queue and a ledger have none in common but time.

package import TandemBase

/// What a queue and a ledger tell of themselves after each event.
package protocol DeliveryMachine {
    /// What it keeps.
    var kept: KeptAmount { get }
    /// When time has to be told next; nil if nothing depends on it.
    var nextDeadline: MonotonicTime? { get }
}

extension OutboundQueue: DeliveryMachine {
    /// What the queue keeps.
    package var kept: KeptAmount { KeptAmount(records: records.count, bytes: bytes + letterBytes) }
}

extension InboundLedger: DeliveryMachine {
    /// What the ledger keeps.
    package var kept: KeptAmount { KeptAmount(records: records.count, bytes: bytes + letterBytes) }
}
