// Back-pressure inside one device: while a receiver's queue is congested, the host apps that send to it are not read.
// Not for ever: a receiver that never reads must not silence apps that have others to talk to, so after a moment they
// are read again, and what does not fit the receiver's quota (LIM-6) fails. Links are never held back: they carry other
// apps too.

import TandemReactor

/// Who is held back because one receiver is congested, and how many receivers hold back this connection itself. A
/// class, because reading on may deliver frames that come back here at once.
final class Congestion {
    /// How long senders wait for a receiver (LIM-17): time for a busy process to be scheduled and read a full queue.
    static var patience: Duration { .seconds(1) }

    private var held: [RelayPort] = []
    private var timer: TimerToken?
    private var isPatienceOver = false
    private var holders = 0

    /// `sender` has just sent to the receiver whose congestion this is.
    func hold(_ sender: RelayPort, _ scheduler: any Scheduler) {
        guard case .application = sender.source, !isPatienceOver, !sender.isClosed,
            !held.contains(where: { $0 === sender })
        else { return }
        held.append(sender)
        sender.congestion.holders += 1
        if sender.congestion.holders == 1 { sender.endpoint.pauseReading() }
        guard timer == nil else { return }
        timer = scheduler.schedule(after: Self.patience) { [weak self] in self?.patienceEnded() }
    }

    /// The receiver has drained, or is gone.
    func end(_ scheduler: any Scheduler) {
        if let timer { scheduler.cancel(timer) }
        timer = nil
        isPatienceOver = false
        release()
    }

    private func patienceEnded() {
        timer = nil
        isPatienceOver = true
        release()
    }

    private func release() {
        let released = held
        held = []
        for sender in released {
            sender.congestion.holders -= 1
            if sender.congestion.holders == 0, !sender.isClosed { sender.endpoint.resumeReading() }
        }
    }
}
