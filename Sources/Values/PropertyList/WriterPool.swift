// Idle writers, for the next caller: their memory is what makes writing cheap, and passing one along in every API would
// show the host app what it does not need to know. A few are kept, so that as many threads never wait for memory, and
// none that has grown large.

import Synchronization

/// Where idle writers wait.
enum WriterPool {
    /// Larger writers are given back to the system, in bytes.
    private static let largest = 1 << 20

    private static let idle = Mutex(Slots())

    private struct Slots: ~Copyable {
        var first: TreeWriter?
        var second: TreeWriter?
        var third: TreeWriter?
    }

    /// An idle writer, if there is one; the caller's alone until it puts it back.
    static func take() -> TreeWriter? {
        idle.withLock { idle in
            if let writer = idle.first.take() { return writer }
            if let writer = idle.second.take() { return writer }
            return idle.third.take()
        }
    }

    /// Gives a writer to the next caller.
    static func put(_ writer: consuming TreeWriter) {
        guard writer.size <= largest else { return }
        var rest: TreeWriter? = writer
        idle.withLock { idle in
            if idle.first == nil {
                idle.first = rest.take()
            } else if idle.second == nil {
                idle.second = rest.take()
            } else if idle.third == nil {
                idle.third = rest.take()
            }
        }
    }
}
