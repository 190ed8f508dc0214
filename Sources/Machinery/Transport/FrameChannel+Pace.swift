// The channel's timers. One timer follows unfinished frames lazily: it is set when a frame stays unfinished after a read
// and not cancelled when the frame completes, so that the usual case, frames that come whole, never touches it, and an
// idle channel has none.

internal import TandemIdentity
internal import TandemReactor
internal import TandemWire

extension FrameChannel {
    /// Sets the timer if an unfinished frame is here and none runs.
    func watchPace() {
        guard phase != .closed, !paceTimer.isSet, let deadline = pace.deadline else { return }
        setPaceTimer(at: deadline)
    }

    private func setPaceTimer(at deadline: MonotonicTime) {
        paceTimer.token = scheduler.schedule(after: deadline.since(scheduler.now)) { [self] in judgePace() }
    }

    private func judgePace() {
        paceTimer.token = nil
        guard phase != .closed, !isReadingPaused else { return }
        switch pace.judge(now: scheduler.now) {
        case .idle: break
        case .judgeAgain(let time): setPaceTimer(at: time)
        case .tooSlow: refuse(Refusal(.tooSlow, "a frame came too slowly"), .frameTooSlow)
        }
    }

    /// Closes a peer that says nothing whole in time (LIM-4).
    func watchForFirstFrame(within time: Duration) {
        firstFrameTimer.token = scheduler.schedule(after: time) { [self] in
            refuse(Refusal(.tooSlow, "nothing whole came in time"), .frameTooSlow)
        }
    }
}
