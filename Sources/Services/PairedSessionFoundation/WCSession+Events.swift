// How the delegate is reached: from one serial queue, and for what arrived with a label that says through which pairing
// it came. After a switch, what the former counterpart had sent before is still delivered under its own label.

import Foundation
import PairedSession
public import TandemBase
import TandemReactor
import TandemWire

extension WCSession {
    /// Through which pairing came what the delegate is being given; nil outside of a receiving callback. To be read in
    /// the callback, on its queue.
    public var deliveringPairing: UniqueIdentifier? { labels.current }

    /// Something has arrived that the delegate has not been given yet.
    public var hasContentPending: Bool { labels.pending > 0 || pairedSession?.hasContentPending == true }

    func observe(_ session: PairedSession) {
        session.handle.run { [weak self] core in
            guard let self else { return }
            let feed = DelegateFeed(self, core)
            core.onEvent = { feed.happened($0) }
            core.receive { feed.arrived($0) }
            observeTransfers(core, feed)
            let scheduler = core.scheduler
            core.deliverArrivals = { [weak self] done in
                guard let self else { return done() }
                let done = LoopBound(done, to: scheduler)
                // Behind everything that the queue has to deliver.
                callbacks.async { scheduler.submit { done.value() } }
            }
        }
    }

    /// Calls the delegate from the callback queue.
    func tell(_ callback: @escaping @Sendable (WCSession, any WCSessionDelegate) -> Void) {
        callbacks.async { [self] in
            guard let delegate else { return }
            callback(self, delegate)
        }
    }

    /// Gives the delegate what arrived, labelled with its pairing, from the callback queue.
    /// - Parameter callback: nil for the delegate if there is none.
    func tellArrival(
        from pairing: UniqueIdentifier, _ callback: @escaping @Sendable (WCSession, (any WCSessionDelegate)?) -> Void
    ) {
        changePending(by: 1)
        callbacks.async { [self] in
            labels.set(pairing)
            callback(self, delegate)
            labels.set(nil)
            changePending(by: -1)
        }
    }

    /// Counts what has arrived and waits for the delegate.
    func changePending(by change: Int) { labels.change(by: change) }
}
