// The limits that several rooms share, each as one named constant; Protocol/Limits.md lists the same numbers and
// reasons, and those of a single room stand there. Nothing compares against a literal, so that a limit has one place to
// change and one test at its edge.

/// The protocol's limits. Sizes are in bytes.
package enum Limits {
    /// Payload of a frame while the link's peer is not pinned (LIM-1): a join needs under 1 KiB.
    package static let unpinnedFrame = 4 * 1024
    /// Payload of a frame on a local socket and on a pinned link (LIM-1): the largest channel limit twice over.
    package static let frame = 512 * 1024
    /// Body of `message`, `messageData` and `reply` (LIM-2): WCSession's payload limit.
    package static let messageBody = 65_536
    /// Body of a user info, urgent ones too (LIM-2): WCSession's.
    package static let userInfoBody = 65_536
    /// Body of a context (LIM-2): WCSession's.
    package static let contextBody = 262_144
    /// The body that describes a file: its name, size and metadata (LIM-2).
    package static let fileDescription = 65_536
    /// The bytes of a file's name (LIM-30): what Linux allows.
    package static let fileName = 255
    /// The bytes of the largest file (LIM-30): 1 TiB.
    package static let file: Int64 = 1 << 40

    /// Time for a frame's header once its first byte is there (LIM-3): a slow header is an attack or a dead peer.
    package static let headerTime = Duration.seconds(10)
    /// Slowest payload in bytes per second (LIM-3).
    package static let payloadRate = 1024
    /// Device connections whose peer is not pinned yet (LIM-4): strangers must not crowd out paired devices.
    package static let unpinnedConnections = 256
    /// Connections of one pin that are not links yet (LIM-52): an old one, a new one, and their repetition.
    package static let unlinkedConnections = 4
    /// Payload of a frame of a pinned peer before its hello was judged (LIM-52): a hello names each queue.
    package static let helloFrame = 128 * 1024
    /// Time from accept to the first valid frame (LIM-4).
    package static let firstFrameTime = Duration.seconds(10)
    /// Local connections of one daemon (LIM-5): bounded by descriptors, far above use.
    package static let localConnections = 1024
    /// Bytes waiting for one connection (LIM-6): eight of the largest frames.
    package static let queuedBytes = 4 * 1024 * 1024
    /// Bytes of an app waiting for its daemon (LIM-6): as many answers as a link may wait for (LIM-7), each of 64 KiB.
    package static let queuedBytesForDaemon = 64 * 1024 * 1024
    /// Bytes that wait because the apps of all users do not read (LIM-48): one user gets at most half.
    package static let queuedBytesOfApps = 64 * 1024 * 1024
    /// Bytes of large frames that all users' connections have begun (LIM-70): one user gets at most half.
    package static let begunBytesOfApps = 16 * 1024 * 1024
    /// Bytes that wait because peers do not read their links (LIM-49).
    package static let queuedBytesOfLinks = 64 * 1024 * 1024

    /// Bytes of apps' messages in a link's own queue, behind which others wait for their turn (LIM-60).
    package static let linkBacklog = 64 * 1024
    /// The same while nothing waits and the system takes them (LIM-60): one reading of a connection.
    package static let linkBurst = 256 * 1024
    /// Bytes of one app's turn at a link (LIM-61).
    package static let turnBytes = 16 * 1024
    /// Bytes waiting for a link above which their app is not read (LIM-62).
    package static let waitingBytesOfApp = 128 * 1024
    /// Bytes that the system takes for a TCP connection ahead of sending them (LIM-63).
    package static let unsentBytes = 128 * 1024

    /// Pairings of an app up to which each change is reported at once (LIM-19).
    package static let pairingsReportedAtOnce = 8
    /// Beyond them, the pause after a `state` for each pairing in it (LIM-19).
    package static let restPerPairing = Duration.microseconds(250)
    /// Entries of `state` and announcements in one turn, after which those of further apps wait for the next one
    /// (LIM-19).
    package static let stateEntriesAtOnce = 1000

    /// Requests of one host app that wait for replies, and messages without reply of one session that wait for the
    /// daemon to read (LIM-7): bounded memory.
    package static let openRequests = 1024
    /// Withdrawals of one session that are under way at once (LIM-132): a quarter of LIM-7, so that its other questions
    /// have room.
    package static let withdrawalsUnderWay = 256
    /// Lists of outstanding items that one session asks for at once: half of what a daemon answers of one connection
    /// (LIM-24), so that an app's own questions beside them find room.
    package static let listsUnderWay = 4
    /// Requests that wait for replies in a daemon (LIM-53): a user, or a link, gets at most half.
    package static let openRequestsInAll = 131_072
    /// Unknown keys of one envelope that are kept (LIM-23).
    package static let extensions = 64
    /// Deliveries of broadcasts whose failure can still find its sender (LIM-21).
    package static let rememberedDeliveries = 65_536
    /// Shortest and longest deadline of a caller (LIM-8): no caller waits for ever.
    package static let deadline = Duration.milliseconds(1)...Duration.milliseconds(deadlineMilliseconds)
    /// The longest deadline of a caller as the wire counts it (LIM-8).
    package static let deadlineMilliseconds: Int64 = 600_000
    /// Deadline of a caller that names none (LIM-8).
    package static let standardDeadlineMilliseconds: UInt32 = 30_000
    /// The same as a duration.
    package static let standardDeadline = Duration.milliseconds(standardDeadlineMilliseconds)
    /// The longest `wait` of a control request (LIM-139).
    package static let controlWait = Duration.seconds(3600)
    /// Silence after which a ping is sent (LIM-9): with ``heartbeatsUntilDead`` a black hole is seen within 15 s.
    package static let heartbeat = Duration.seconds(5)
    /// Silent heartbeat intervals after which a link is dead (LIM-9).
    package static let heartbeatsUntilDead = 3

    /// Applications of one device (LIM-11): they are announced after each hello.
    package static let applications = 256
    /// From an app's activation, and from its first receiver or handler, until it has registered them all (LIM-33).
    package static let startingTime = Duration.seconds(1)
    /// Bytes of a PEM text (LIM-160): of the longest key set in base64 with line ends, and the two lines around it.
    package static let pem = 24_576
    /// Names that an app provides (LIM-32): all of them are reported for each pairing.
    package static let providedNames = 16
    /// Bytes of one of these names (LIM-32).
    package static let providedName = 64
    /// Bytes of an app's name for people (LIM-107).
    package static let applicationName = 128
    /// Bytes of an app's version for people (LIM-107).
    package static let applicationVersion = 64
    /// Bytes of the name of an app's icon (LIM-107).
    package static let applicationIcon = 255
    /// A topic or a key of the envelope (LIM-37): a name, not data.
    package static let shortText = 128
    /// A command or a name of the envelope (LIM-155): a word.
    package static let envelopeText = 256
    /// The name and version of a peer's program in its hello (LIM-156): for people.
    package static let software = 128
    /// Text of a peer in a log line or an error (LIM-13).
    package static let peerText = 128
    /// Bytes of the text about an error, and of its path, in a `failure` or a `verdict` (LIM-148).
    package static let errorText = 4096
    /// Durable items waiting on one channel of one application (LIM-14); then `queue-full`.
    package static let queuedItems = 10_000
    /// Bytes of the items waiting on one channel of one application (LIM-14), and of its dead letters (LIM-25).
    package static let queuedItemBytes = 64 * 1024 * 1024
    /// Records of all queues of one pairing, in each direction (LIM-38): ten full queues.
    package static let pairingRecords = 100_000
    /// Bytes of their bodies (LIM-38): eight full queues.
    package static let pairingBytes = 512 * 1024 * 1024
    /// Records of all queues of one user's apps, over all pairings (LIM-38): some 100 MiB of memory.
    package static let userRecords = 250_000
    /// Bytes of their bodies (LIM-38).
    package static let userBytes = 1024 * 1024 * 1024
    /// Items of one page of outstanding ones, and of one question to follow some (LIM-40).
    package static let pageItems = 512
    /// Ends of one queue that a daemon keeps until the app acknowledges them (LIM-24).
    package static let unacknowledgedEnds = 10_000
    /// Ends that are sent ahead of `finishedAck` (LIM-41).
    package static let endsAhead = 256
    /// The least time from the beginning of a link in which the other device announces its apps (LIM-44).
    package static let introduction = Duration.seconds(1)
    /// The time without a link after which a secondary reports a failed attempt (LIM-143). A peer that is restarted in
    /// order takes some seconds (SES-18), and is no news.
    package static let unlinkedPatience = Duration.seconds(10)
    /// Events that show two daemons with one key: returns of earlier runs, or links of one dialler that were replaced
    /// (LIM-144). A single one may be a link that was made just before a restart, or a new epoch.
    package static let sharedKeyEvents = 3
    /// The time for which such an event counts, and for which a link lasts that ends the series (LIM-144): twice the
    /// longest wait between two attempts (SES-19), so that two daemons which both wait that long are still seen.
    package static let sharedKeyMemory = Duration.seconds(60)
    /// Bytes of durable delivery under way on one link (LIM-46): two of the largest contexts, a second of a slow line.
    package static let linkWindow = 513 * 1024
    /// The same on a line that carries more (LIM-76): one of 5 MB/s and 400 ms is full.
    package static let longLinkWindow = 2 * 1024 * 1024
    /// Bytes behind which the sender asks how far the peer has read (LIM-46).
    package static let linkMark = 64 * 1024
    /// Attempts at delivering a durable item before it is a dead letter (LIM-15).
    package static let deliveryAttempts = 5
    /// The last epoch of a pairing (LIM-133): one for each store that is restored, and far below what a store, a
    /// statement of a carrier or another language can hold.
    package static let lastEpoch: UInt64 = 4_294_967_295
    /// The epochs of a pairing.
    package static let epochs = 1...lastEpoch
    /// The highest stored number from which this device counts on. No counter reaches it: a higher one is damage, and
    /// counting on from it would overflow, first in the form of its row and then in memory.
    package static let lastCount: UInt64 = 1 << 62
}
