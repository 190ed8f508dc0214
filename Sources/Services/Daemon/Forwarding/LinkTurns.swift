// Turns of apps at a link (SES-67). While a link takes no more, the frames of its apps wait here and not in its queue:
// each app in its turn hands over some, and the relay does not read an app with much that waits. A frame that waits has
// certainly not left (SES-11).

import TandemBase
import TandemOperations
import TandemReactor
import TandemSession
import TandemWire

/// The frames that wait for one link; confined to the relay's loop.
final class LinkTurns {
    enum Purpose {
        case request
        case answer
        case broadcast
    }

    struct Waiting {
        let frame: Frame
        let id: UniqueIdentifier
        let purpose: Purpose
    }

    private let scheduler: any Scheduler
    private var queue = TurnQueue<ApplicationNumber, Waiting>(total: Limits.queuedBytes, turn: Limits.turnBytes)
    /// Apps with so much waiting that their connections are not read.
    private var held: [ApplicationNumber: Backpressure] = [:]

    init(_ scheduler: any Scheduler) { self.scheduler = scheduler }

    var isEmpty: Bool { queue.isEmpty }

    var byteCount: Int { queue.byteCount }

    func hasRoom(for size: Int, of app: ApplicationNumber) -> Bool { queue.hasRoom(for: size, of: app) }

    /// Keeps a copy: the frame lies in memory that all connections read into.
    func append(
        _ frame: RawSpan, _ id: UniqueIdentifier, _ purpose: Purpose, of app: ApplicationNumber, from origin: RelayPort
    ) {
        let waiting = Waiting(frame: Frame(copying: frame), id: id, purpose: purpose)
        queue.append(waiting, size: frame.byteCount, of: app)
        guard queue.byteCount(of: app) > Limits.waitingBytesOfApp else { return }
        let pressure = held[app] ?? Backpressure()
        held[app] = pressure
        pressure.hold(origin, scheduler)
    }

    /// Frames have left the link: those that wait for their turn do not wait for a stuck peer.
    func linkMoved() {
        for pressure in held.values { pressure.progressed() }
    }

    /// Takes the next frame in turn. An app of which enough has left is read again.
    func next() -> (app: ApplicationNumber, waiting: Waiting)? {
        guard let next = queue.next() else { return nil }
        if let pressure = held[next.owner], queue.byteCount(of: next.owner) <= Limits.waitingBytesOfApp / 2 {
            held[next.owner] = nil
            pressure.end(scheduler)
        }
        return (next.owner, next.element)
    }
}
