// One ready device link: frames of one pairing, both ways, inside TLS. It sends, answers heartbeats and sees when the
// peer is gone. What a frame means is for others; a forwarded frame is handed on as the bytes it came in.

package import TandemBase
package import TandemCrypto
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
    package let peerPin: KeyIdentifier
    /// What the peer said in its hello.
    package let peer: PeerGreeting
    package let agreement: HelloAgreement
    /// Where the peer is, for logs and status.
    package var peerAddress: PeerDescription { channel.frames.peer }
    package let readySince: MonotonicTime

    private let context: LinkContext
    private let channel: SecuredChannel
    /// Its frames, for who forwards, and paces what it forwards: what is sent after the end of the link is dropped there too.
    package let frames: FrameChannel
    private var heartbeat: Heartbeat
    private var heartbeatTimer: TimerToken?
    private var isOver = false
    /// Told before the delegate; the dialler's.
    var onClose: ((LinkCloseReason) -> Void)?
    /// Who takes messages and their answers as they are; set when the link becomes ready, let go when it is over.
    package var forwarder: (any LinkForwarder)?

    init(
        record: PairingRecord, peer: PeerGreeting, agreement: HelloAgreement, channel: SecuredChannel,
        context: LinkContext
    ) {
        pairing = record.pairing
        role = record.role
        peerPin = record.peer
        self.peer = peer
        self.agreement = agreement
        self.channel = channel
        frames = channel.frames
        self.context = context
        readySince = context.scheduler.now
        heartbeat = Heartbeat(now: context.scheduler.now)
    }

    /// Takes the channel over from the opening and tells the device. Called once.
    func begin() {
        channel.allowLargeFrames()
        channel.frames.delegate = self
        context.links.insert(self)
        context.handshakeEnded()
        beat()
        context.log(LogEvent(.info, "link ready", fields: fields))
        context.delegate?.linkDidBecomeReady(self)
    }

    // MARK: sending

    /// Queues an envelope of this device's own making; it leaves at the end of the turn. Nothing after the end.
    package func send(_ envelope: Envelope) {
        guard !isOver else { return }
        channel.send(envelope)
    }

    // MARK: ending

    /// Says `bye` and closes when all that was queued has left. The delegate hears of it before this returns.
    package func end(_ name: ByeName) {
        guard !isOver else { return }
        channel.bye(name)
        finish(.ended(name))
    }

    /// Refuses something that the peer sent, and closes. The delegate hears of it before this returns.
    package func refuse(_ name: RefusalName, _ text: String) {
        guard !isOver else { return }
        channel.refuse(name, text)
        finish(.refused(name, text))
    }

    /// The peer has said why it ends the link.
    func farewell(_ reason: LinkCloseReason) {
        channel.end(reason)
        finish(reason)
    }

    var delegate: (any LinkDelegate)? { context.delegate }

    private func finish(_ reason: LinkCloseReason) {
        guard !isOver else { return }
        isOver = true
        if let heartbeatTimer { context.scheduler.cancel(heartbeatTimer) }
        context.links.remove(self)
        context.log(LogEvent(.info, "link closed", fields: fields + [.outside("reason", "\(reason)")]))
        onClose?(reason)
        onClose = nil
        forwarder = nil
        context.delegate?.link(self, didCloseWith: reason)
    }

    private var fields: [LogField] {
        [.text("pairing", "\(pairing)"), .outside("peer", peer.name), .text("address", "\(peerAddress)")]
    }

    // MARK: heartbeat

    /// One turn of the heartbeat's timer.
    private func beat() {
        switch heartbeat.timerFired(now: context.scheduler.now) {
        case .wait(let time): schedule(time)
        case .ping(let time):
            send(Envelope(.ping))
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
}

extension Link: FrameChannelDelegate {
    package func channelDidOpen(_ channel: FrameChannel) {}

    package func channel(_ frames: FrameChannel, didReceive frame: Frame) {
        guard !isOver else { return }
        heartbeat.heard(now: context.scheduler.now)
        if let forwarder, let head = EnvelopeHead(plain: frame), isForwarded(head) {
            if let name = forwarder.receive(frame, head) { refuse(name, "in \(head.kind.rawValue)") }
        } else {
            read(frame)
        }
    }

    package func channelDidDrain(_ channel: FrameChannel) {
        if !isOver { context.delegate?.linkDidDrain(self) }
    }

    package func channel(_ frames: FrameChannel, didCloseWith reason: CloseReason) {
        finish(channel.reason(for: reason))
    }
}
