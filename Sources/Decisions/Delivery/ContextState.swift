// The latest context of an application in each direction, and the rules by which the latest wins: the sender's
// (DEL-19, DEL-21) in ``OutboundContext``, the receiver's (DEL-20) in ``InboundContext``. Never set, set to no bytes,
// and set to an empty dictionary are three states; the bytes are not inspected here.

package import TandemBase
import TandemWire

/// The context that this device's application last set.
package struct SentContext: Sendable, Equatable {
    /// From 1, one more for each that was set; it continues when an epoch changes.
    package let revision: UInt64
    /// Detects equal bytes without keeping them.
    package let digest: [UInt8]

    /// Whether only the revision is left: the application was removed, and the next one's contexts continue from it.
    package var isCleared: Bool { digest.isEmpty }

    func stored(_ body: [UInt8]) -> [UInt8] {
        var record = RecordWriter(capacity: 64 + digest.count + body.count)
        record.add(.revision, revision)
        record.add(.digest, digest)
        record.add(.body, body)
        return record.bytes
    }

    static func read(_ stored: [UInt8]) throws(DeliveryRecordError) -> DeliveryValue {
        var fields = try RecordReader(stored, of: .sentContext)
        let revision = try fields.counter(.revision, from: 1)
        guard let digest = try fields.bytes(.digest) else { throw .missing(.sentContext, .digest) }
        let body = try fields.body()
        try fields.finish()
        return .sentContext(SentContext(revision: revision, digest: digest), body: body)
    }
}

/// The treatment of a context whose bytes equal those of the last one.
package enum ContextPolicy: Sendable, Hashable {
    /// Nothing, if the last one is on its way or was handled.
    case ifChanged
    /// Sets it again, with a new revision.
    case always
}

package enum ContextUpdate: Sendable, Equatable {
    case set(revision: UInt64)
    /// Its bytes equal those of this revision, which stays.
    case unchanged(revision: UInt64)
}

/// The sender's side: the context last set, when another one changes it, and whether the peer may have lost it.
struct OutboundContext: Sendable {
    private(set) var last: SentContext?

    init(_ last: SentContext?) { self.last = last }

    /// Judges a context that an application sets. One with the bytes of the last one changes nothing while that is on
    /// its way in this epoch and not being taken back, or was handled.
    func update(to digest: [UInt8], _ policy: ContextPolicy, in header: OutboundHeader) -> ContextUpdate {
        if policy == .ifChanged, header.contextEpoch == header.epoch, let last, last.digest == digest {
            return .unchanged(revision: last.revision)
        }
        return .set(revision: (last?.revision ?? 0) + 1)
    }

    /// Whether the peer may have lost the context (DEL-21): it was set in an earlier epoch, and has not ended
    /// unhandled.
    func isLost(in header: OutboundHeader) -> Bool {
        guard last != nil, let epoch = header.contextEpoch else { return false }
        return epoch != header.epoch
    }

    /// The item that carries a context: it supersedes one that waits.
    func item(_ item: OutboundItem, carrying next: SentContext) -> OutboundItem {
        var item = item
        item.supersedeKey = Self.supersedeKey
        item.revision = next.revision
        return item
    }

    /// All contexts of a queue have this key: each supersedes the one that waits.
    static var supersedeKey: [UInt8] { [] }

    /// A context is set, durably with its item.
    mutating func set(
        _ next: SentContext, body: [UInt8], of queue: QueueKey, _ journal: inout HeaderJournal<OutboundHeader>,
        _ transition: inout OutboundTransition
    ) {
        put(next, body: body, of: queue, &transition)
        journal.contextWasSet()
    }

    private mutating func put(
        _ next: SentContext, body: [UInt8], of queue: QueueKey, _ transition: inout OutboundTransition
    ) {
        last = next
        transition.changes.append(.put(DeliveryRowKey(.sentContext, queue), .sentContext(next, body: body)))
    }

    /// The queue withdraws an item, and the peer has not answered yet. If it carried the last context, the same bytes
    /// again are a change.
    func takenBack(_ record: OutboundRecord, _ journal: inout HeaderJournal<OutboundHeader>) {
        if carriesLast(record) { journal.contextEndedUnhandled() }
    }

