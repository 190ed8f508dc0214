// Values of durable delivery that cross into the rest of the daemon: answers to submitters, items for handlers, changed
// contexts, dead letters, and the events that carry them.

package import TandemBase
package import TandemDelivery
package import TandemStore
package import TandemWire

/// An event that durable delivery reports to the daemon around it; on its loop.
package enum DeliveryEvent {
    /// An item for its handler. Answer with ``Arrivals/handled(_:in:)``, ``Arrivals/rejected(_:code:in:)`` or
    /// ``Arrivals/failed(_:in:)``, now or later.
    case received(ReceivedItem)
    /// An item that this device submitted is durable at the peer.
    case stored(UniqueIdentifier, QueueKey)
    /// An item that this device submitted has ended, with the peer's refusal if that explains it. The record of an
    /// application's item stays until ``Submissions/forget(_:in:then:)``.
    case ended(UniqueIdentifier, QueueKey, Outcome, ItemRefusal?)
    /// A context has changed, and is durable here.
    case contextChanged(LatestContext)
    /// An item no longer needs its file: the peer has stored it, it has ended, or it was a dead letter that is gone.
    case fileReleased(UniqueIdentifier, QueueKey, DeliveryDirection)
    /// An item may wait for the app, and no `item` frame shows it now: all bytes of a file have arrived, a dead letter
    /// is tried again, or a ledger without a handler was read back.
    case itemsMayWait(ApplicationIdentifier)
    /// One of the two stores was restored: the pairing needs a new epoch (DEL-10).
    case needsEpoch(UniqueIdentifier)
    /// The peer acknowledged what was never sent (DEL-13).
    case violation(UniqueIdentifier)
    /// The peer reads too little: more waits for it than a queue may keep (LIM-42).
    case stalled(UniqueIdentifier)
}

/// An item is durable here.
package struct SubmitReceipt: Sendable, Equatable {
    package let note: AcceptedFrame.Note?
    /// The revision of a context.
    package let revision: UInt64?
    /// The item was accepted before, under the same identifier (DEL-33).
    package let isDuplicate: Bool

    package init(_ note: AcceptedFrame.Note? = nil, revision: UInt64? = nil, isDuplicate: Bool = false) {
        self.note = note
        self.revision = revision
        self.isDuplicate = isDuplicate
    }
}

/// Why an event of a queue is not durable. A new item is then not kept, unless ``isUndecided``.
package enum DeliveryFailure: Error, Sendable, Equatable {
    case full(QueueFull)
    case store(StoreError)
    /// A commit that failed has lost the item.
    case lost
    /// The pairing is gone, and the queue with it.
    case unpaired
}

extension DeliveryFailure {
    /// Whether there is no room now, and may be later.
    var isLackOfRoom: Bool {
        switch self {
        case .full, .store(.full): true
        case .store, .lost, .unpaired: false
        }
    }

    /// Whether only the next start can tell if the event is durable: the daemon ends, and answers nobody (DEL-48).
    var isUndecided: Bool {
        switch self {
        case .store(let error): error.endsStore
        case .full, .lost, .unpaired: false
        }
    }
}

extension DeliveryFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .full(let full): full.description
        case .store(let error): error.description
        case .lost: "a write to the store failed"
        case .unpaired: "the pairing has ended; pair the devices again"
        }
    }
}

/// Where an item failed, by the word that commands and the log use (CTL-16).
package enum DeliveryDirection: String, Sendable, Hashable, CaseIterable {
    /// The peer refused it too often.
    case outbound = "out"
    /// The handler here failed too often.
    case inbound = "in"
}

extension LogEvent {
    /// An item failed too often, here or at the peer, and waits for an operator.
    /// - Parameter refusal: the peer's last one; nil for an item that failed here.
    static func deadLetter(
        _ id: UniqueIdentifier?, in queue: QueueKey, _ direction: DeliveryDirection, _ refusal: ItemRefusal?
    ) -> LogEvent {
        var fields = letterFields(id, in: queue, direction)
        if let refusal { fields.append(.outside("refusal", refusal.name ?? "\(refusal.code)")) }
        // A peer may cause failures on the way to it: a warning, so that the lines are limited (LIM-54).
        let level: LogLevel = direction == .outbound ? .warning : .error
        return LogEvent(level, "item failed too often, kept as a dead letter", fields: fields)
    }

    /// A dead letter is gone for good, because newer ones have taken its room (LIM-25).
    static func letterDropped(
        _ id: UniqueIdentifier?, in queue: QueueKey, _ direction: DeliveryDirection
    ) -> LogEvent {
        LogEvent(
            .warning, "the oldest dead letter is dropped, as there are too many",
            fields: letterFields(id, in: queue, direction))
    }

    private static func letterFields(
        _ id: UniqueIdentifier?, in queue: QueueKey, _ direction: DeliveryDirection
    ) -> [LogField] {
        queue.fields + [.text("direction", direction.rawValue), .text("id", id.map { "\($0)" } ?? "-")]
    }

    /// A new epoch begins, and the ends of these items will not be known.
    static func lost(_ count: Int, in queue: QueueKey) -> LogEvent {
        LogEvent(
            .warning, "items that the other device had stored count as lost",
            fields: queue.fields + [.integer("lost", count)])
    }
}

extension QueueKey {
    /// For the log.
    var fields: [LogField] {
        [.text("pairing", "\(pairing)"), .text("app", "\(app)"), .text("channel", channel.rawValue)]
    }
}

/// An operator's decision on a dead letter.
package enum DeadLetterAction: Sendable {
    /// It is sent or handled again, from the first attempt on.
    case retry
    case drop
}

/// The result of an operator's decision on a dead letter.
package enum DeadLetterResult: Sendable {
    case done
    /// It was to be tried again and was dropped: another context applies (DEL-24).
    case outdated
    /// It was gone already, or the disk did not take the change.
    case undone
}

/// An item that failed too often and waits for an operator.
package struct DeadLetter: Sendable, Equatable {
    package let queue: QueueKey
    package let direction: DeliveryDirection
    /// Names it in its queue and direction.
    package let ordinal: UInt64
    package let id: UniqueIdentifier?
    package let topic: String?
    package let attempts: Int
    /// Bytes of its content, those of a file for a file (SES-87).
    package let size: Int
    /// The peer's last refusal; nil for one that failed here.
    package let refusal: ItemRefusal?
}
