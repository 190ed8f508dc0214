// Broadcaster: messages to every pairing (SES-30). Each broadcast is judged once and appended to the others of its
// connection; then each receiver gets all of them in one write, and the ledger one entry for each with one list of
// receivers for all. A delivery costs the sixteen bytes of its pairing beyond its share of the system's write.

import TandemBase
import TandemReactor
import TandemSession
import TandemWire

/// Sends the broadcasts of one relay; confined to its loop.
final class Broadcaster {
    private let scheduler: any Scheduler
    private let counts: RelayCounters
    private var ledger = BroadcastLedger(capacity: Limits.rememberedDeliveries)
    /// Broadcasts of this turn that have not left yet. Unchecked, because it is taken out before it is sent.
    @exclusivity(unchecked) private var batch = BroadcastBatch()
    /// All connections: a failure finds its sender, and a receiver that is gone its senders.
    private var ports = ConnectionTable<RelayPort>()
    private var isSweepScheduled = false
    private var isStopping = false

    init(scheduler: any Scheduler, counts: RelayCounters) {
        self.scheduler = scheduler
        self.counts = counts
    }

    func attach(_ port: RelayPort) { ports.insert(port) }

    func detach(_ port: RelayPort) { ports.remove(port.number) }

    /// Sends what waits, and nothing after it.
    func stop() {
        send()
        isStopping = true
    }

    // MARK: sending

    /// - Parameter isOpen: a request of the sender has this identifier. A receiver's daemon would fail a second message
    ///   of it, and the failure would end the request.
    func broadcast(
        _ frame: Frame, _ header: RoutingHeader, _ application: LocalApplication, isOpen: Bool, from origin: RelayPort
    ) {
        if !batch.hasRoom(for: frame, from: origin) { send() }
        if let failure = obstacle(to: header, application, isOpen: isOpen) {
            return fail(header, of: application, failure, to: origin)
        }
        let message = BroadcastLedger.Message(
            id: header.id, deadline: scheduler.now.adding(milliseconds: header.deadline), count: frame.count)
        let isFirst = batch.isEmpty
        guard batch.add(frame, header, message, from: origin) else {
            return fail(header, of: application, .sharedPairing, to: origin)
        }
        guard isFirst else { return }
        origin.broadcastsWait(true)
        scheduler.atEndOfTurn { [weak self] in self?.send() }
    }

    /// Failures come in the order of what failed.
    private func fail(
        _ header: RoutingHeader, of application: LocalApplication, _ failure: RelayFailure, to origin: RelayPort
    ) {
        send()
        origin.fail(Message(app: application.app, pairing: header.pairing, id: header.id), failure)
    }

    /// The first reason against the broadcast that concerns all receivers, in the order of SES-13.
    private func obstacle(
        to header: RoutingHeader, _ application: LocalApplication, isOpen: Bool
    ) -> RelayFailure? {
        guard application.routes.count > 0 else { return .notPaired }
        if isOpen || batch.contains(header.id) || ledger.contains(header.id) { return .duplicateIdentifier }
        if let oversize = header.oversize { return oversize }
        return isStopping ? .notReachable(.stopping) : nil
    }

    /// Sends the broadcasts that wait: a frame follows that must not overtake them, or the turn is over.
    func send() {
        guard let origin = batch.origin, let application = origin.application else { return }
        origin.broadcastsWait(false)
        // Taken out, so that its memory has one owner while it is lent; put back to reuse its capacity.
        var sending = BroadcastBatch()
        swap(&sending, &batch)
        send(&sending, of: application, from: origin)
        sending.removeAll()
        precondition(batch.isEmpty, "nothing joins while broadcasts are given to their receivers")
        swap(&sending, &batch)
    }

    private func send(_ batch: inout BroadcastBatch, of application: LocalApplication, from origin: RelayPort) {
        var deliveries: [BroadcastLedger.Delivery] = []
        deliveries.reserveCapacity(application.routes.count)
        for route in application.routes.all {
            batch.address(to: route.pairing.known.pairing)
            if let port = route.port, !port.mustWait, batch.fits(port) {
                deliveries.append(give(batch.frames.bytes.span.bytes, to: port, along: route, from: origin))
            } else {
                sendEach(of: &batch, application.app, along: route, from: origin)
            }
        }
        counts.forwarded.add(UInt64(deliveries.count * batch.messages.count))
        ledger.record(batch.messages, app: application.app, origin: origin.number, deliveries: deliveries)
        scheduleSweep()
        // A thousand failures are much to read for the sender of one message.
        if origin.endpoint.isCongested { origin.backpressure.hold(origin, scheduler) }
    }

