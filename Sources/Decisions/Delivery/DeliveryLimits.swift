// The limits of queues, ledgers and files, each with its reason, and what counts against the wider ones; tests make
// them small.

package import TandemWire

/// How much a queue keeps, and how it waits.
package struct DeliveryLimits: Sendable, Equatable {
    /// Items that may wait, and their bytes (LIM-14).
    package var items = Limits.queuedItems
    package var bytes = Limits.queuedItemBytes
    /// Items sent and not yet stored by the peer (LIM-16): enough to fill a link, little to send again after a loss.
    package var window = 64
    /// Attempts of a failing head before it becomes a dead letter (LIM-15).
    package var attempts = Limits.deliveryAttempts
    /// The time that a handler may have an item before health reports it (LIM-145): handlers take seconds, and what
    /// follows in the queue waits meanwhile.
    package var handling = Duration.seconds(300)
    /// Items whose next attempt is counted before it is made, so that one sync serves many (DEL-11, LIM-45): as many as
    /// a sender has under way, so that most are counted by the commit that stores them.
    package var countedAhead = 64
    /// Items are sent again if the peer acknowledged nothing for this long (LIM-16): twice a dead link's time.
    package var resendAfter = Duration.seconds(30)
    /// Ended items whose submitter has not acknowledged that (LIM-24): an app that never returns must not fill the
    /// store.
    package var unacknowledged = Limits.unacknowledgedEnds
    /// Ends kept that the submitter has acknowledged (LIM-59): a submission that is repeated because its `accepted` was
    /// lost is the same item.
    package var acknowledged = 256
    /// Dead letters kept (LIM-25), in items; their bytes are bounded by ``bytes``.
    package var deadLetters = 1000
    /// Urgent items of one day (LIM-26): WCSession's budget for complications.
    package var urgentPerDay = 50

    package init() {}

    /// The limits of a channel: a file's chunks have a window of their own.
    package static func standard(_ channel: Channel) -> DeliveryLimits {
        var limits = DeliveryLimits()
        if channel.properties.hasFile { limits.window = 1 }
        return limits
    }

    /// Whether a queue is four fifths full (CTL-12).
    package func isBacklog(count: Int, bytes: Int) -> Bool { count * 5 >= items * 4 || bytes * 5 >= self.bytes * 4 }
}

/// An item was not accepted, because what waits before it has taken all the room.
package struct QueueFull: Error, Sendable, Equatable, CustomStringConvertible {
    package let waiting: KeptAmount
    package let limit: KeptAmount

    package init(_ waiting: KeptAmount, of limit: KeptAmount) { (self.waiting, self.limit) = (waiting, limit) }

    /// The amount and the limit that the next item would exceed: items, or else bytes.
    package var exceeded: (actual: Int, limit: Int) {
        waiting.records >= limit.records ? (waiting.records, limit.records) : (waiting.bytes, limit.bytes)
    }

    package var description: String {
        "queue full: \(waiting.records) of \(limit.records) items and \(waiting.bytes) of \(limit.bytes) bytes wait; "
            + "try again after the other device has connected"
    }
}

/// The rows and bytes that a queue or ledger keeps: budgets over many queues count them.
package struct KeptAmount: Sendable, Equatable {
    /// Rows of unfinished items, ended ones, gaps and dead letters.
    package let records: Int
    /// Bytes of the bodies of items and dead letters.
    package let bytes: Int

    package init(records: Int = 0, bytes: Int = 0) {
        self.records = records
        self.bytes = bytes
    }

    package static func += (sum: inout Self, more: Self) {
        sum = Self(records: sum.records + more.records, bytes: sum.bytes + more.bytes)
    }

    package static func -= (rest: inout Self, part: Self) {
        rest = Self(records: rest.records - part.records, bytes: rest.bytes - part.bytes)
    }
}

/// How much of a file is under way at once, and how large it may be. Sizes are in bytes.
package struct FileLimits: Sendable, Equatable {
    /// The bytes of one `chunk` (LIM-28): large enough to be cheap, small enough to let a message pass between two.
    package var chunk = 65_536
    /// Chunks that an app may send ahead of its daemon's last progress report (LIM-39).
    package var chunksAhead = 8
    /// Bytes of one file sent and not acknowledged (LIM-29): fills a link, and is all that is sent twice after a cut.
    package var window = 262_144
    /// The same for all files of a pairing together (LIM-29): what a message may find ahead of it.
    package var linkWindow = 524_288
    /// The body that describes a file, metadata included.
    package var manifest = Limits.fileDescription
    /// The bytes of a file's name.
    package var name = Limits.fileName
    /// The largest file.
    package var size = Limits.file
    /// Space that a file leaves free (LIM-31): the store must be able to write how it ended.
    package var reserve: Int64 = 64 << 20
    /// Files that apps of one device hand over at once (LIM-31): bounded memory.
    package var uploads = 16
    /// Files that come from one device at once (LIM-31), one of each app: each is an open file.
    package var arrivals = Limits.applications
    /// A receiver to which nothing came for this long requests again (LIM-31): twice a dead link's time.
    package var silence = Duration.seconds(30)
    /// Files of one app that wait for their turn, and the bytes that describe them (LIM-14).
    package var waiting = Limits.queuedItems
    package var waitingBytes = Limits.queuedItemBytes
    /// Memory of the descriptions of all files that apps hand over (LIM-51); one user gets at most half.
    package var described = 32 << 20
    /// Bytes of the files that one user's apps have handed over and that the peer has not stored (LIM-43), beyond one
    /// file.
    package var spooled: Int64 = 64 << 30
    /// Bytes of the files that came through one pairing and were not handled (LIM-43), beyond one file.
    package var received: Int64 = 64 << 30
    /// The shortest time between two progress reports: as fast as an eye follows.
    package var progressInterval = Duration.milliseconds(100)

    package init() {}
}
