// Envelopes by the names of their keys, as a test writes any frame, also one that no typed frame would make.

package import TandemBase
package import TandemWire

extension Envelope {
    package init(
        _ kind: FrameKind, app: ApplicationIdentifier? = nil, pairing: UniqueIdentifier? = nil,
        id: UniqueIdentifier? = nil, channel: Channel? = nil, sequence: UInt64? = nil, reply: Bool? = nil,
        deadline: Duration? = nil, age: Duration? = nil, remaining: Duration? = nil, attempt: Int? = nil,
        nonce: [UInt8]? = nil, code: Int? = nil,
        name: String? = nil, command: String? = nil, topic: String? = nil, key: String? = nil,
        after: UniqueIdentifier? = nil, revision: UInt64? = nil, offset: UInt64? = nil, body: [UInt8]? = nil
    ) {
        self.init(kind)
        (self[.after], self[.age], self[.app], self[.attempt]) = (after, age, app, attempt)
        (self[.channel], self[.code], self[.command], self[.deadline]) = (channel, code, command, deadline)
        (self[.id], self[.key], self[.name], self[.offset]) = (id, key, name, offset)
        (self[.pairing], self[.remaining], self[.reply]) = (pairing, remaining, reply)
        (self[.revision], self[.sequence], self[.topic]) = (revision, sequence, topic)
        self.nonce = nonce
        self.body = body.map { $0[...] }
    }

    package var app: ApplicationIdentifier? {
        get { self[.app] }
        set { self[.app] = newValue }
    }
    package var pairing: UniqueIdentifier? {
        get { self[.pairing] }
        set { self[.pairing] = newValue }
    }
    package var id: UniqueIdentifier? {
        get { self[.id] }
        set { self[.id] = newValue }
    }
    package var channel: Channel? {
        get { self[.channel] }
        set { self[.channel] = newValue }
    }
    package var sequence: UInt64? {
        get { self[.sequence] }
        set { self[.sequence] = newValue }
    }
    package var reply: Bool? {
        get { self[.reply] }
        set { self[.reply] = newValue }
    }
    package var wantsReply: Bool { reply ?? false }
    package var deadline: Duration? {
        get { self[.deadline] }
        set { self[.deadline] = newValue }
    }
    package var age: Duration? {
        get { self[.age] }
        set { self[.age] = newValue }
    }
    package var remaining: Duration? {
        get { self[.remaining] }
        set { self[.remaining] = newValue }
    }
    package var attempt: Int? {
        get { self[.attempt] }
        set { self[.attempt] = newValue }
    }
    package var code: Int? {
        get { self[.code] }
        set { self[.code] = newValue }
    }
    package var name: String? {
        get { self[.name] }
        set { self[.name] = newValue }
    }
    package var command: String? {
        get { self[.command] }
        set { self[.command] = newValue }
    }
    package var topic: String? {
        get { self[.topic] }
        set { self[.topic] = newValue }
    }
    package var key: String? {
        get { self[.key] }
        set { self[.key] = newValue }
    }
    package var after: UniqueIdentifier? {
        get { self[.after] }
        set { self[.after] = newValue }
    }
    package var revision: UInt64? {
        get { self[.revision] }
        set { self[.revision] = newValue }
    }
    package var offset: UInt64? {
        get { self[.offset] }
        set { self[.offset] = newValue }
    }
    package var nonce: [UInt8]? {
        get { (self[.nonce] as UniqueIdentifier?)?.bytes }
        set { self[.nonce] = newValue.flatMap { UniqueIdentifier(bytes: $0) } }
    }
}

extension SessionError {
    /// The `failure` that answers a message, or with a channel an item.
    package func failure(
        app: ApplicationIdentifier, pairing: UniqueIdentifier, id: UniqueIdentifier, channel: Channel? = nil
    ) throws(WireError) -> Envelope {
        guard let channel else { return try FailureFrame(app: app, pairing: pairing, id: id, self).envelope }
        return try FailureFrame(of: ItemKey(QueueKey(pairing: pairing, app: app, channel: channel), id), self).envelope
    }

    package init(failure envelope: Envelope) throws(WireError) { self = try FailureFrame(envelope).error() }
}
