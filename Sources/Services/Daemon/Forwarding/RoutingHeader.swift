// Routing header of a frame that the relay may pass on. Made from the head of a plain frame or, for frames that are
// valid in another shape, from the full envelope: from here on both go the same way. Only numbers, so that passing it
// on counts no reference; the frame and its app go beside it.

import TandemBase
package import TandemWire

extension Limits {
    /// Bytes of a forwarded frame that do not count beside its body (LIM-79): all keys that we know take under 2 KiB.
    package static var envelope: Int { 16 * 1024 }
}

/// The routing facts of a frame on its way through the relay.
struct RoutingHeader {
    let kind: FrameKind
    let pairing: UniqueIdentifier
    let id: UniqueIdentifier
    let wantsReply: Bool
    /// How long the sender waits, in milliseconds.
    let deadline: UInt32
    /// The bytes that count against the limit of a message (SES-68): the body's, or more if the envelope is padded.
    let size: Int
    /// The abilities that its receiver needs, for its kind and for each key that an older end does not know.
    let needs: RelayPort.Abilities

    /// By its case: `==` of a type from another room is a call through a table.
    var isReply: Bool { if case .reply = kind { true } else { false } }

    /// The failure of a message that is larger than one may be; nil for any other.
    @inline(__always)
    var oversize: RelayFailure? {
        size > Limits.messageBody ? .tooLarge(actual: size, limit: Limits.messageBody) : nil
    }

    /// - Parameter frameCount: bytes of the whole frame.
    @inline(__always)
    init(_ head: EnvelopeHead, frameCount: Int) {
        kind = head.kind
        pairing = head.pairing
        id = head.id
        wantsReply = head.wantsReply
        deadline = head.deadline ?? Limits.standardDeadlineMilliseconds
        size = max(head.body?.count ?? 0, frameCount - Limits.envelope)
        needs = Self.needs(of: head.kind, head.has)
    }

    /// - Throws: for a frame that is never forwarded; a failure that answers an item is one (FRM-10).
    /// - Parameter frameCount: bytes of the whole frame.
    init(_ envelope: Envelope, frameCount: Int) throws(WireError) {
        if envelope.has(.channel) { throw .unlistedKey(.channel, envelope.kind) }
        kind = envelope.kind
        pairing = try envelope.required(.pairing)
        id = try envelope.required(.id)
        wantsReply = envelope[.reply] ?? false
        deadline =
            (envelope[.deadline] as Duration?).map { UInt32(clamping: $0.saturatingMilliseconds) }
            ?? Limits.standardDeadlineMilliseconds
        size = max(envelope.body?.count ?? 0, frameCount - Limits.envelope)
        needs = Self.needs(of: envelope.kind, envelope.has)
    }

    private static func needs(of kind: FrameKind, _ has: (EnvelopeKey) -> Bool) -> RelayPort.Abilities {
        var needs: RelayPort.Abilities = if case .messageData = kind { .data } else { .messages }
        if has(.topic) { needs.insert(.topics) }
        return needs
    }
}

/// A message by its app, pairing and identifier: what a failure names, without a frame or an envelope.
struct Message {
    let app: ApplicationIdentifier
    let pairing: UniqueIdentifier
    let id: UniqueIdentifier
}
