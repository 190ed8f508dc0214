// Items that wait for the end of another one (DEL-22). Whether that one has ended is asked when the item is accepted,
// when the other ends, and whenever queues were read back from their rows: then it may be unknown, and nobody waits for
// it any more.

import TandemBase
import TandemDelivery

extension ItemExchange {
    /// Whether the item is known in any queue of the application and has not durably ended.
    func unfinished(_ id: UniqueIdentifier, of app: ApplicationIdentifier, in pairing: UniqueIdentifier) -> Bool {
        for lane in lanes(of: app, in: pairing) {
            guard let record = lane.machine.record(of: id) else { continue }
            if record.isUnfinished { return true }
            guard !lane.isIdle else { return false }
            // Its end may be lost with a commit that fails: asked again when that is known.
            lane.perform({ _ in LaneAnswer() }) { [weak self] result in
                guard case .success = result else { return }
                self?.endedDurably(id, of: app, in: pairing)
            }
            return true
        }
        return false
    }

    /// The item has ended: what waits for it goes on.
    func release(_ id: UniqueIdentifier, of app: ApplicationIdentifier, in pairing: UniqueIdentifier) {
        let reading = reading
        for lane in lanes(of: app, in: pairing) where lane.machine.isAwaiting(id) {
            lane.perform { $0.released(id, at: reading).answer }
        }
    }

    /// What was known of the item before the last commit is durable now.
    private func endedDurably(_ id: UniqueIdentifier, of app: ApplicationIdentifier, in pairing: UniqueIdentifier) {
        if lanes(of: app, in: pairing).contains(where: { $0.machine.isUnfinished(id) }) { return }
        release(id, of: app, in: pairing)
    }

    private func reconsider(_ id: UniqueIdentifier, of app: ApplicationIdentifier, in pairing: UniqueIdentifier) {
        if !unfinished(id, of: app, in: pairing) { release(id, of: app, in: pairing) }
    }

    /// Asks again for everything that an application's queues wait for.
    func reconsiderBarriers(of app: ApplicationIdentifier, in pairing: UniqueIdentifier) {
        for lane in lanes(of: app, in: pairing) {
            for id in lane.machine.awaited { reconsider(id, of: app, in: pairing) }
        }
    }
}
