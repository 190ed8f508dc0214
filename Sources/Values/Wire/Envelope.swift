// The flat part of a frame (FRM-8): everything that routing needs, as typed fields. `body` is the bytes as they came, a
// slice of one copy of the payload; nothing here opens it.

package import TandemBase
package import TandemPropertyList

/// The envelope of a frame.
package struct Envelope: Sendable, Equatable {
    package var kind: FrameKind
    package var app: ApplicationIdentifier?
    package var pairing: UniqueIdentifier?
    package var id: UniqueIdentifier?
    package var channel: Channel?
    /// Position of a durable item; from 1.
    package var sequence: UInt64?
    /// Whether a reply is wanted; absent means no.
    package var reply: Bool?
    /// How long the sender still waits, within ``Limits/deadline``; whole milliseconds on the wire.
    package var deadline: Duration?
    /// Time since acceptance in the sender's daemon; whole milliseconds on the wire.
    package var age: Duration?
    /// Time until a durable item expires; whole milliseconds on the wire.
    package var remaining: Duration?
    /// Delivery attempt; from 1.
    package var attempt: Int?
    /// 16 bytes; not used in version 1 (FRM-8): a report repeats the item's `id`.
    package var nonce: [UInt8]?
    package var code: Int?
    package var name: String?
    package var command: String?
    /// Which handler is meant; 1 to 128 bytes without NUL.
    package var topic: String?
    /// Items with the same key supersede each other; 1 to 128 bytes without NUL.
    package var key: String?
    /// The item that must have ended before this one is sent.
    package var after: UniqueIdentifier?
    /// A context's; from 1.
    package var revision: UInt64?
    /// The first byte of a file's part.
    package var offset: UInt64?
    /// Never opened by who only forwards.
    package var body: ArraySlice<UInt8>?
    /// Keys that start with `x-`: kept, and decide nothing.
    package var extensions = PropertyListDictionary()

    package init(
        _ kind: FrameKind, app: ApplicationIdentifier? = nil, pairing: UniqueIdentifier? = nil,
        id: UniqueIdentifier? = nil, channel: Channel? = nil, sequence: UInt64? = nil, reply: Bool? = nil,
        deadline: Duration? = nil, age: Duration? = nil, remaining: Duration? = nil, attempt: Int? = nil,
        nonce: [UInt8]? = nil, code: Int? = nil,
        name: String? = nil, command: String? = nil, topic: String? = nil, key: String? = nil,
        after: UniqueIdentifier? = nil, revision: UInt64? = nil, offset: UInt64? = nil, body: [UInt8]? = nil
    ) {
        self.kind = kind
        self.app = app
        self.pairing = pairing
        self.id = id
        self.channel = channel
        self.sequence = sequence
        self.reply = reply
        self.deadline = deadline
        self.age = age
        self.remaining = remaining
        self.attempt = attempt
        self.nonce = nonce
        self.code = code
        self.name = name
        self.command = command
        self.topic = topic
        self.key = key
        self.after = after
        self.revision = revision
        self.offset = offset
        self.body = body.map { $0[...] }
    }

    /// Whether the sender waits for an answer.
    package var wantsReply: Bool { reply ?? false }
}
