// The table of kinds (FRM-10): one row for each, with the keys that a frame of this kind must and may have and the ends
// that may send it. Reading, writing and the receivers of frames go by this table. Kinds are closed: an unknown one is
// refused by name, never skipped.

/// The kind of a frame; its raw value is the word on the wire.
package enum FrameKind: String, Sendable, Hashable, CaseIterable {
    case hello, refusal, ping, pong, bye, register, registered, state, message, messageData, reply, failure
    case configuration, control, result, application, item, gap, stored, outcome, outcomeAck, chunk, fetch, submit
    case accepted, progress, delivery, verdict, finished, finishedAck, context, query, answer, join, joined

    /// The row of the kind in the table.
    private var definition: Row {
        switch self {
        case .hello: Row([.body], [.pairing], from: [.stranger, .daemon])
        case .refusal: Row([.name], [.body], from: [.stranger, .daemon, .link])
        case .ping, .pong: Row([], [.id], from: [.greeted, .command, .app, .daemon, .link])
        case .bye: Row([], [.name], from: .all)
        case .register: Row([.app, .body], from: .greeted)
        case .registered, .state: Row([.app, .body], from: .daemon)
        case .message, .messageData:
            Row([.app, .pairing, .id, .body], [.reply, .deadline, .topic], from: [.app, .daemon, .link])
        case .reply: Row([.app, .pairing, .id, .body], from: [.app, .daemon, .link])
        case .failure:
            Row([.app, .pairing, .id, .code], [.channel, .name, .body], from: [.app, .daemon, .link])
        case .configuration: Row([.app, .pairing, .id, .reply, .body], [.deadline], from: .daemon)
        case .control: Row([.id, .command], [.body, .code, .name], from: [.greeted, .command])
        case .result: Row([.id, .command], [.body, .code, .name], from: .daemon)
        case .application: Row([.app, .body], from: .link)
        case .item:
            Row(
                [.app, .pairing, .id, .channel, .sequence, .body],
                [.nonce, .age, .remaining, .attempt, .topic, .revision], from: .link)
        case .gap: Row([.app, .pairing, .channel, .sequence, .name], from: .link)
        case .stored, .outcomeAck: Row([.app, .pairing, .channel, .sequence], from: .link)
        case .outcome: Row([.app, .pairing, .channel, .sequence, .name], [.code], from: .link)
        case .chunk: Row([.app, .pairing, .id, .channel, .offset, .body], from: [.app, .link])
        case .fetch: Row([.app, .pairing, .id, .channel, .offset], [.name], from: .link)
        case .submit:
            Row([.app, .pairing, .id, .channel, .body], [.topic, .key, .after, .remaining, .name], from: .app)
        case .accepted: Row([.app, .pairing, .id, .channel], [.name, .revision], from: .daemon)
        case .progress: Row([.app, .pairing, .id, .channel, .name], [.offset, .body], from: .daemon)
        case .delivery:
            Row(
                [.app, .pairing, .id, .channel, .attempt, .body], [.topic, .age, .remaining, .revision], from: .daemon)
        case .verdict: Row([.app, .pairing, .id, .channel, .name], [.code, .body], from: .app)
        case .finished: Row([.app, .pairing, .id, .channel, .name], [.code, .body], from: .daemon)
        case .finishedAck: Row([.app, .pairing, .id, .channel], from: .app)
        case .context: Row([.app, .pairing, .name, .revision, .body], from: .daemon)
        case .query: Row([.app, .id, .command], [.pairing, .channel, .body], from: [.app, .link])
        case .answer: Row([.app, .id, .command], [.pairing, .code, .name, .body], from: [.daemon, .link])
        case .join, .joined: Row([.body], from: .stranger)
        }
    }
}

/// The end of a connection that sends a frame, and how far the connection is.
package struct FrameSender: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Either end before the connection is greeted.
    package static let stranger = FrameSender(rawValue: 1)
    /// A local client that has said hello, and not yet what it is.
    package static let greeted = FrameSender(rawValue: 2)
    /// A registered host app, to its daemon.
    package static let app = FrameSender(rawValue: 4)
    /// A local client that has sent a `control`.
    package static let command = FrameSender(rawValue: 8)
    /// A daemon, to a local client.
    package static let daemon = FrameSender(rawValue: 16)
    /// Either daemon, over a link that is ready.
    package static let link = FrameSender(rawValue: 32)

    package static let all: FrameSender = [.stranger, .greeted, .app, .command, .daemon, .link]
}

extension FrameKind {
    struct Row: Sendable {
        /// The keys without which a frame of this kind is refused.
        let required: EnvelopeKeys
        /// Every key that a frame of this kind may have; `sealing` wherever there may be a body to seal.
        let allowed: EnvelopeKeys
        let senders: FrameSender

        init(_ required: EnvelopeKeys, _ optional: EnvelopeKeys = [], from senders: FrameSender) {
            var keys = required
            keys.insert(.kind)
            self.required = keys
            keys.formUnion(optional)
            if keys.contains(.body) { keys.insert(.sealing) }
            allowed = keys
            self.senders = senders
        }

        /// Whether an envelope with these keys has all that it must have, and none that it must not.
        @inline(__always)
        func allows(_ keys: EnvelopeKeys) -> Bool { keys.isSuperset(of: required) && allowed.isSuperset(of: keys) }
    }

    private static let rows = allCases.map(\.definition)

    @inline(__always)
    var row: Row {
        // As EnvelopeKey's number.
        Self.rows[Int(unsafe unsafeBitCast(self, to: UInt8.self))]
    }

    /// The kind of a number in the list.
    @inline(__always)
    init(number: Int) {
        precondition(number < Self.rows.count, "a kind has this number")
        self = unsafe unsafeBitCast(UInt8(truncatingIfNeeded: number), to: FrameKind.self)
    }

    /// Whether this end may send a frame of this kind. A receiver refuses any other as `unexpected`, and then switches
    /// over what its own part of the protocol has.
    package func mayBeSent(by sender: FrameSender) -> Bool { row.senders.contains(sender) }
}
