// What the relay notes of messages while they are traced (CTL-20). Here, and never inlined, so that untraced messages
// pay for a look at one word and nothing else.

import TandemBase
import TandemOperations
import TandemSession
import TandemWire

extension Relay {
    /// A message was passed on.
    @inline(never)
    func traced(_ passage: Passage, _ application: LocalApplication, to destination: RelayPort) {
        let (sent, delivered) = (destination.isLink, !destination.isLink)
        trace?.note(
            TraceEvent(
                delivered ? .delivered : .sent, id: passage.id, pairing: passage.pairing, app: application.app,
                isOutbound: sent))
    }

    /// A message could not be passed on.
    @inline(never)
    func traced(_ passage: Passage, _ failure: RelayFailure, _ app: ApplicationIdentifier, to origin: RelayPort) {
        trace?.note(
            TraceEvent(
                .failed, id: passage.id, pairing: passage.pairing, app: app, isOutbound: !origin.isLink,
                detail: failure.error.name))
    }

    /// A reply or failure was passed back.
    @inline(never)
    func traced(_ passage: Passage, _ request: OpenRequest, to caller: RelayPort) {
        trace?.note(
            TraceEvent(
                passage.isReply ? .answered : .failed, id: passage.id, pairing: passage.pairing,
                app: app(request.app), isOutbound: !caller.isLink))
    }

    /// An open request will have no answer.
    @inline(never)
    func traced(_ request: OpenRequest, _ failure: RelayFailure) {
        trace?.note(
            TraceEvent(
                .failed, id: request.id, pairing: request.pairing, app: app(request.app),
                isOutbound: port(request.origin)?.isLink == false, detail: failure.error.name))
    }
}
