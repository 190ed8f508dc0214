// Ready device link: frames of one pairing, both ways, inside TLS. It sends, answers heartbeats and notices when the
// peer is gone. Messages and their answers, nearly all that a link carries, are forwarded by their head alone, as the
// bytes they came in, when they have the shape that every writer makes. A frame that is faulty or merely unusual is
// read in full, so that each refusal has one place.

package import TandemBase
import TandemPairing
import TandemReactor
package import TandemSession
package import TandemTransport
package import TandemWire

/// A link to one paired device; confined to the loop's thread. Alive until its stream has closed.
package final class Link {
    /// The pairing it carries; no other can travel on it.
    package let pairing: UniqueIdentifier
    /// This device's part in the pairing.
    package let role: DeviceRole
    /// The facts of the peer's hello.
    package let peer: PeerGreeting
    package let agreement: HelloAgreement
    /// Where the peer is, for logs and status.
    package var peerAddress: PeerDescription { channel.frames.peer }
    package let readySince: MonotonicTime

    private let context: LinkContext
    private var clocks: LinkClocks
    private let channel: SecuredChannel
    /// For the forwarder, which paces its sending by them. Frames sent after the end of the link are dropped.
    package let frames: FrameChannel
    // Unchecked, here and of the forwarder, because nothing is called while they are touched: each frame does.
    @exclusivity(unchecked) private var heartbeat: Heartbeat
    private var heartbeatTimer: TimerToken?
    private var isOver = false
    /// The last question to the peer that it has not answered.
    private var question: (id: UniqueIdentifier, answered: () -> Void)?
    /// Called before the host; the dialer's.
    var whenClosed: ((LinkCloseReason) -> Void)?
    /// Forwards messages and their answers; set when the link becomes ready, released when it is over.
    @exclusivity(unchecked) package var forwarder: (any LinkForwarder)?

    init(
        record: PairingRecord, peer: PeerGreeting, clocks: LinkClocks, agreement: HelloAgreement,
        channel: SecuredChannel, context: LinkContext
    ) {
        pairing = record.pairing
        role = record.role
        self.peer = peer
        self.clocks = clocks
        self.agreement = agreement
        self.channel = channel
        frames = channel.frames
        self.context = context
        readySince = context.scheduler.now
        heartbeat = Heartbeat(now: context.scheduler.now)
    }

    /// Takes the channel over from the opening. Called once.
    func begin() {
        channel.allowLargeFrames()
        channel.frames.delegate = self
        context.links.insert(self)
        context.handshakeEnded()
        beat()
        context.log(LogEvent(.info, "link ready", fields: fields))
        context.host?.linkDidBecomeReady(self)
    }

    // MARK: sending

    /// The bytes of the frames of this device's own making. The forwarder counts those that it sends.
    package var sentBytes: UInt64 { channel.sentBytes }

    /// The bytes that wait for the peer.
    package var queuedBytes: Int { frames.queuedBytes }

    /// The link has ended in order: everything that was queued may still leave.
    package var isFlushing: Bool { channel.isFlushing }

    /// Queues a frame of this device's own making; it leaves at the end of the turn. Ignored after the end.
    package func send(_ frame: some TypedFrame) {
        guard !isOver else { return }
        channel.send(frame)
    }

    /// Asks the peer by a `ping`. `answered` is called once, when its `pong` comes: what the peer sent before is here
    /// then. Not after the end of the link, nor if another question follows.
    package func ask(then answered: @escaping () -> Void) {
        guard !isOver else { return }
        let id = UniqueIdentifier.random()
        question = (id, answered)
        send(PingFrame(id: id))
    }

    // MARK: ending

    /// Says `bye` and closes when all queued frames have left. The host learns of it before this returns.
    package func end(_ name: ByeName) {
        guard !isOver else { return }
        channel.bye(name)
        finish(.ended(name))
    }

    /// Refuses a frame of the peer, and closes. The host learns of it before this returns.
    package func refuse(_ name: RefusalName, _ text: String) {
        guard !isOver else { return }
        channel.refuse(name, text)
        finish(.refused(name, text))
    }

    private func finish(_ reason: LinkCloseReason) {
        guard !isOver else { return }
        isOver = true
        question = nil
        if let heartbeatTimer { context.scheduler.cancel(heartbeatTimer) }
        context.links.remove(self)
        context.log(LogEvent(.info, "link closed", fields: fields + [.outside("reason", "\(reason)")]))
        whenClosed?(reason)
        whenClosed = nil
        forwarder = nil
        context.host?.link(self, didCloseWith: reason)
    }

    private var fields: [LogField] {
        [.text("pairing", "\(pairing)"), .outside("peer", peer.name), .text("address", "\(peerAddress)")]
    }

    // MARK: heartbeat and clocks

    /// How far the peer's wall clock is ahead of ours now (CTL-10); nil if it has told none.
    package var clockSkew: Duration? { clocks.skew(at: context.reading) }

    /// One turn of the heartbeat's timer. It comes at least once in an interval, also while frames do, and so it is the
    /// time to look at our own clock: a frame of the hot path never does.
    private func beat() {
        switch heartbeat.timerFired(now: context.scheduler.now) {
        case .wait(let time):
            if let clock = clocks.takeOwed(at: context.reading) { send(PingFrame(clock: clock)) }
            schedule(time)
        case .ping(let time):
            send(PingFrame(clock: clocks.takeOwed(at: context.reading)))
            schedule(time)
        case .dead:
            channel.cut(.noHeartbeat)
            finish(.noHeartbeat)
        }
    }

    private func schedule(_ time: Duration) {
        // Strong: the end of the link cancels it, and a weak reference would make each count of references slow.
        heartbeatTimer = context.scheduler.schedule(after: time) { [self] in
            if !isOver { beat() }
        }
    }

    // MARK: receiving

    /// Whether the frame goes to the forwarder. A failure about an item has no head. Another pairing's frame does not:
    /// the full reading refuses it (FRM-13).
    private func isForwarded(_ head: EnvelopeHead) -> Bool {
        switch head.kind {
        case .message, .messageData, .reply, .failure: head.pairing == pairing
        default: false
        }
    }

    private func read(_ frame: Frame) {
        do throws(WireError) {
            let envelope = try Envelope(reading: frame)
            received(envelope, in: frame)
        } catch {
            refuse(error.refusalName, "\(error)")
        }
    }

    private func answer(_ ping: PingFrame) {
        if let clock = ping.clock { clocks.heard(clock, at: context.scheduler.now) }
        send(ping.answer)
    }

    private func answered(_ pong: Envelope, in frame: Frame) {
        guard let id: UniqueIdentifier = pong[.id] else { return }
        guard let question, question.id == id else {
            context.host?.link(self, didReceive: pong, in: frame)
            return
        }
        self.question = nil
        question.answered()
    }

    private func received(_ envelope: Envelope, in frame: Frame) {
        switch envelope.kind {
        case .ping: answer(PingFrame(envelope))
        case .pong: answered(envelope, in: frame)
        case .bye, .refusal:
            let reason = SecuredChannel.farewell(envelope)
            channel.end(reason)
            finish(reason)
        case .application: context.host?.link(self, didReceive: envelope, in: frame)
        default:
            guard envelope.kind.mayBeSent(by: .link) else {
                return refuse(.unexpected, "a frame of kind '\(envelope.kind.rawValue)' has no place on a ready link")
            }
            // The reader of a `query` or an `answer` refuses one without it; every other kind has it (FRM-10).
            guard envelope[.pairing] ?? pairing == pairing else {
                return refuse(.notYours, Refusal.text(foreign: .pairing, in: envelope.kind))
            }
            context.host?.link(self, didReceive: envelope, in: frame)
        }
    }
}

extension Link: FrameChannelDelegate {
    package func channelDidOpen(_ channel: FrameChannel) {}

    package func channel(_ frames: FrameChannel, didReceive frame: Frame) {
        guard !isOver else { return }
        heartbeat.received(now: context.scheduler.now)
        if let forwarder, let head = EnvelopeHead(plain: frame), isForwarded(head), forwarder.receive(frame, head) {
            return
        }
        read(frame)
    }

    package func channelDidDrain(_ channel: FrameChannel) {
        if !isOver { context.host?.linkDidDrain(self) }
    }

    package func channel(_ frames: FrameChannel, didCloseWith reason: CloseReason) {
        finish(channel.reason(for: reason))
    }
}

/// Forwards frames of a ready link by their heads; on the loop's thread. The relay's port conforms.
package protocol LinkForwarder: AnyObject {
    /// Takes a `message` of the link's own pairing, or an answer to one.
    /// - Returns: false if it was left to the full reading.
    func receive(_ frame: Frame, _ head: EnvelopeHead) -> Bool
}
