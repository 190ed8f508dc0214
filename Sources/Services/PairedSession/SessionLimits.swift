// Limits of what an app sends, for an app that has to know them before it sends. The figures are those of the constants
// that the checks use, and LIM-n are the clauses of Protocol/Limits.md.

import TandemWire

/// The largest contents that a session takes; beyond a limit a call fails and sends nothing.
///
/// Sizes are in bytes. That of a dictionary is the size of its encoding (`PropertyListWriter.write(_:).count`), which
/// is what the error's ``SessionError/actual`` says. A dictionary's keys, depth and number of values have bounds of
/// their own: ``PropertyListLimits`` (LIM-12).
public struct SessionLimits: Sendable {
    /// A message and a reply, dictionaries and bytes (LIM-2); beyond it 7009.
    public let message = Limits.messageBody
    /// A user info, urgent ones too (LIM-2); beyond it 7009.
    public let userInfo = Limits.userInfoBody
    /// A context (LIM-2); beyond it 7009.
    public let context = Limits.contextBody
    /// A file's metadata with its name and size, which are sent as one dictionary (LIM-2); beyond it 7009. The encoding
    /// takes about 100 bytes besides metadata and name.
    public let fileDescription = Limits.fileDescription
    /// The UTF-8 of a file's name (LIM-30); beyond it 7008.
    public let fileName = Limits.fileName
    /// A file (LIM-30); beyond it 7008. Its devices also need the room for it.
    public let file = Limits.file
    /// The UTF-8 of a topic, a supersede key and the kind of an urgent item (LIM-37); beyond it 7008.
    public let topic = Limits.shortText
    /// The items that wait for one device on one channel (LIM-14); beyond it 7001 `queue-full`.
    public let waitingItems = Limits.queuedItems
    /// The total bytes of these items (LIM-14); both limits apply. Beyond it 7001 `queue-full`.
    public let waitingBytes = Limits.queuedItemBytes
    /// The messages of one app that wait for a reply (LIM-7); beyond it 7001 `too-many-requests`.
    public let openMessages = Limits.openRequests
    /// The time that a caller may wait for a reply (LIM-8); beyond it 7008.
    public let timeout = Limits.deadline

    init() {}
}

extension PairedSession {
    /// The largest contents that a session takes.
    public static let limits = SessionLimits()
}
