// What the relay needs to know of a frame that it may pass on. Made from the head of a plain frame or, for frames that are
// valid in another shape, from the full envelope: from here on both go the same way.

import TandemIdentity
import TandemWire

/// A frame on its way through the relay.
struct Passage {
    let frame: Frame
    let kind: FrameKind
    let pairing: UniqueIdentifier
    let id: UniqueIdentifier
    /// The app that the frame names: of an app's own connection that app, of a link the one on this side. Nil if there is
    /// none, or another one than the connection's own.
    let application: LocalApplication?
    let wantsReply: Bool
    /// How long the sender waits, in milliseconds.
    let deadline: UInt32
    let bodyCount: Int

    init?(_ frame: Frame, _ head: EnvelopeHead, application: LocalApplication?) {
        guard let pairing = head.pairing, let id = head.id else { return nil }
        self.frame = frame
        kind = head.kind
        self.pairing = pairing
        self.id = id
        self.application = application
        wantsReply = head.wantsReply
        deadline = head.deadline ?? Self.standardDeadline
        bodyCount = head.body?.count ?? 0
    }

    init?(_ frame: Frame, _ envelope: Envelope, application: LocalApplication?) {
        guard let pairing = envelope.pairing, let id = envelope.id else { return nil }
        self.frame = frame
        kind = envelope.kind
        self.pairing = pairing
        self.id = id
        self.application = application
        wantsReply = envelope.wantsReply
        deadline = envelope.deadline.map { UInt32(clamping: $0.saturatingMilliseconds) } ?? Self.standardDeadline
        bodyCount = envelope.body?.count ?? 0
    }

    private static var standardDeadline: UInt32 { UInt32(clamping: Limits.standardDeadline.saturatingMilliseconds) }

    /// The frame's app by name, for a `failure`; nil only for a frame that is none of ours.
    var app: ApplicationIdentifier? { application?.app ?? (try? Envelope(reading: frame))?.app }
}
