// The path of a message (SES-8 to SES-10): authorise by the connection, find the way, enter it in the ledger, pass the
// frame on as it came. No allocation, no lookup by a String and no look at a body on this path when all is well.

import TandemBase
import TandemReactor
import TandemSession
import TandemWire

extension Relay {
    /// Passes on what an app's own connection sent, or tells it why not.
    func forward(
        _ frame: Frame, _ passage: Passage, of application: LocalApplication, from origin: RelayPort
    ) {
        guard let destination = application.routes.port(passage.pairing) else {
            return forwardElsewhere(frame, passage, of: application, from: origin)
        }
        pass(frame, passage, of: application, from: origin, to: destination)
    }

    /// There is no way, or all ways are meant. Here, so that the look costs other messages nothing.
    @inline(never)
    private func forwardElsewhere(
        _ frame: Frame, _ passage: Passage, of application: LocalApplication, from origin: RelayPort
    ) {
        if let route = application.routes[passage.pairing] {
            fail(frame, passage, of: application, route.failure, to: origin)
        } else if passage.pairing == .zero, !passage.wantsReply {
            broadcast(frame, passage, application, from: origin)
        } else {
            fail(frame, passage, of: application, .notPaired, to: origin)
        }
    }

    /// Passes on to the app on this device what came from a link that may say it.
    func forward(
        _ frame: Frame, _ passage: Passage, toLocal application: LocalApplication?, from link: RelayPort
    ) {
        guard let application else {
            return fail(frame, passage, of: nil, .notInstalled(on: link.side.role), to: link)
        }
        guard let destination = application.receiver else {
            return fail(frame, passage, of: application, .notReachable(.counterpartAbsent), to: link)
        }
        pass(frame, passage, of: application, from: link, to: destination)
    }

    private func pass(
        _ frame: Frame, _ passage: Passage, of application: LocalApplication, from origin: RelayPort,
        to destination: RelayPort
    ) {
        if let failure = obstacle(passage, to: destination) {
            return fail(frame, passage, of: application, failure, to: origin)
        }
        let endpoint = destination.endpoint
        guard endpoint.isWritable(frame.count) else {
            return shed(frame, passage, of: application, from: origin, to: destination)
        }
        let request = OpenRequest(
            id: passage.id, app: application.number, pairing: passage.pairing, origin: origin.party,
            destination: destination.party, wantsReply: passage.wantsReply,
            deadline: scheduler.now.adding(milliseconds: passage.deadline),
            endOffset: endpoint.acceptedBytes + UInt64(frame.count))
        let opening = ledger.open(request)
        guard case .opened = opening else {
            return refuse(frame, passage, of: application, opening, to: origin)
        }
        if !isSweepScheduled { scheduleSweep() }
        endpoint.send(frame)
        counts.forwarded.add()
        if trace != nil { traced(passage, application, to: destination) }
        if endpoint.isCongested { destination.congestion.hold(origin, scheduler) }
    }

    @inline(never)
    private func refuse(
        _ frame: Frame, _ passage: Passage, of application: LocalApplication, _ opening: RequestLedger.Opening,
        to origin: RelayPort
    ) {
        let failure: RelayFailure = opening == .tooMany ? .tooManyRequests : .duplicateIdentifier
        fail(frame, passage, of: application, failure, to: origin)
    }

    @inline(never)
    private func shed(
        _ frame: Frame, _ passage: Passage, of application: LocalApplication, from origin: RelayPort,
        to destination: RelayPort
    ) {
        counts.shed.add()
        fail(frame, passage, of: application, .slowConsumer, to: origin)
        destination.endpoint.overflowed()
    }

    private func obstacle(_ passage: Passage, to destination: RelayPort) -> RelayFailure? {
        if isStopping { return .notReachable(.stopping) }
        guard destination.takes(passage) else { return .unsupportedKind }
        let size = passage.bodyCount
        return size > Limits.messageBody ? .tooLarge(actual: size, limit: Limits.messageBody) : nil
    }

    /// Not inlined, here and above: what only failures need would be copied beforehand on the way of every frame.
    /// - Parameter application: nil if the app that the frame names is not known here.
    @inline(never)
    func fail(
        _ frame: Frame, _ passage: Passage, of application: LocalApplication?, _ failure: RelayFailure,
        to origin: RelayPort
    ) {
        guard let app = application?.app ?? (try? Envelope(reading: frame))?.app else { return }
        if trace != nil { traced(passage, failure, app, to: origin) }
        fail(Message(app: app, pairing: passage.pairing, id: passage.id), failure, to: origin)
    }
}