    /// Gives a receiver frames that fit.
    private func give(
        _ frames: RawSpan, to port: RelayPort, along route: Route, from origin: RelayPort
    ) -> BroadcastLedger.Delivery {
        let endpoint = port.endpoint
        let start = port.isLink ? endpoint.acceptedBytes : nil
        endpoint.write(frames)
        if let start { port.noteBroadcast(endingAt: start + UInt64(frames.byteCount)) }
        if !port.isLink, endpoint.isCongested { port.backpressure.hold(origin, scheduler) }
        return BroadcastLedger.Delivery(
            pairing: route.pairing.known.pairing, destination: port.number, startOffset: start)
    }

    /// Gives a receiver one frame, or keeps it for its app's turn at a link; nil if there is no room.
    private func offer(
        _ frame: RawSpan, _ id: UniqueIdentifier, to port: RelayPort, along route: Route, from origin: RelayPort
    ) -> BroadcastLedger.Delivery? {
        guard port.mustWait else {
            return port.endpoint.isWritable(frame.byteCount) ? give(frame, to: port, along: route, from: origin) : nil
        }
        guard port.hasRoom(for: frame.byteCount, from: origin) else { return nil }
        port.wait(frame, id, .broadcast, from: origin)
        // It leaves behind this at the earliest.
        let start = port.endpoint.acceptedBytes
        port.noteBroadcast(endingAt: start + UInt64(frame.byteCount))
        return BroadcastLedger.Delivery(
            pairing: route.pairing.known.pairing, destination: port.number, startOffset: start)
    }

    /// Judges each frame by itself for a receiver that cannot take all; of those that it cannot take, the sender gets a
    /// failure that names the pairing.
    private func sendEach(
        of batch: inout BroadcastBatch, _ app: ApplicationIdentifier, along route: Route, from origin: RelayPort
    ) {
        var start = 0
        for index in batch.messages.indices {
            let message = batch.messages[index]
            let frame = start..<start + message.count
            start = frame.upperBound
            let isAgreed = route.port.map { batch.isAgreed(index, with: $0) } ?? false
            var delivery: BroadcastLedger.Delivery?
            if let port = route.port, isAgreed {
                let bytes = batch.frames.bytes.span.bytes.extracting(frame)
                delivery = offer(bytes, message.id, to: port, along: route, from: origin)
            }
            if let delivery {
                batch.delivered(index, delivery)
                counts.forwarded.add()
            } else {
                let failed = Message(app: app, pairing: route.pairing.known.pairing, id: message.id)
                origin.fail(failed, obstacle(isAgreed, along: route))
            }
        }
    }

    /// Why a receiver cannot take one frame.
    private func obstacle(_ isAgreed: Bool, along route: Route) -> RelayFailure {
        guard let port = route.port else { return route.failure }
        guard isAgreed else { return .unsupportedKind }
        counts.shed.add()
        port.endpoint.overflowed()
        return .slowConsumer
    }

    // MARK: failures

    /// A receiver failed what a broadcast brought it: the sender gets the frame as it came, unless it is too large.
    /// - Returns: false if this connection got no such message, or has failed it already.
    func failed(_ frame: Frame, _ header: RoutingHeader, of application: LocalApplication?, by port: RelayPort) -> Bool
    {
        guard header.kind == .failure, ledger.contains(header.id), let app = application?.app else { return false }
        let failure = ledger.failed(header.id, app: app, pairing: header.pairing, by: port.number)
        guard let failure else { return false }
        if header.size <= Limits.messageBody {
            ports[failure.origin]?.deliver(frame)
        } else {
            let tooLarge = RelayFailure.replyTooLarge(actual: header.size, limit: Limits.messageBody)
            ports[failure.origin]?.fail(Message(app: app, pairing: failure.pairing, id: header.id), tooLarge)
        }
        counts.answered.add()
        return true
    }

