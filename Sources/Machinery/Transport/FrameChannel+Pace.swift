// The channel's timers. One timer follows unfinished frames lazily: it is set when a frame stays unfinished after a
// read and not cancelled when the frame completes, so that the usual case, frames that come whole, never touches it,
// and an idle channel has none.

internal import TandemBase
internal import TandemReactor
internal import TandemWire

extension FrameChannel {
    /// What a channel holds while there is something to wait for: an object of its own, so that an idle channel, and
    /// one whose frames always come whole, does not carry it. Once a frame came in parts it stays.
    final class Watch {
        /// Unchecked, because no method of it calls out.
        @exclusivity(unchecked) var pace: FramePace
        var paceTimer = PendingTimer()
        var firstFrameTimer = PendingTimer()

        init(_ options: FrameChannelOptions) { pace = FramePace(options) }

        func cancel(on scheduler: any Scheduler) {
            paceTimer.cancel(on: scheduler)
            firstFrameTimer.cancel(on: scheduler)
        }
    }

    /// A frame was completed while there is a watch.
    func completed(_ watch: Watch) {
        watch.pace.completed(leaving: decoder.bufferedCount, now: scheduler.now)
        guard watch.firstFrameTimer.isSet else { return }
        watch.firstFrameTimer.cancel(on: scheduler)
        // Most peers begin with a small frame, and never send one in parts.
        if !watch.paceTimer.isSet { self.watch = nil }
    }

    /// Sets the timer if an unfinished frame is here and none runs.
    func watchPace() {
        guard phase != .closed, let watch = watch ?? watchUnfinished() else { return }
        if !watch.paceTimer.isSet, let deadline = watch.pace.deadline { setPaceTimer(of: watch, at: deadline) }
    }

    private func watchUnfinished() -> Watch? {
        guard decoder.bufferedCount > 0 else { return nil }
        let made = Watch(options)
        made.pace.gained(decoder.bufferedCount, now: scheduler.now)
        watch = made
        return made
    }

    private func setPaceTimer(of watch: Watch, at deadline: MonotonicTime) {
        watch.paceTimer.token = scheduler.schedule(after: deadline.since(scheduler.now)) { [self] in judgePace(watch) }
    }

    private func judgePace(_ watch: Watch) {
        watch.paceTimer.token = nil
        guard phase != .closed, !isReadingPaused else { return }
        switch watch.pace.judge(now: scheduler.now) {
        case .idle: break
        case .judgeAgain(let time): setPaceTimer(of: watch, at: time)
        case .tooSlow: refuse(Refusal(.tooSlow, "a frame came too slowly"), .frameTooSlow)
        }
    }

    /// Closes a peer that says nothing whole in time (LIM-4).
    func watchForFirstFrame(within time: Duration) {
        let watch = Watch(options)
        self.watch = watch
        watch.firstFrameTimer.token = scheduler.schedule(after: time) { [self] in
            refuse(Refusal(.tooSlow, "nothing whole came in time"), .frameTooSlow)
        }
    }
}
