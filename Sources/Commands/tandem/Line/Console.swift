// Console output: results to standard output, everything else to standard error, each line written at once so that a
// reader of a pipe sees it. A reader that went away is no error: the rest is dropped. Any other fault makes the command
// fail, such as a full disk, or an output that was closed before the start. Colour appears only on a terminal and never
// with NO_COLOR.

import Glibc
import Synchronization
import TandemControl
import TandemOperations
import TandemPropertyList

/// The command's two outputs.
struct Console: Sendable {
    /// Whether standard output may hold colours.
    let isColoured: Bool

    init() {
        let forbids = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
        isColoured = !forbids && isatty(STDOUT_FILENO) == 1
    }

    func print(_ line: String = "") { write(line + "\n") }

    func write(_ text: String) {
        if Self.isOutputMissing.load(ordering: .relaxed) { return Self.fault.store(EBADF, ordering: .relaxed) }
        if !LocalFile.write(Array(text.utf8), to: STDOUT_FILENO) { Self.fault.store(errno, ordering: .relaxed) }
    }

    /// Writes a line to standard output that is no result: nobody may read it, and no fault of it fails the command.
    func announce(_ line: String) { _ = LocalFile.write(Array((line + "\n").utf8), to: STDOUT_FILENO) }

    /// Whether the process was started without standard output, in whose place something else is open now.
    private static let isOutputMissing = Atomic<Bool>(false)

    /// The process was started without standard output: every result fails.
    static func noteMissingOutput() { isOutputMissing.store(true, ordering: .relaxed) }

    /// The error number of the last write to standard output that failed; 0 for none.
    private static let fault = Atomic<CInt>(0)

    /// Why a result has not been written; nil if all of it has, or its reader went away.
    static var failure: CommandFailure? {
        let fault = fault.load(ordering: .relaxed)
        guard fault != 0, fault != EPIPE else { return nil }
        let reason = fault == EBADF ? "standard output is closed" : String(cString: strerror(fault))
        return .refused("cannot write the result: \(reason)")
    }

    /// Where the output is no terminal.
    static let plainColumns = 80

    static func columns(of descriptor: CInt) -> Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return plainColumns }
        return Int(size.ws_col)
    }

    static var columns: Int { columns(of: STDOUT_FILENO) }

    /// Writes a line to standard error.
    func warn(_ line: String) { _ = LocalFile.write(Array((line + "\n").utf8), to: STDERR_FILENO) }

    /// Prints a value that is nowhere else once it is printed: if that fails, the process ends before the value counts
    /// as handled.
    func handOver(json value: PropertyListValue) {
        print(json: value)
        guard Self.fault.load(ordering: .relaxed) != 0 else { return }
        if let failure = Self.failure { warn("tandem: \(failure.text)") }
        exit(1)
    }

    func print(json value: PropertyListValue) { print(PropertyListJSON.text(value)) }

    /// Prints an answer as one line of JSON, with its identifiers as text.
    func print(json facts: Fact) { print(json: Fact.plain(.dictionary(facts.body))) }
}