    /// A broadcast waited for a link that is gone.
    func neverLeft(_ id: UniqueIdentifier, _ app: ApplicationIdentifier, to port: RelayPort) {
        guard case .link(let end) = port.source else { return }
        let failure = ledger.failed(id, app: app, pairing: end.known.pairing, by: port.number)
        guard let failure else { return }
        ports[failure.origin]?.fail(
            Message(app: app, pairing: failure.pairing, id: id),
            port.side.pairings[failure.pairing] == nil ? .notPaired : .notReachable(.noLink))
    }

    /// The connection is gone: of the broadcasts to it those fail that certainly did not leave (SES-11).
    func failBroadcasts(to port: RelayPort) {
        let departed = port.isLink ? port.endpoint.departedBytes : nil
        for lost in ledger.closed(port.number, departed: departed, last: port.broadcastEnd) {
            ports[lost.origin]?.fail(
                Message(app: lost.app, pairing: lost.pairing, id: lost.id), .notReachable(.noLink))
        }
    }

    /// Forgets deliveries whose failure no sender waits for any longer.
    private func scheduleSweep() {
        guard !isSweepScheduled, ledger.count > 0 else { return }
        isSweepScheduled = true
        scheduler.schedule(after: .seconds(1)) { [weak self] in
            guard let self else { return }
            isSweepScheduled = false
            ledger.expire(now: scheduler.now)
            scheduleSweep()
        }
    }
}

/// Broadcasts of one connection that leave together: their frames lie one behind the other, so that each receiver gets
/// all of them in one write, and their receivers are noted once for all. The batch waits for more until something else
/// comes that must not overtake it, and at most until the end of the turn. It decides nothing about receivers.
private struct BroadcastBatch {
    /// The most bytes that wait, unless a single frame is longer: enough for a burst to be one write, little enough for
    /// the cache that all receivers' writes are read from.
    private static var capacity: Int { 128 * 1024 }
    /// The most failures that one batch may lead to, unless a single message does: half of what makes a sender's queue
    /// congested, so that a sender whose messages reach no receiver is paused before its failures overflow.
    private static var mostFailures: Int { 2048 }

    /// The connection that sent them; nil while there are none.
    private(set) var origin: RelayPort?
    private(set) var frames = BroadcastFrames()
    private(set) var messages: [BroadcastLedger.Message] = []
    private var headers: [RoutingHeader] = []
    /// Pairings that could not take the first message; each of them fails each message.
    private var unreachable = 0
    private var needs: RelayPort.Abilities = []

    var isEmpty: Bool { messages.isEmpty }

    /// Whether a frame of a connection may join; none need be here.
    func hasRoom(for frame: Frame, from port: RelayPort) -> Bool {
        guard !isEmpty else { return true }
        return origin === port && frames.bytes.count + frame.count <= Self.capacity
            && (messages.count + 1) * unreachable <= Self.mostFailures
    }

    func contains(_ id: UniqueIdentifier) -> Bool { messages.contains { $0.id == id } }

    /// Adds a broadcast of the connection whose they all are.
    /// - Returns: false, and nothing has changed, if another value shares the bytes of `pairing`.
    mutating func add(_ frame: Frame, _ header: RoutingHeader, _ message: BroadcastLedger.Message, from port: RelayPort)
        -> Bool
    {
        guard frames.append(frame) else { return false }
        if isEmpty { unreachable = port.application?.routes.unreachableCount ?? 0 }
        origin = port
        messages.append(message)
        headers.append(header)
        needs.formUnion(header.needs)
        return true
    }

    mutating func address(to pairing: UniqueIdentifier) { frames.address(to: pairing) }

    func isAgreed(_ index: Int, with port: RelayPort) -> Bool { port.takes(headers[index].needs) }

    /// Whether a receiver can take all frames.
    func fits(_ port: RelayPort) -> Bool {
        port.takes(needs) && port.endpoint.isWritable(frames.bytes.count)
    }

    /// A receiver got one of the messages and not all.
    mutating func delivered(_ index: Int, _ delivery: BroadcastLedger.Delivery) {
        messages[index].deliveries.append(delivery)
    }

    /// Forgets all and keeps the room for the next ones.
    mutating func removeAll() {
        origin = nil
        frames.removeAll()
        messages.removeAll(keepingCapacity: true)
        headers.removeAll(keepingCapacity: true)
        needs = []
    }
}
