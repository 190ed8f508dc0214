// Progress of a file on one line of a terminal: a bar, the share, the bytes and the rate. It is never wider than the
// terminal, because a wrapped line cannot be overwritten.

import Glibc
import PairedSession
import TandemBase
import TandemOperations
import TandemReactor

/// The text of a progress bar.
struct ProgressLine {
    let label: String
    let done: Int64
    let total: Int64
    /// Since the first byte.
    let elapsed: Duration

    private static let largestBar = 40

    /// At most `width` columns; without a bar where it has no room. The label gives way first.
    func text(width: Int) -> String {
        let numbers = "\(percent)  \(Self.size(done)) of \(Self.size(total))  \(rate)"
        let room = width - numbers.count
        guard room > 0 else { return String(percent.prefix(max(0, width))) }
        let shown = TextColumns.beginning(of: label[...], within: min(24, room - 14))
        let bar = min(Self.largestBar, room - TextColumns.count(of: shown) - 4)
        guard bar >= 6 else { return numbers }
        let head = shown.isEmpty ? "" : "\(shown) "
        let filled = total > 0 ? Int(Double(bar) * Double(done) / Double(total)) : bar
        return head + "[" + String(repeating: "#", count: min(bar, filled))
            + String(repeating: ".", count: bar - min(bar, filled)) + "] " + numbers
    }

    private var percent: String {
        let percent = total > 0 ? Int(Double(min(done, total)) * 100 / Double(total)) : 100
        return String(repeating: " ", count: max(0, 3 - "\(percent)".count)) + "\(percent)%"
    }

    private var rate: String {
        let seconds = Double(elapsed.saturatingMilliseconds) / 1000
        return seconds > 0 ? Self.size(Int64(Double(done) / seconds)) + "/s" : "-"
    }

    /// Three digits and a unit, as people say it.
    static func size(_ bytes: Int64) -> String {
        var value = Double(bytes)
        var unit = 0
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        while value >= 1000, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        guard unit > 0, value < 99.95 else { return "\(Int(value.rounded())) \(units[unit])" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}

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
        write("\r" + line.text(width: Console.columns(of: STDERR_FILENO) - 1) + "\u{1B}[K")
    }

    func clear() { if isTerminal { write("\r\u{1B}[K") } }

    /// Time since the bar was made.
    var elapsed: Duration { Linux.bootTime.since(began) }

    private func write(_ text: String) { _ = LocalFile.write(Array(text.utf8), to: STDERR_FILENO) }
}
