// The path of a reply or failure back to its caller (SES-9, SES-10), and what callers get when there will be none
// (SES-11). Only the connection that was asked may answer, only once; everything else is counted and dropped.

import TandemIdentity
import TandemLog
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemWire

extension Relay {
    func answer(_ frame: Frame, _ envelope: Envelope, from port: RelayPort) -> RefusalName? {
        guard let app = envelope.app, let pairing = envelope.pairing, let id = envelope.id else { return .envelope }
        guard port.mayName(app, pairing) else { return .notYours }
        guard let request = ledger.answered(id, by: port.number, isReply: envelope.kind == .reply) else {
            let message = Message(app: app, pairing: pairing, id: id)
            let isKnown = envelope.kind == .failure && broadcastFailed(frame, message, by: port)
            if !isKnown { counts.stray.add() }
            return nil
        }
        if let failure = fault(of: envelope, to: request) {
            fail(request, failure)
        } else if let caller = ports[request.origin] {
            deliver(frame, to: caller)
            counts.answered.add()
        }
        checkIdle()
        return nil
    }

    private func fault(of answer: Envelope, to request: OpenRequest) -> RelayFailure? {
        guard answer.app == request.app, answer.pairing == request.pairing else { return .mismatchedAnswer }
        let size = answer.body?.count ?? 0
        guard answer.kind == .reply, size > Limits.messageBody else { return nil }
        return .replyTooLarge(actual: size, limit: Limits.messageBody)
    }

    /// The connection is gone: what it should have answered fails, oldest first.
    func failOpenRequests(of port: RelayPort) {
        let lost = ledger.closed(port.number).sorted { $0.endOffset < $1.endOffset }
        failBroadcasts(to: port)
        let departed = port.endpoint.departedBytes
        for request in lost {
            switch port.source {
            case .application where request.wantsReply: fail(request, .counterpartGone)
            case .link where request.endOffset > departed: fail(request, .notReachable(.noLink))
            case .link where request.wantsReply: fail(request, .linkLost)
            case .application, .link: break  // given on, and nobody waits
            }
        }
        checkIdle()
    }

    private func fail(_ request: OpenRequest, _ failure: RelayFailure) {
        guard let caller = ports[request.origin] else { return }
        fail(Message(app: request.app, pairing: request.pairing, id: request.id), failure, to: caller)
    }

    /// Tells the sender that its message goes no further.
    func fail(_ message: Message, _ failure: RelayFailure, to caller: RelayPort) {
        counts.failed.add()
        do {
            deliver(try failure.error.failure(app: message.app, pairing: message.pairing, id: message.id), to: caller)
        } catch {
            notWritten(.failure, error)
        }
    }

    func deliver(_ envelope: Envelope, to port: RelayPort) {
        do { deliver(try envelope.frame(), to: port) } catch { notWritten(envelope.kind, error) }
    }

    /// Only more pairings than a frame can name lead here.
    func notWritten(_ kind: FrameKind, _ error: WireError) {
        log(LogEvent(.error, "frame not written", .text("kind", kind.rawValue), .text("error", "\(error)")))
    }

    /// Within the quota; a frame that does not fit is lost, and the end is told that it is too slow.
    func deliver(_ frame: Frame, to port: RelayPort) {
        guard port.endpoint.isWritable(frame.count) else {
            counts.shed.add()
            return port.endpoint.overflowed()
        }
        port.endpoint.send(frame)
    }

    /// Forgets requests whose caller has stopped waiting: coarse, because the caller's own timer is the exact one.
    func scheduleSweep() {
        guard !isSweepScheduled else { return }
        isSweepScheduled = true
        scheduler.schedule(after: .seconds(1)) { [weak self] in self?.sweep() }
    }

    private func sweep() {
        isSweepScheduled = false
        counts.expired.add(UInt64(ledger.expire(now: scheduler.now)))
        broadcasts.expire(now: scheduler.now)
        checkIdle()
        if ledger.count > 0 || broadcasts.count > 0 { scheduleSweep() }
    }
}

extension RelayPort {
    /// Whether frames of this connection may carry this app and pairing (FRM-13).
    fileprivate func mayName(_ app: ApplicationIdentifier, _ pairing: UniqueIdentifier) -> Bool {
        switch source {
        case .application(let application): application.app == app
        case .link(let end): end.known.pairing == pairing
        }
    }
}
