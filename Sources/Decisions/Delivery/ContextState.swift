// The latest context of an application in each direction. Three states are three things: never set (there is none), set to no
// bytes at all, and set to an empty dictionary; the bytes are not looked at here. A revision is one more than the last, and what
// is received applies only if (epoch, revision) rises: a context that comes late changes nothing.

/// What this device's application last set.
package struct SentContext: Sendable, Equatable {
    /// From 1, one more for each that was set; it goes on when an epoch changes.
    package let revision: UInt64
    /// Tells equal bytes without keeping them.
    package let digest: [UInt8]

    package init(revision: UInt64, digest: [UInt8]) {
        self.revision = revision
        self.digest = digest
    }
}

/// What to do with a context whose bytes are those of the last one.
package enum ContextPolicy: Sendable, Hashable {
    /// Nothing, if the last one is on its way or was handled.
    case ifChanged
    /// Sets it again, with a new revision.
    case always
}

/// What the peer's application last set, as far as it has come.
package struct ReceivedContext: Sendable, Equatable {
    /// The pairing's epoch in which it came: a peer that was restored counts from an older revision.
    package let epoch: UInt64
    package let revision: UInt64

    package init(epoch: UInt64, revision: UInt64) {
        self.epoch = epoch
        self.revision = revision
    }

    /// Whether it takes the place of the other.
    package func isNewer(than other: ReceivedContext?) -> Bool {
        guard let other else { return true }
        return (epoch, revision) > (other.epoch, other.revision)
    }
}
