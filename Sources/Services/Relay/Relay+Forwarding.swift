// The path of a message (SES-8 to SES-10): authorise by the connection, find the way, enter it in the ledger, pass the
// frame on as it came. No closure, no lookup by name and no write of a body on this path when all is well.

import TandemIdentity
import TandemLog
import TandemReactor
import TandemSession
import TandemWire

extension Relay {
    func forward(_ frame: Frame, _ envelope: Envelope, from origin: RelayPort) -> RefusalName? {
        guard let app = envelope.app, let pairing = envelope.pairing, let id = envelope.id else { return .envelope }
        let message = Message(app: app, pairing: pairing, id: id)
        switch origin.source {
        case .application(let application):
            guard application.app == app else { return .notYours }
            guard let route = application.routes[pairing] else {
                // No pairing has this identifier, so that the look for a broadcast costs other messages nothing.
                if pairing == .zero, !envelope.wantsReply {
                    broadcast(frame, envelope, message, from: origin)
                } else {
                    fail(message, .notPaired, to: origin)
                }
                return nil
            }
            pass(frame, envelope, message, from: origin, to: route.port, orFail: route)
        case .link(let end):
            guard end.known.pairing == pairing else { return .notYours }
            passInside(frame, envelope, message, from: origin)
        }
        return nil
    }

    private func pass(
        _ frame: Frame, _ envelope: Envelope, _ message: Message, from origin: RelayPort, to destination: RelayPort?,
        orFail route: Route
    ) {
        guard let destination else { return fail(message, route.failure, to: origin) }
        pass(frame, envelope, message, from: origin, to: destination)
    }

    /// From a link to the app on this device.
    private func passInside(_ frame: Frame, _ envelope: Envelope, _ message: Message, from origin: RelayPort) {
        guard let application = origin.side.applications[message.app] else {
            return fail(message, .notInstalled(on: origin.side.role), to: origin)
        }
        guard let receiver = application.receiver else {
            return fail(message, .notReachable(.counterpartAbsent), to: origin)
        }
        pass(frame, envelope, message, from: origin, to: receiver)
    }

    private func pass(
        _ frame: Frame, _ envelope: Envelope, _ message: Message, from origin: RelayPort, to destination: RelayPort
    ) {
        if let failure = obstacle(envelope, to: destination) { return fail(message, failure, to: origin) }
        let endpoint = destination.endpoint
        guard endpoint.isWritable(frame.count) else { return shed(message, from: origin, to: destination) }
        let request = OpenRequest(
            id: message.id, app: message.app, pairing: message.pairing, origin: origin.number,
            destination: destination.number, wantsReply: envelope.wantsReply,
            deadline: scheduler.now + (envelope.deadline ?? Limits.standardDeadline),
            endOffset: endpoint.acceptedBytes + UInt64(frame.count))
        switch ledger.open(request) {
        case .duplicate: return fail(message, .duplicateIdentifier, to: origin)
        case .tooMany: return fail(message, .tooManyRequests, to: origin)
        case .opened: break
        }
        scheduleSweep()
        endpoint.send(frame)
        counts.forwarded.add()
        if endpoint.isCongested { destination.congestion.hold(origin, scheduler) }
    }

    private func obstacle(_ envelope: Envelope, to destination: RelayPort) -> RelayFailure? {
        if isStopping { return .notReachable(.stopping) }
        guard destination.takes(envelope.kind) else { return .unsupportedKind }
        let size = envelope.body?.count ?? 0
        return size > Limits.messageBody ? .tooLarge(actual: size, limit: Limits.messageBody) : nil
    }

    private func shed(_ message: Message, from origin: RelayPort, to destination: RelayPort) {
        counts.shed.add()
        fail(message, .slowConsumer, to: origin)
        destination.endpoint.overflowed()
    }
}

/// What identifies a message, for its failure.
struct Message {
    let app: ApplicationIdentifier
    let pairing: UniqueIdentifier
    let id: UniqueIdentifier
}
