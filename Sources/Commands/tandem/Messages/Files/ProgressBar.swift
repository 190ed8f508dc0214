// The bar on a terminal: drawn over itself on standard error, and only there. A program that reads our output, and a
// log, see nothing of it.

import Glibc
import PairedSession
import TandemBase
import TandemReactor

/// Draws how far a file is, until `clear`.
struct ProgressBar {
    private let label: String
    private let isTerminal: Bool
    private let began = Linux.bootTime

    init(label: String) {
        self.label = Printable.text(label)
        isTerminal = isatty(STDERR_FILENO) == 1
    }

    func draw(_ progress: FileTransferProgress) {
        guard isTerminal else { return }
        let isTransferring = progress.transferred > 0
        let line = ProgressLine(
            label: isTransferring ? label : "reading " + label,
            done: isTransferring ? progress.transferred : progress.handedOver, total: progress.total,
            elapsed: Linux.bootTime.since(began))
        write("\r" + line.text(width: Self.width - 1) + "\u{1B}[K")
    }

    func clear() { if isTerminal { write("\r\u{1B}[K") } }

    /// What has passed since the bar was made.
    var elapsed: Duration { Linux.bootTime.since(began) }

    private static var width: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
