// The path of messages to every pairing (SES-30): each is judged once and laid behind the others of its connection;
// then each receiver is given all of them in one write, and the ledger one entry for each with one list of receivers
// for all. What a delivery costs beyond its share of the system's write is the sixteen bytes of its pairing.

import TandemBase
import TandemReactor
import TandemSession
import TandemWire

extension Relay {
    func broadcast(_ frame: Frame, _ passage: Passage, _ application: LocalApplication, from origin: RelayPort) {
        if !batch.hasRoom(for: frame, from: origin) { sendBroadcasts() }
        if let failure = obstacle(toBroadcast: passage, application) {
            return failBroadcast(passage, of: application, failure, to: origin)
        }
        let message = BroadcastLedger.Message(
            id: passage.id, deadline: scheduler.now.adding(milliseconds: passage.deadline), count: frame.count)
        let isFirst = batch.isEmpty
        guard batch.add(frame, passage, message, from: origin) else {
            return failBroadcast(passage, of: application, .sharedPairing, to: origin)
        }
        if isFirst { scheduler.atEndOfTurn { [weak self] in self?.sendBroadcasts() } }
    }

    /// Failures come in the order of what failed.
    private func failBroadcast(
        _ passage: Passage, of application: LocalApplication, _ failure: RelayFailure, to origin: RelayPort
    ) {
        sendBroadcasts()
        fail(Message(app: application.app, pairing: passage.pairing, id: passage.id), failure, to: origin)
    }

    /// What is wrong with the broadcast for all receivers.
    private func obstacle(toBroadcast passage: Passage, _ application: LocalApplication) -> RelayFailure? {
        if isStopping { return .notReachable(.stopping) }
        guard application.routes.count > 0 else { return .notPaired }
        let size = passage.bodyCount
        guard size <= Limits.messageBody else { return .tooLarge(actual: size, limit: Limits.messageBody) }
        let isKnown = batch.contains(passage.id) || broadcasts.contains(passage.id)
        return isKnown ? .duplicateIdentifier : nil
    }

    /// What waits leaves now: something follows that must not overtake it, or the turn is over.
    func sendBroadcasts() {
        guard let origin = batch.origin, let application = origin.application else { return }
        // Taken out, so that its memory is nobody else's while it is lent; and put back for its room.
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
            if let port = route.port, batch.fits(port) {
                deliveries.append(give(batch.frames.bytes.span.bytes, to: port, along: route, from: origin))
            } else {
                sendEach(of: &batch, application.app, along: route, from: origin)
            }
        }
        counts.forwarded.add(UInt64(deliveries.count * batch.messages.count))
        broadcasts.record(batch.messages, app: application.app, origin: origin.number, deliveries: deliveries)
        scheduleSweep()
        // A thousand failures are much to read for who sent one message.
        if origin.endpoint.isCongested { origin.congestion.hold(origin, scheduler) }
    }

    /// Gives a receiver frames that fit.
    private func give(
        _ frames: RawSpan, to port: RelayPort, along route: Route, from origin: RelayPort
    ) -> BroadcastLedger.Delivery {
        let endpoint = port.endpoint
        let start = port.isLink ? endpoint.acceptedBytes : nil
        endpoint.write(frames)
        if endpoint.isCongested { port.congestion.hold(origin, scheduler) }
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
            if let port = route.port, isAgreed, port.endpoint.isWritable(frame.count) {
                let delivery = give(
                    batch.frames.bytes.span.bytes.extracting(frame), to: port, along: route, from: origin)
                batch.delivered(index, delivery)
                counts.forwarded.add()
            } else {
                let failed = Message(app: app, pairing: route.pairing.known.pairing, id: message.id)
                fail(failed, obstacle(isAgreed, along: route), to: origin)
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

    /// A receiver failed what a broadcast brought it: the sender gets the frame as it came.
    /// - Returns: false if this connection got no such message, or has failed it already.
    func broadcastFailed(
        _ frame: Frame, _ passage: Passage, of application: LocalApplication?, by port: RelayPort
    ) -> Bool {
        guard passage.kind == .failure, broadcasts.contains(passage.id), let app = application?.app else {
            return false
        }
        let failure = broadcasts.failed(passage.id, app: app, pairing: passage.pairing, by: port.number)
        guard let failure else { return false }
        if let sender = ports[failure.origin] { deliver(frame, to: sender) }
        counts.answered.add()
        return true
    }

    /// The connection is gone: of the broadcasts to it those fail that certainly did not leave (SES-11).
    func failBroadcasts(to port: RelayPort) {
        let departed = port.isLink ? port.endpoint.departedBytes : nil
        for lost in broadcasts.closed(port.number, departed: departed) {
            guard let sender = ports[lost.origin] else { continue }
            fail(Message(app: lost.app, pairing: lost.pairing, id: lost.id), .notReachable(.noLink), to: sender)
        }
    }
}
