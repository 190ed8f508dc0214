// Link as durable delivery uses it (DEL-27): frames wait for room in the link's window and in its queue, first come
// first served. Each queue has at most one frame waiting here, so that the queues of a link take turns.

import TandemBase
import TandemDelivery
import TandemReactor
import TandemWire

/// A ready link of one pairing; confined to its loop.
final class DeliveryLink {
    struct Path {
        let send: (Envelope) -> Void
        /// Bytes that wait in the link's own queue, of messages too.
        let queuedBytes: () -> Int
    }

    private typealias Waiting = (size: Int, proceed: () -> Void)

    /// The assumed size of a frame without its body.
    static var frameSize: Int { 512 }

    /// The channels that both ends know.
    let channels: Set<Channel>
    private let path: Path
    private let scheduler: any Scheduler
    private var window = LinkWindow()
    /// Frames with bodies, and small ones: these pass the bodies, which a slow line makes wait for seconds.
    private var waiting = (bodies: [Waiting](), small: [Waiting]())
    private(set) var isOpen = true
    private var isRetryDue = false

    init(_ path: Path, channels: Set<Channel>, scheduler: any Scheduler) {
        self.path = path
        self.channels = channels
        self.scheduler = scheduler
    }

    /// Reserves room for a frame, now or later, then calls back: ``send(_:reserved:)`` or ``giveBack(_:)`` follows. A
    /// link that closes calls back as well.
    func whenRoom(for size: Int, _ proceed: @escaping () -> Void) {
        let hasBody = size > Self.frameSize
        let isNext = waiting.small.isEmpty && (!hasBody || waiting.bodies.isEmpty)
        if !isOpen || (isNext && reserve(size)) { return proceed() }
        if hasBody { waiting.bodies.append((size, proceed)) } else { waiting.small.append((size, proceed)) }
    }

    /// Sends a small frame as soon as there is room for it, then calls back. A link that closes drops it.
    func send(_ envelope: Envelope, then done: @escaping () -> Void) {
        whenRoom(for: Self.frameSize) { [self] in
            send(envelope, reserved: Self.frameSize)
            done()
        }
    }

    /// Sends small frames one after the other, each as soon as there is room for it, then calls back. A link that
    /// closes drops the others.
    /// - Parameter next: makes the next frame; nil after the last one.
    func send(each next: @escaping () -> Envelope?, then done: @escaping () -> Void) {
        // A loop while there is room: the stack would grow with the frames.
        while isOpen, let envelope = next() {
            guard waiting.small.isEmpty, reserve(Self.frameSize) else {
                return whenRoom(for: Self.frameSize) { [self] in
                    send(envelope, reserved: Self.frameSize)
                    send(each: next, then: done)
                }
            }
            send(envelope, reserved: Self.frameSize)
        }
        done()
    }

    /// Sends a frame; nothing on a closed link.
    func send(_ envelope: Envelope, reserved size: Int) {
        guard isOpen else { return }
        path.send(envelope)
        guard let marker = window.sent(size, marker: .random(), at: scheduler.now) else { return }
        path.send(PingFrame(id: marker).envelope)
    }

    /// The frame does not leave after all.
    func giveBack(_ size: Int) {
        window.giveBack(size)
        resume()
    }

    /// The peer has read everything before this marker.
    func answered(_ marker: UniqueIdentifier) {
        window.answered(marker, at: scheduler.now)
        resume()
    }

    /// The link's own queue has drained.
    func drained() { resume() }

    /// The link is gone, and what waits goes nowhere.
    func close() {
        isOpen = false
        let waited = waiting.small + waiting.bodies
        waiting = ([], [])
        for entry in waited { entry.proceed() }
    }

    private func resume() {
        while let first = waiting.small.first, reserve(first.size) { waiting.small.removeFirst().proceed() }
        while waiting.small.isEmpty, let first = waiting.bodies.first, reserve(first.size) {
            waiting.bodies.removeFirst().proceed()
        }
    }

    /// Whether the link's own queue has room. Half of its quota (LIM-6) stays for messages and answers.
    private func hasQuota(for size: Int) -> Bool { path.queuedBytes() + size <= Limits.queuedBytes / 2 }

    private func reserve(_ size: Int) -> Bool {
        guard hasQuota(for: size) else {
            retryAfterFlush()
            return false
        }
        return window.reserve(size, hasBody: size > Self.frameSize)
    }

    /// A burst of one turn may leave at its end without a drain event, so the queue is looked at once more. A queue
    /// that is still too long is above the stream's high mark, and its drain event calls ``drained()``.
    private func retryAfterFlush() {
        guard !isRetryDue else { return }
        isRetryDue = true
        scheduler.schedule(after: .milliseconds(1)) { [weak self] in
            guard let self else { return }
            isRetryDue = false
            if let first = waiting.small.first ?? waiting.bodies.first, hasQuota(for: first.size) { resume() }
        }
    }
}