    /// An item has ended. If it carried the last context and was not handled, the same bytes again are a change; a
    /// context that an epoch lost is set again without being asked. The peer may handle one that was taken back.
    func ended(_ record: OutboundRecord, _ outcome: Outcome, _ journal: inout HeaderJournal<OutboundHeader>) {
        guard carriesLast(record) else { return }
        if outcome == .handled { return journal.contextWasSet() }
        if outcome != .withdrawn(.lost) { journal.contextEndedUnhandled() }
    }

    private func carriesLast(_ record: OutboundRecord) -> Bool {
        guard let last, !last.isCleared else { return false }
        return record.revision == last.revision
    }

    /// The application is removed: only the revision is left.
    mutating func clear(
        of queue: QueueKey, _ journal: inout HeaderJournal<OutboundHeader>, _ transition: inout OutboundTransition
    ) {
        guard let context = last, !context.isCleared else { return }
        put(SentContext(revision: context.revision, digest: []), body: [], of: queue, &transition)
        journal.contextEndedUnhandled()
    }
}

/// The receiver's side: the context that came last. Another one applies only if (epoch, revision) rises.
struct InboundContext: Sendable {
    private(set) var last: ContextVersion?

    init(_ last: ContextVersion?) { self.last = last }

    /// The version of a context that has come; nil for one that is not newer and changes nothing.
    func newer(_ revision: UInt64?, in epoch: UInt64, _ transition: inout InboundTransition) -> ContextVersion? {
        let next = ContextVersion(epoch: epoch, revision: revision ?? 0)
        if next.isNewer(than: last) { return next }
        transition.effects.append(.staleContext(revision: next.revision))
        return nil
    }

    /// A newer one applies, in the transaction that stores its item.
    mutating func apply(
        _ next: ContextVersion, body: [UInt8], of queue: QueueKey, _ transition: inout InboundTransition
    ) {
        last = next
        transition.changes.append(.put(DeliveryRowKey(.receivedContext, queue), .receivedContext(next, body: body)))
        transition.effects.append(.contextReceived(next, body: body))
    }

    /// The application is removed.
    mutating func clear(of queue: QueueKey, _ transition: inout InboundTransition) {
        guard last != nil else { return }
        last = nil
        transition.changes.append(.remove(DeliveryRowKey(.receivedContext, queue)))
    }
}

/// The version of the context that the peer's application last set, as far as it has arrived.
package struct ContextVersion: Sendable, Equatable {
    /// The pairing's epoch in which it came: a peer that was restored counts from an older revision.
    package let epoch: UInt64
    package let revision: UInt64

    package init(epoch: UInt64, revision: UInt64) {
        self.epoch = epoch
        self.revision = revision
    }

    package func isNewer(than other: ContextVersion?) -> Bool {
        guard let other else { return true }
        return (epoch, revision) > (other.epoch, other.revision)
    }

    func stored(_ body: [UInt8]) -> [UInt8] {
        var record = RecordWriter(capacity: 64 + body.count)
        record.add(epoch: epoch)
        record.add(.revision, revision)
        record.add(.body, body)
        return record.bytes
    }

    static func read(_ stored: [UInt8]) throws(DeliveryRecordError) -> DeliveryValue {
        var fields = try RecordReader(stored, of: .receivedContext)
        let context = ContextVersion(
            epoch: try fields.epoch(), revision: try fields.number(.revision, from: 1))
        let body = try fields.body()
        try fields.finish()
        return .receivedContext(context, body: body)
    }
}

/// The newest received context of each pairing that a reader was sent. It gets the stored contexts first, and one of
/// these may still have its own notice to come, behind the notices of older ones.
package struct ReportedContexts: Sendable {
    private var newest: [UniqueIdentifier: ContextVersion] = [:]

    package init() {}

    /// - Returns: whether the reader gets this version; false for one that is not above what it was sent.
    package mutating func advance(to version: ContextVersion, of pairing: UniqueIdentifier) -> Bool {
        guard version.isNewer(than: newest[pairing]) else { return false }
        newest[pairing] = version
        return true
    }

    /// The pairing has ended. The same devices may pair again under its identifier, and in the same epoch (PAR-16):
    /// their contexts are new ones, whatever their versions are.
    package mutating func forget(_ pairing: UniqueIdentifier) { newest[pairing] = nil }
}
