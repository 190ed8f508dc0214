// Console output: results to standard output, everything else to standard error, each line written at once so that a
// reader of a pipe sees it. Colour appears only on a terminal and never with NO_COLOR.

import Glibc
import TandemPropertyList

/// The command's two outputs.
struct Console: Sendable {
    /// Whether standard output may hold colours.
    let isColoured: Bool

    init() {
        let forbids = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
        isColoured = !forbids && isatty(STDOUT_FILENO) == 1
    }

    /// Writes a line to standard output.
    func print(_ line: String = "") { Self.write(line + "\n", to: STDOUT_FILENO) }

    /// Writes text to standard output as it is.
    func write(_ text: String) { Self.write(text, to: STDOUT_FILENO) }

    /// Writes a line to standard error.
    func warn(_ line: String) { Self.write(line + "\n", to: STDERR_FILENO) }

    /// A reader that went away is no error of ours: what cannot be written is dropped.
    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, written))
        }
    }
}

extension Console {
    /// Prints a value as one line of JSON.
    func print(json value: PropertyListValue) { print(PropertyListJSON.text(value)) }
}
