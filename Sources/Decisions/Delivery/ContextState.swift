// The latest context of an application in each direction. Never set, set to no bytes, and set to an empty dictionary
// are three states; the bytes are not inspected here. A revision is one more than the last. A received context applies
// only if (epoch, revision) rises: one that comes late changes nothing.

/// The context that this device's application last set.
package struct SentContext: Sendable, Equatable {
    /// From 1, one more for each that was set; it continues when an epoch changes.
    package let revision: UInt64
    /// Detects equal bytes without keeping them.
    package let digest: [UInt8]

    package init(revision: UInt64, digest: [UInt8]) {
        self.revision = revision
        self.digest = digest
    }

    /// The remainder of a context whose application was removed.
    init(cleared revision: UInt64) { self.init(revision: revision, digest: []) }

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
        let revision = try fields.number(.revision, from: 1)
        guard let digest = try fields.bytes(.digest) else { throw .missing(.sentContext, .digest) }
        guard let body = try fields.bytes(.body) else { throw .missing(.sentContext, .body) }
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

/// The result of setting a context.
package enum ContextUpdate: Sendable, Equatable {
    /// It is a new revision.
    case set(revision: UInt64)
    /// Its bytes equal those of this revision, which stays.
    case unchanged(revision: UInt64)

    /// Judges a context that an application sets.
    /// - Parameter isCurrent: the last one is on its way in this epoch, or was handled.
    init(setting digest: [UInt8], after last: SentContext?, _ policy: ContextPolicy, isCurrent: Bool) {
        if policy == .ifChanged, isCurrent, let last, last.digest == digest {
            self = .unchanged(revision: last.revision)
        } else {
            self = .set(revision: (last?.revision ?? 0) + 1)
        }
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

    /// Whether it replaces the other.
    package func isNewer(than other: ContextVersion?) -> Bool {
        guard let other else { return true }
        return (epoch, revision) > (other.epoch, other.revision)
    }

    func stored(_ body: [UInt8]) -> [UInt8] {
        var record = RecordWriter(capacity: 64 + body.count)
        record.add(.epoch, epoch)
        record.add(.revision, revision)
        record.add(.body, body)
        return record.bytes
    }

    static func read(_ stored: [UInt8]) throws(DeliveryRecordError) -> DeliveryValue {
        var fields = try RecordReader(stored, of: .receivedContext)
        let context = ContextVersion(
            epoch: try fields.number(.epoch, from: 1), revision: try fields.number(.revision, from: 1))
        guard let body = try fields.bytes(.body) else { throw .missing(.receivedContext, .body) }
        try fields.finish()
        return .receivedContext(context, body: body)
    }
}
