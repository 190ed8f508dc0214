// The connection to the daemon: made, greeted, kept alive, lost. A lost one is replaced by the machine's decision only.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
package import TandemTransport
package import TandemWire

extension SessionCore {
    func connect() {
        dialer.dial { [weak self] stream in
            guard let self else { return }
            guard let stream else { return lost() }
            let channel = FrameChannel(stream: stream)
            channel.delegate = self
            self.channel = channel
            isDaemonLeaving = false
            channel.start()
        }
    }

    func disconnect() {
        dialer.cancel()
        if let heartbeatTimer { scheduler.cancel(heartbeatTimer) }
        (heartbeat, heartbeatTimer) = (nil, nil)
        outbox = []
        inbox.forgetRequests()
        closing = channel
        channel = nil
        closing?.closeAfterFlush()
    }

    /// The connection that was ended has given its last bytes to the system.
    private func flushed() {
        closing = nil
        let waiting = whenEnded
        whenEnded = []
        for completion in waiting { completion() }
    }

    func lost() { perform(machine.lost(now: scheduler.now, random: random())) }

    /// The daemon broke the protocol: it is told why, and dialled again later.
    func refuse(_ refusal: Refusal) {
        if let envelope = try? refusal.envelope() { send(envelope) }
        lost()
    }

    // MARK: sending

    func send(_ envelope: Envelope) {
        guard let channel, let frame = try? envelope.frame() else { return }
        channel.send(frame)
    }

    func send(_ hello: Hello) {
        if let envelope = try? Envelope(.hello).with(body: hello.body) { send(envelope) }
    }

    func send(_ registration: TandemSession.Registration) {
        let envelope = Envelope(.register, app: settings.application)
        if let envelope = try? envelope.with(body: registration.body) { send(envelope) }
    }

    // MARK: heartbeat

    private func startHeartbeat() {
        heartbeat = Heartbeat(now: scheduler.now)
        watchHeartbeat(after: Heartbeat.interval)
    }

    private func watchHeartbeat(after wait: Duration) {
        heartbeatTimer = scheduler.schedule(after: wait) { [weak self] in self?.heartbeatTimerFired() }
    }

    private func heartbeatTimerFired() {
        heartbeatTimer = nil
        guard let action = heartbeat?.timerFired(now: scheduler.now) else { return }
        switch action {
        case .wait(let wait): watchHeartbeat(after: wait)
        case .ping(let wait):
            send(Envelope(.ping, id: .random()))
            watchHeartbeat(after: wait)
        case .dead: lost()
        }
    }
}

extension SessionCore: FrameChannelDelegate {
    package func channelDidOpen(_ channel: FrameChannel) {
        guard channel === self.channel else { return }
        startHeartbeat()
        perform(machine.connected())
    }

    package func channel(_ channel: FrameChannel, didReceive frame: Frame) {
        guard channel === self.channel else { return }
        heartbeat?.heard(now: scheduler.now)
        do throws(WireError) {
            try received(Envelope(reading: frame))
        } catch {
            refuse(Refusal(error))
        }
    }

    package func channelDidDrain(_ channel: FrameChannel) {
        if channel === self.channel { drainOutbox() }
    }

    package func channel(_ channel: FrameChannel, didCloseWith reason: CloseReason) {
        if channel === closing { flushed() }
        guard channel === self.channel else { return }
        self.channel = nil
        lost()
    }
}
