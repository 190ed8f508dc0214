// Frame channel to the daemon: one connection at a time with its heartbeat, and the frames that wait while the daemon
// does not read.

import TandemBase
import TandemReactor
import TandemSession
import TandemTransport
import TandemWire

/// A frame that leaves in the order of the calls.
struct Outgoing {
    let id: UniqueIdentifier
    let frame: Frame
    /// The pairing whose loss by a switch ends it; nil for what is bound to a pairing.
    private(set) var follows: UniqueIdentifier?
    /// Until when it may wait for the daemon to read; nil if another table ends it.
    private(set) var deadline: MonotonicTime?
    /// Makes the frame that leaves after a wait; nil: its deadline came first.
    private(set) var renewed: (() -> Frame?)?
    /// Called once: when it was sent, or with the reason why it never will be.
    private(set) var sent: Completion<[UInt8]>?
}

/// One session's way to its daemon; confined to the session's scheduler.
final class DaemonChannel {
    enum Event {
        case opened
        case received(Frame)
        /// No daemon answered, or the connection ended.
        case lost
        /// The connection ended by bytes of the daemon that are no frame; it got the reason.
        case broken(WireError)
    }

    /// Answers, verdicts, chunks and questions go past `queue`, to the channel's own: while the daemon does not read
    /// (LIM-17, LIM-62) they wait there. A peer that asks too fast must not fill the app's memory with their answers:
    /// beyond the quota the connection ends and is dialled again (LIM-6).
    private static let options = FrameChannelOptions(queueQuota: Limits.queuedBytesForDaemon)

    private let dialer: any Dialer
    private let scheduler: any Scheduler
    private var onEvent: (Event) -> Void = { _ in }
    private var channel: FrameChannel?
    /// The former channel, until the system has its last bytes.
    private var closing: FrameChannel?
    private var whenFlushed: [() -> Void] = []
    private var heartbeat: Heartbeat?
    private var heartbeatTimer = PendingTimer()
    private var queue: [Outgoing] = []
    /// Differs for each connection: an answer is only good on the connection that its message came on.
    private(set) var number: UInt64 = 0
    /// The daemon has accepted the registration: the application's frames may leave.
    private(set) var isRegistered = false

    init(dialer: any Dialer, scheduler: any Scheduler) {
        self.dialer = dialer
        self.scheduler = scheduler
    }

    func connect(_ onEvent: @escaping (Event) -> Void) {
        self.onEvent = onEvent
        dialer.dial { [weak self] stream in
            guard let self else { return }
            guard let stream else { return onEvent(.lost) }
            let channel = FrameChannel(stream: stream, options: Self.options)
            channel.delegate = self
            self.channel = channel
            number += 1
            channel.start()
        }
    }

    func registered() { isRegistered = true }

    /// Why the last attempt found no daemon.
    var dialFailure: String? { dialer.failure }

    /// Ends the connection once all sent frames have left. Queued frames stay queued.
    func disconnect() {
        dialer.cancel()
        heartbeatTimer.cancel(on: scheduler)
        heartbeat = nil
        isRegistered = false
        closing = channel ?? closing
        channel = nil
        closing?.closeAfterFlush()
    }

    /// Calls back when the system has the last bytes of the connection that was ended; at once without one.
    func afterFlush(_ completion: @escaping () -> Void) {
        if closing == nil { completion() } else { whenFlushed.append(completion) }
    }

    // MARK: sending

    /// Sends now, ahead of what waits; dropped without a connection.
    func send(_ frame: some TypedFrame) {
        if let frame = try? frame.frame() { send(frame) }
    }

    /// Sends what is written already; likewise.
    func send(_ frame: Frame) { channel?.send(frame) }

    /// Sends the frame, behind those that wait for the daemon to read.
    func enqueue(_ outgoing: Outgoing) {
        guard let channel, !channel.isCongested, queue.isEmpty else { return queue.append(outgoing) }
        channel.send(outgoing.frame)
        outgoing.sent?(.success([]))
    }

    /// Whether the daemon reads too slowly for what was sent to it.
    var isBlocked: Bool { channel?.isBlocked ?? true }

    /// Ends the frames that have waited too long.
    func endDue() {
        let due = queue.filter { $0.deadline.map { $0 <= scheduler.now } ?? false }
        guard !due.isEmpty else { return }
        queue.removeAll { $0.deadline.map { $0 <= scheduler.now } ?? false }
        for outgoing in due { outgoing.sent?(.failure(.neverRead(outgoing.id))) }
    }

    private func drain() {
        endDue()
        let waiting = queue
        queue = []
        for outgoing in waiting {
            guard let channel, !channel.isCongested, queue.isEmpty else {
                queue.append(outgoing)
                continue
            }
            var frame: Frame? = outgoing.frame
            if let renewed = outgoing.renewed { frame = renewed() }
            guard let frame else { continue }
            channel.send(frame)
            outgoing.sent?(.success([]))
        }
    }

    /// Drops the frames of one item that wait.
    func removeQueued(_ id: UniqueIdentifier) { queue.removeAll { $0.id == id } }

    /// Ends the frames that wait and follow this pairing.
    func removeQueued(following pairing: UniqueIdentifier) -> [Outgoing] {
        let removed = queue.filter { $0.follows == pairing }
        queue.removeAll { $0.follows == pairing }
        return removed
    }

    /// Ends all frames that wait.
    func removeAllQueued() -> [Outgoing] {
        defer { queue = [] }
        return queue
    }

    // MARK: heartbeat

    private func watchHeartbeat(after wait: Duration) {
        heartbeatTimer.token = scheduler.schedule(after: wait) { [weak self] in self?.heartbeatTimerFired() }
    }

    private func heartbeatTimerFired() {
        heartbeatTimer.token = nil
        guard let action = heartbeat?.timerFired(now: scheduler.now) else { return }
        switch action {
        case .wait(let wait): watchHeartbeat(after: wait)
        case .ping(let wait):
            send(PingFrame(id: .random()))
            watchHeartbeat(after: wait)
        case .dead: onEvent(.lost)
        }
    }
}

extension DaemonChannel: FrameChannelDelegate {
    func channelDidOpen(_ channel: FrameChannel) {
        guard channel === self.channel else { return }
        heartbeat = Heartbeat(now: scheduler.now)
        watchHeartbeat(after: Heartbeat.interval)
        onEvent(.opened)
    }

    func channel(_ channel: FrameChannel, didReceive frame: Frame) {
        guard channel === self.channel else { return }
        heartbeat?.received(now: scheduler.now)
        onEvent(.received(frame))
    }

    func channelDidDrain(_ channel: FrameChannel) {
        if channel === self.channel { drain() }
    }

    func channel(_ channel: FrameChannel, didCloseWith reason: CloseReason) {
        if channel === closing {
            closing = nil
            let waiting = whenFlushed
            whenFlushed = []
            for completion in waiting { completion() }
        }
        guard channel === self.channel else { return }
        self.channel = nil
        if case .invalidFrame(let fault) = reason { onEvent(.broken(fault)) } else { onEvent(.lost) }
    }
}
