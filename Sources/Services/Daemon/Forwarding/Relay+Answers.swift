// The path of a reply or failure back to its caller (SES-9, SES-10), and what callers get when there will be none
// (SES-11). Only the connection that was asked may answer, only once; everything else is counted and dropped.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemWire

extension Relay {
    /// Gives an answer to who waits for it.
    /// - Parameter application: the app that the frame names; nil if it is none of this device's.
    func answer(_ frame: Frame, _ passage: Passage, of application: LocalApplication?, from port: RelayPort) {
        let answered = ledger.answered(passage.id, by: port.party, isReply: passage.isReply)
        guard let request = answered else { return stray(frame, passage, of: application, from: port) }
        if let failure = fault(of: passage, from: application, to: request) {
            fail(request, failure)
        } else if let caller = self.port(request.origin) {
            deliver(frame, to: caller)
            counts.answered.add()
            if trace != nil { traced(passage, request, to: caller) }
        }
        checkIdle()
    }

    @inline(never)
    private func stray(_ frame: Frame, _ passage: Passage, of application: LocalApplication?, from port: RelayPort) {
        if !broadcastFailed(frame, passage, of: application, by: port) { counts.stray.add() }
    }

    private func fault(
        of answer: Passage, from application: LocalApplication?, to request: OpenRequest
    ) -> RelayFailure? {
        guard application?.number == request.app, answer.pairing == request.pairing else { return .mismatchedAnswer }
        guard answer.bodyCount > Limits.messageBody, answer.isReply else { return nil }
        return .replyTooLarge(actual: answer.bodyCount, limit: Limits.messageBody)
    }

    /// The connection is gone: what it should have answered fails.
    func fail(_ owed: [OpenRequest], of port: RelayPort) {
        failBroadcasts(to: port)
        let departed = port.endpoint.departedBytes
        for request in owed {
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
        guard let caller = port(request.origin) else { return }
        if trace != nil { traced(request, failure) }
        fail(Message(app: app(request.app), pairing: request.pairing, id: request.id), failure, to: caller)
    }

    /// Tells the sender that its message goes no further.
    func fail(_ message: Message, _ failure: RelayFailure, to caller: RelayPort) {
        counts.failed.add()
        guard caller.endpoint.isWritable(Self.usualFailure) else {
            // Not even written: a caller that is full, or closed for that, gets no more of them.
            counts.shed.add()
            return caller.endpoint.overflowed()
        }
        do {
            deliver(try failure.error.failure(app: message.app, pairing: message.pairing, id: message.id), to: caller)
        } catch {
            notWritten(.failure, error)
        }
    }

    /// Bytes of a failure, about.
    private static var usualFailure: Int { 512 }

    func deliver(_ envelope: Envelope, to port: RelayPort) {
        do { deliver(try envelope.frame(), to: port) } catch { notWritten(envelope.kind, error) }
    }

    /// Only more pairings than a frame can name lead here.
    func notWritten(_ kind: FrameKind, _ error: WireError) {
        log(LogEvent(.error, "frame not written", .text("kind", kind.rawValue), .text("error", "\(error)")))
    }

    /// Within the quota; a frame that does not fit is lost, and the end is told that it is too slow.
    func deliver(_ frame: Frame, to port: RelayPort) {
        let endpoint = port.endpoint
        guard endpoint.isWritable(frame.count) else {
            counts.shed.add()
            return endpoint.overflowed()
        }
        endpoint.send(frame)
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
