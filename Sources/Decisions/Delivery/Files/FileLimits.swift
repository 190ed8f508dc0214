// The limits of files, each with its reason; tests make them small.

import TandemWire

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
    /// The body that describes a file, metadata included (LIM-30): what userInfo may be.
    package var manifest = 65_536
    /// The bytes of a file's name (LIM-30): what Linux allows.
    package var name = 255
    /// The largest file (LIM-30): 1 TiB.
    package var size: Int64 = 1 << 40
    /// Space that a file leaves free (LIM-31): the store must be able to write how it ended.
    package var reserve: Int64 = 64 << 20
    /// Files that apps of one device hand over at once (LIM-31): bounded memory.
    package var uploads = 16
    /// A receiver to which nothing came for this long requests again (LIM-31): twice a dead link's time.
    package var silence = Duration.seconds(30)
    /// Files of one app that wait for their turn, and the bytes that describe them (LIM-14).
    package var waiting = Limits.queuedItems
    package var waitingBytes = Limits.queuedItemBytes
    /// Bytes of the files that one user's apps have handed over and that the peer has not stored (LIM-43), beyond one file.
    package var spooled: Int64 = 64 << 30
    /// Bytes of the files that came through one pairing and were not handled (LIM-43), beyond one file.
    package var received: Int64 = 64 << 30
    /// The shortest time between two progress reports: as fast as an eye follows.
    package var progressInterval = Duration.milliseconds(100)

    package init() {}
}
