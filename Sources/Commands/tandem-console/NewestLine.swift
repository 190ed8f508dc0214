// Output of the console, on a separate thread while a line waits: a pipe that nobody reads and a terminal that is
// held take nothing for as long as they like, and must keep no browser and no signal waiting. The descriptor is shared
// with other programs, so it stays as blocking as it was.

import Glibc
import Synchronization
import TandemReactor

/// A descriptor that gets lines, of which the newest alone matters; from any thread.
final class NewestLine: Sendable {
    private struct State {
        var waiting: [UInt8]?
        var isWriting = false
        var hasWritten = false

        /// The line that waits; without one the writing ends.
        mutating func next() -> [UInt8]? {
            let line = waiting
            (waiting, isWriting) = (nil, line != nil)
            return line
        }
    }

    private let descriptor: CInt
    private let onFailure: @Sendable (SystemError, Bool) -> Void
    private let state = Mutex(State())

    /// - Parameter onFailure: takes why a line was not written, and whether none had been before; on the thread that
    ///   writes, or that of the caller if there can be none.
    init(descriptor: CInt, onFailure: @escaping @Sendable (SystemError, Bool) -> Void) {
        self.descriptor = descriptor
        self.onFailure = onFailure
    }

    /// Writes a text as soon as the descriptor takes it, in place of one that waits.
    func put(_ text: String) {
        let line = Array(text.utf8)
        let mustStart = state.withLock { (state) -> Bool in
            let mustStart = !state.isWriting
            (state.waiting, state.isWriting) = (line, true)
            return mustStart
        }
        guard mustStart else { return }
        do throws(SystemError) {
            try LoopThread(named: "tandem-output") { self.run() }.detach()
        } catch {
            state.withLock { ($0.waiting, $0.isWriting) = (nil, false) }
            failed(error)
        }
    }

    private func run() {
        while let line = state.withLock({ $0.next() }) {
            if let error = deliver(line) { failed(error) } else { state.withLock { $0.hasWritten = true } }
        }
    }

    private func failed(_ error: SystemError) { onFailure(error, !state.withLock { $0.hasWritten }) }

    private func deliver(_ line: [UInt8]) -> SystemError? {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes -> Int in
                let count = write(descriptor, bytes.baseAddress, bytes.count)
                return count < 0 ? -Int(errno) : count
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count == -Int(EAGAIN) {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wanted, 1, -1)
            } else if count != -Int(EINTR) {
                return SystemError(call: "write", errno: count < 0 ? CInt(-count) : EIO)
            }
        }
        return nil
    }
}
