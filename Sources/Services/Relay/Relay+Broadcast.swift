// The path of one message to every pairing (SES-30): judged once, entered in the ledger once, and given to each receiver
// as parts of the same memory. What a delivery costs beyond the system's write is a few comparisons.

import TandemIdentity
import TandemLog
import TandemReactor
import TandemSession
import TandemWire

extension Relay {
    func broadcast(_ frame: Frame, _ passage: Passage, _ application: LocalApplication, from origin: RelayPort) {
        if let failure = obstacle(toBroadcast: passage, application) {
            return fail(frame, passage, of: application, failure, to: origin)
        }
        guard let parts = BroadcastFrame(frame) else {
            return fail(frame, passage, of: application, .sharedPairing, to: origin)
        }
        let message = Message(app: application.app, pairing: passage.pairing, id: passage.id)
        var deliveries: [BroadcastLedger.Delivery] = []
        deliveries.reserveCapacity(application.routes.count)
        for route in application.routes.all {
            if let delivery = deliver(parts, passage.kind, message, from: origin, along: route) {
                deliveries.append(delivery)
            }
        }
        counts.forwarded.add(UInt64(deliveries.count))
        broadcasts.record(
            message.id, app: message.app, origin: origin.number,
            deadline: scheduler.now.adding(milliseconds: passage.deadline), deliveries: deliveries)
        scheduleSweep()
        // A thousand failures are much to read for who sent one message.
        if origin.endpoint.isCongested { origin.congestion.hold(origin, scheduler) }
    }

    /// What is wrong with the broadcast for all receivers.
    private func obstacle(toBroadcast passage: Passage, _ application: LocalApplication) -> RelayFailure? {
        if isStopping { return .notReachable(.stopping) }
        guard application.routes.count > 0 else { return .notPaired }
        let size = passage.bodyCount
        guard size <= Limits.messageBody else { return .tooLarge(actual: size, limit: Limits.messageBody) }
        return broadcasts.contains(passage.id) ? .duplicateIdentifier : nil
    }

    /// Gives one receiver its frame; otherwise the sender gets a failure that names the pairing.
    private func deliver(
        _ parts: BroadcastFrame, _ kind: FrameKind, _ message: Message, from origin: RelayPort, along route: Route
    ) -> BroadcastLedger.Delivery? {
        let pairing = route.pairing.known.pairing
        func fail(_ failure: RelayFailure) -> BroadcastLedger.Delivery? {
            self.fail(Message(app: message.app, pairing: pairing, id: message.id), failure, to: origin)
            return nil
        }
        guard let port = route.port else { return fail(route.failure) }
        guard port.takes(kind) else { return fail(.unsupportedKind) }
        let endpoint = port.endpoint
        guard endpoint.isWritable(parts.count) else {
            counts.shed.add()
            endpoint.overflowed()
            return fail(.slowConsumer)
        }
        endpoint.send(parts.addressed(to: route.pairing.bytes))
        if endpoint.isCongested { port.congestion.hold(origin, scheduler) }
        return BroadcastLedger.Delivery(
            pairing: pairing, destination: port.number, endOffset: port.isLink ? endpoint.acceptedBytes : nil)
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
