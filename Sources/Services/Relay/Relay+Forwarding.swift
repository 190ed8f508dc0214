// The path of a message (SES-8 to SES-10): authorise by the connection, find the way, enter it in the ledger, pass the
// frame on as it came. No allocation, no closure, no lookup by text and no look at a body on this path when all is well.

import TandemIdentity
import TandemLog
import TandemReactor
import TandemSession
import TandemWire

extension Relay {
    func forward(_ passage: Passage, from origin: RelayPort) -> RefusalName? {
        switch origin.source {
        case .application(let application):
            guard passage.application === application else { return .notYours }
            guard let route = application.routes[passage.pairing] else {
                // No pairing has this identifier, so that the look for a broadcast costs other messages nothing.
                if passage.pairing == .zero, !passage.wantsReply {
                    broadcast(passage, application, from: origin)
                } else {
                    fail(passage, .notPaired, to: origin)
                }
                return nil
            }
            pass(passage, from: origin, to: route.port, orFail: route.failure)
        case .link(let end):
            guard end.known.pairing == passage.pairing else { return .notYours }
            // From a link to the app on this device.
            pass(passage, from: origin, to: passage.application?.receiver, orFail: absence(passage, origin.side.role))
        }
        return nil
    }

    private func absence(_ passage: Passage, _ role: DeviceRole) -> RelayFailure {
        passage.application == nil ? .notInstalled(on: role) : .notReachable(.counterpartAbsent)
    }

    private func pass(
        _ passage: Passage, from origin: RelayPort, to destination: RelayPort?,
        orFail failure: @autoclosure () -> RelayFailure
    ) {
        guard let destination, let application = passage.application else {
            return fail(passage, failure(), to: origin)
        }
        if let failure = obstacle(passage, to: destination) { return fail(passage, failure, to: origin) }
        let endpoint = destination.endpoint
        guard endpoint.isWritable(passage.frame.count) else { return shed(passage, from: origin, to: destination) }
        let request = OpenRequest(
            id: passage.id, app: application.number, pairing: passage.pairing, origin: origin.party,
            destination: destination.party, wantsReply: passage.wantsReply,
            deadline: scheduler.now.adding(milliseconds: passage.deadline),
            endOffset: endpoint.acceptedBytes + UInt64(passage.frame.count))
        switch ledger.open(request) {
        case .duplicate: return fail(passage, .duplicateIdentifier, to: origin)
        case .tooMany: return fail(passage, .tooManyRequests, to: origin)
        case .opened: break
        }
        scheduleSweep()
        endpoint.send(passage.frame)
        counts.forwarded.add()
        if endpoint.isCongested { destination.congestion.hold(origin, scheduler) }
    }

    private func obstacle(_ passage: Passage, to destination: RelayPort) -> RelayFailure? {
        if isStopping { return .notReachable(.stopping) }
        guard destination.takes(passage.kind) else { return .unsupportedKind }
        let size = passage.bodyCount
        return size > Limits.messageBody ? .tooLarge(actual: size, limit: Limits.messageBody) : nil
    }

    private func shed(_ passage: Passage, from origin: RelayPort, to destination: RelayPort) {
        counts.shed.add()
        fail(passage, .slowConsumer, to: origin)
        destination.endpoint.overflowed()
    }

    func fail(_ passage: Passage, _ failure: RelayFailure, to origin: RelayPort) {
        guard let app = passage.app else { return }
        fail(Message(app: app, pairing: passage.pairing, id: passage.id), failure, to: origin)
    }
}

/// What identifies a message, for its failure.
struct Message {
    let app: ApplicationIdentifier
    let pairing: UniqueIdentifier
    let id: UniqueIdentifier
}
