// The sender's half of the bytes on one link (FIL-6, FIL-7): the receiver pulls, and each of its words opens the window
// again. Files take turns, one chunk each, and share a window of the link's own, so that ten files queue no more ahead of
// a message than one does. Nothing is remembered of a link that is gone: the receiver knows where to go on.

import TandemWire

/// The files that the peer pulls over one link.
package struct FileSender: Sendable {
    /// Bytes to read and send now. Answer with ``FileSender/read(_:)`` when they were read.
    package struct Part: Sendable, Equatable {
        package let file: FileKey
        package let offset: Int64
        package let count: Int
    }

    private struct Transfer {
        let size: Int64
        /// Everything before this has been asked past.
        var acknowledged: Int64
        /// The next byte to send.
        var next: Int64
        /// Parts being read; those of before a restart too, so that no peer can queue reads without end.
        var reading = 0

        var inFlight: Int64 { next - acknowledged }
    }

    private let limits: FileLimits
    private var transfers: [FileKey: Transfer] = [:]
    /// The order of turns; the first one is next.
    private var turns: [FileKey] = []

    package init(limits: FileLimits = FileLimits()) { self.limits = limits }

    /// The receiver wants the file from this offset on: everything before it is written there. A restart forgets what
    /// was sent past it.
    /// - Returns: false for an offset that the file does not have.
    package mutating func wanted(_ file: FileKey, size: Int64, from offset: Int64, isRestart: Bool) -> Bool {
        guard (0...size).contains(offset) else { return false }
        if var transfer = transfers[file] {
            if isRestart { transfer.next = offset }
            // An older word that comes late says nothing new.
            transfer.acknowledged = isRestart ? offset : max(transfer.acknowledged, min(offset, transfer.next))
            transfers[file] = transfer
        } else {
            transfers[file] = Transfer(size: size, acknowledged: offset, next: offset)
            turns.append(file)
        }
        return true
    }

    /// The next part to read and send; nil if the windows are full or everything has been sent.
    package mutating func nextPart() -> Part? {
        let inFlight = transfers.values.reduce(0) { $0 + $1.inFlight }
        for (place, file) in turns.enumerated() {
            guard var transfer = transfers[file] else { continue }
            let count = min(Int64(limits.chunk), transfer.size - transfer.next)
            guard count > 0, transfer.inFlight + count <= limits.window, inFlight + count <= limits.linkWindow,
                transfer.reading < limits.window / limits.chunk
            else { continue }
            let part = Part(file: file, offset: transfer.next, count: Int(count))
            transfer.next += count
            transfer.reading += 1
            transfers[file] = transfer
            turns.append(turns.remove(at: place))
            return part
        }
        return nil
    }

    /// A part was read.
    /// - Returns: whether it may still be sent: not after the file ended, nor if a restart came meanwhile.
    package mutating func read(_ part: Part) -> Bool {
        guard var transfer = transfers[part.file] else { return false }
        transfer.reading -= 1
        transfers[part.file] = transfer
        return part.offset >= transfer.acknowledged && part.offset < transfer.next
    }

    /// How much of the file has arrived.
    package func acknowledged(_ file: FileKey) -> Int64? { transfers[file]?.acknowledged }

    /// The file is stored, or will not be sent any more.
    package mutating func ended(_ file: FileKey) {
        transfers[file] = nil
        turns.removeAll { $0 == file }
    }
}
