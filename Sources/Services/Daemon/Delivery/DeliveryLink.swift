// Link as durable delivery uses it (DEL-27): frames wait for room in the link's window and in its queue, first come
// first served. Each queue has at most one frame waiting here, so that the queues of a link take turns.

import TandemBase
import TandemDelivery
import TandemReactor
import TandemWire

/// A ready link of one pairing; confined to its loop.
final class DeliveryLink {
    /// Outlets to the link.
    struct Path {
        let send: (Envelope) -> Void
        /// Bytes that wait in the link's own queue, of messages too.
        let queuedBytes: () -> Int
    }

    /// The assumed size of a frame without its body.
    static var frameSize: Int { 512 }

    /// The channels that both ends know.
    let channels: Set<Channel>
    private let path: Path
    private let scheduler: any Scheduler
    private var window = LinkWindow()
    private var waiting: [(size: Int, proceed: () -> Void)] = []
    private var isClosed = false
    private var isRetryDue = false

    init(_ path: Path, channels: Set<Channel>, scheduler: any Scheduler) {
        self.path = path
        self.channels = channels
        self.scheduler = scheduler
    }

    /// Reserves room for a frame, now or later, then calls back: ``send(_:reserved:)`` or ``giveBack(_:)`` follows. A
    /// link that closes calls back as well.
    func whenRoom(for size: Int, _ proceed: @escaping () -> Void) {
        if isClosed || (waiting.isEmpty && reserve(size)) { return proceed() }
        waiting.append((size, proceed))
    }

    /// Sends a frame; nothing on a closed link.
    func send(_ envelope: Envelope, reserved size: Int) {
        guard !isClosed else { return }
        path.send(envelope)
        guard let marker = window.sent(size) else { return }
        path.send(PingFrame(id: UniqueIdentifier(high: 0, low: marker)).envelope)
    }

    /// The frame does not leave after all.
    func giveBack(_ size: Int) {
        window.giveBack(size)
        resume()
    }

    /// The peer has read everything before this marker.
    func answered(_ marker: UniqueIdentifier) {
        guard marker.high == 0 else { return }
        window.answered(marker.low)
        resume()
    }

    /// The link's own queue has drained.
    func drained() { resume() }

    /// The link is gone, and what waits goes nowhere.
    func close() {
        isClosed = true
        let waited = waiting
        waiting = []
        for entry in waited { entry.proceed() }
    }

    private func resume() {
        while let first = waiting.first, reserve(first.size) {
            waiting.removeFirst()
            first.proceed()
        }
    }

    /// Whether the link's own queue has room. Half of its quota (LIM-6) stays for messages and answers.
    private func hasQuota(for size: Int) -> Bool { path.queuedBytes() + size <= Limits.queuedBytes / 2 }

    private func reserve(_ size: Int) -> Bool {
        guard hasQuota(for: size) else {
            retryAfterFlush()
            return false
        }
        return window.reserve(size)
    }

    /// A burst of one turn may leave at its end without a drain event, so the queue is looked at once more. A queue
    /// that is still too long is above the stream's high mark, and its drain event calls ``drained()``.
    private func retryAfterFlush() {
        guard !isRetryDue else { return }
        isRetryDue = true
        scheduler.schedule(after: .milliseconds(1)) { [weak self] in
            guard let self else { return }
            isRetryDue = false
            if let first = waiting.first, hasQuota(for: first.size) { resume() }
        }
    }
}
