// One open event stream: a bounded buffer between what is sent and what the browser reads.

/// A stream of text to one browser; confined to its loop's thread.
final class EventStream {
    private let limit: Int
    /// The bytes not yet read, and no others: a browser that always leaves some would let read ones grow.
    private var pending: [UInt8] = []
    private(set) var isEnded = false
    /// Called when there is something to read, or the end, after nothing was left.
    var onReady: () -> Void = {}
    /// Called once, when the browser is gone or the stream was ended.
    var onEnd: () -> Void = {}

    /// - Parameter limit: bytes that wait for a browser that does not read.
    init(limit: Int) { self.limit = limit }

    /// Sends a text; a browser that has not read so many bytes before is let go.
    func send(_ text: String) {
        guard !isEnded else { return }
        guard pending.count + text.utf8.count <= limit else { return end() }
        pending += text.utf8
        onReady()
    }

    func end() {
        guard !isEnded else { return }
        isEnded = true
        onReady()
    }

    /// Moves the next bytes to a buffer and returns their count; 0 if there are none now.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, pending.count)
        pending.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        pending.removeFirst(count)
        return count
    }

    /// The browser reads no more.
    func close() {
        isEnded = true
        onReady = {}
        onEnd()
        onEnd = {}
    }
}
