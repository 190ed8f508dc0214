// Whether what SQLite leaves out of its log is a commit that a crash cut off, or damage. SQLite drops everything from the first
// page on whose checksum is wrong, without a word: one flipped bit would take back what was acknowledged. But each commit is
// synchronised before the next is begun, so a page that follows the end of another commit proves that one to have been whole.
// What it cannot know is a flipped bit in the very last commit: that looks as if the power had failed in it.

/// How the log ends.
enum LogEnd: Equatable {
    /// Everything in it is used.
    case whole
    /// Its end is part of a commit that was never acknowledged, and is not used.
    case cutOff
    /// A commit that was whole is not used: the first byte of what is damaged.
    case damaged(at: Int)

    /// Looks at the log of the store at `path`.
    static func ofLog(of path: String) -> LogEnd {
        guard let reading = LogReading(path: path + "-wal"),
            let header = reading.next(LogHeader.size).flatMap(LogHeader.init)
        else { return .whole }
        return header.isWhole ? ofPages(reading, header) : ofDamagedHeader(reading, header)
    }

    /// A header is synchronised before the pages that it is for. Without them it is a beginning that was cut off, and what
    /// follows it is of an earlier turn and in the store's file.
    private static func ofDamagedHeader(_ reading: borrowing LogReading, _ header: LogHeader) -> LogEnd {
        guard let head = reading.next(LogFrame.headSize).map(LogFrame.init) else { return .cutOff }
        return head.salts == header.salts || header.isWhole(with: head.salts) ? .damaged(at: 0) : .cutOff
    }

    private static func ofPages(_ reading: borrowing LogReading, _ header: LogHeader) -> LogEnd {
        var sum = header.checksum
        var place = LogHeader.size
        while let frame = reading.nextFrame(pageSize: header.pageSize) {
            let next = frame.sum(after: sum, header)
            guard frame.salts == header.salts, frame.checksum == next else {
                return proves(frame, sum: next, reading, header) ? .damaged(at: place) : .ofLeftOut(frame, header)
            }
            sum = next
            place += LogFrame.headSize + header.pageSize
        }
        return .whole
    }

    /// Pages of an earlier turn of the log lie behind every commit of this one.
    private static func ofLeftOut(_ frame: LogFrame, _ header: LogHeader) -> LogEnd {
        frame.salts == header.salts ? .cutOff : .whole
    }

    /// Whether behind the first page that is not used there is the end of a commit, and right behind it what was written next.
    /// - Parameter sum: what the first page's checksum should be.
    private static func proves(
        _ first: LogFrame, sum: LogChecksum, _ reading: borrowing LogReading, _ header: LogHeader
    ) -> Bool {
        // The flipped bit may be in the checksum itself: then what follows was summed from what it should be.
        var before = first
        var sums = [first.checksum, sum]
        while let frame = reading.nextFrame(pageSize: header.pageSize) {
            let follows =
                frame.salts == header.salts && sums.contains { frame.sum(after: $0, header) == frame.checksum }
            if follows, before.endsCommit { return true }
            before = frame
            sums = [frame.checksum]
        }
        return false
    }
}
