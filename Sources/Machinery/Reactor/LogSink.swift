// Writes log events to a descriptor that others may share (standard error), one write for each line so that lines never
// mix. A reader that does not keep up must not stop the service: a line that would block is dropped and counted, and
// the next line that is written reports the count.

internal import Synchronization
package import TandemBase

/// The log of a process; any thread.
package final class LogSink: Sendable {
    /// A longer line would not be written in one piece to a pipe.
    package static var longestLine: Int { 4096 }

    private let descriptor: CInt
    /// systemd's journal reads the lines: it has its own clock, and finds lines by a number for their level.
    private let isJournal: Bool
    /// The raw value of the lightest level that is written.
    private let threshold: Atomic<UInt8>
    /// Dropped lines that no line has reported yet.
    private let unreported = Atomic<UInt64>(0)

    /// Writes events of at least this level to a descriptor that stays open, and stays the caller's.
    /// - Parameter journal: the stream that the journal reads, as the variable JOURNAL_STREAM names it.
    package init(lending descriptor: CInt, threshold: LogLevel = .info, journal: String? = nil) {
        self.descriptor = descriptor
        isJournal = journal != nil && journal == (try? Linux.status(of: descriptor)).map { "\($0.device):\($0.inode)" }
        self.threshold = Atomic(threshold.rawValue)
    }

    /// Writes events of at least this level from now on.
    package func setThreshold(_ level: LogLevel) { threshold.store(level.rawValue, ordering: .relaxed) }

    /// The sink as a closure for those who log.
    package var handler: LogHandler { { self.write($0) } }

    /// The priority in front of a line of this level (CTL-65); empty where no journal reads it.
    package func mark(of level: LogLevel) -> String { isJournal ? "<\(level.priority)>" : "" }

    /// Writes the event, or drops it.
    package func write(_ event: LogEvent) {
        guard event.level.rawValue >= threshold.load(ordering: .relaxed) else { return }
        let lost = unreported.exchange(0, ordering: .relaxed)
        if lost > 0, !writeLine(of: LogEvent(.warning, "log lines dropped", .integer("count", lost))) {
            unreported.wrappingAdd(lost, ordering: .relaxed)
        }
        if !writeLine(of: event) { unreported.wrappingAdd(1, ordering: .relaxed) }
    }

    private func writeLine(of event: LogEvent) -> Bool {
        write(line: isJournal ? mark(of: event.level) + "\(event)" : event.line(at: Linux.wallTime))
    }

    /// Writes a line, or drops it: where it would block, where the process has closed the descriptor, and where the
    /// reader has gone.
    /// - Returns: whether it was written.
    @discardableResult
    package func write(line: String) -> Bool {
        var bytes = Array(line.utf8.prefix(Self.longestLine - 1))
        bytes.append(UInt8(ascii: "\n"))
        // Not O_NONBLOCK: that would change the descriptor for every process that shares it. A pipe that is writable
        // has room for a line of this length.
        guard Linux.isWritable(descriptor) else { return false }
        return bytes.withUnsafeBytes { bytes in (try? Linux.write(descriptor, bytes)) == .bytes(bytes.count) }
    }
}

extension LogLevel {
    /// As syslog(3) counts.
    fileprivate var priority: Int {
        switch self {
        case .debug: 7
        case .info: 6
        case .warning: 4
        case .error: 3
        }
    }
}
