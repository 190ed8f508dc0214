// Lines that are there at once, also for a reader at the other end of a pipe.

import Glibc

enum Output {
    /// What the app shows.
    static func show(_ line: String) { write(line, to: STDOUT_FILENO) }

    /// What went wrong.
    static func complain(_ line: String) { write(line, to: STDERR_FILENO) }

    private static func write(_ line: String, to descriptor: Int32) {
        let bytes = Array("\(line)\n".utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }
}
