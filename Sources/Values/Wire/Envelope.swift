// The flat part of a frame (FRM-8): its kind and the values of its keys, by the tables of ``EnvelopeKey`` and
// ``FrameKind``. The body is the bytes as they came, a slice of one copy of the payload; nothing here opens it. What is
// not only forwarded is taken on as a ``TypedFrame``.

package import TandemBase
package import TandemPropertyList

/// The envelope of a frame.
package struct Envelope: Sendable, Equatable {
    private struct Field: Sendable, Equatable {
        let key: EnvelopeKey
        var value: EnvelopeValue
    }

    package var kind: FrameKind
    /// In the order of the keys, each of them once; without `kind`, and without `sealing`, which says nothing.
    private var fields: [Field] = []
    /// Keys that start with `x-`: kept, and decide nothing.
    package var extensions = PropertyListDictionary()

    package init(_ kind: FrameKind) { self.kind = kind }

    /// The value of a key as the Swift type that is asked for; nil if there is none or it is no such value.
    package subscript<Value: EnvelopeField>(key: EnvelopeKey) -> Value? {
        @inline(__always) get { value(of: key).flatMap { Value($0) } }
        @inline(__always) set { set(newValue?.envelopeValue, of: key) }
    }

    /// The value of a key that the kind must have.
    /// - Throws: ``WireError/missingKey(_:_:)``, or ``WireError/invalidValue(key:expected:)`` for a word that is not of
    ///   a closed list.
    @inline(__always)
    func required<Value: EnvelopeField>(_ key: EnvelopeKey) throws(WireError) -> Value {
        guard let value = value(of: key) else { throw .missingKey(key, kind) }
        return try converted(value, of: key)
    }

    /// The value of a key that the kind may have.
    /// - Throws: ``WireError/invalidValue(key:expected:)`` for a word that is not of a closed list.
    @inline(__always)
    func optional<Value: EnvelopeField>(_ key: EnvelopeKey) throws(WireError) -> Value? {
        guard let value = value(of: key) else { return nil }
        return try converted(value, of: key)
    }

    @inline(__always)
    private func converted<Value: EnvelopeField>(
        _ value: EnvelopeValue, of key: EnvelopeKey
    ) throws(WireError) -> Value {
        guard let converted = Value(value) else {
            throw .invalidValue(key: key.rawValue, expected: "a known word for this kind of frame")
        }
        return converted
    }

    func value(of key: EnvelopeKey) -> EnvelopeValue? {
        for field in fields where field.key == key { return field.value }
        return nil
    }

    mutating func set(_ value: EnvelopeValue?, of key: EnvelopeKey) {
        // Readers and writers take the keys in their order.
        guard let last = fields.last, last.key.place >= key.place else {
            if let value { fields.append(Field(key: key, value: value)) }
            return
        }
        let place = fields.firstIndex { $0.key.place >= key.place } ?? fields.count
        if fields[place].key == key { fields.remove(at: place) }
        if let value { fields.insert(Field(key: key, value: value), at: place) }
    }

    package mutating func remove(_ key: EnvelopeKey) { set(nil, of: key) }

    /// Makes room for so many values.
    mutating func reserve(_ count: Int) { fields.reserveCapacity(count) }
}

// MARK: Writing

extension Envelope {
    /// The frame of this envelope, in the canonical writing: one pass writes keys and values, and the body is copied
    /// once, to its place in the frame.
    /// - Throws: ``WireError`` for what would be refused at the other end: keys that the kind lacks or must not have,
    ///   values out of range, and size.
    package func frame(limit: Int = Limits.frame) throws(WireError) -> Frame {
        try checkFields()
        try checkExtensions()
        var writer = FlatDictionaryWriter()
        do throws(PropertyListError.Reason) {
            try writer.write(count: 1 + fields.count + extensions.count) { writer throws(PropertyListError.Reason) in
                try write(to: &writer)
            }
        } catch {
            throw .malformed(PropertyListError(error, at: .path("")))
        }
        let frame = unsafe try Frame(payloadCount: writer.count, limit: limit) { unsafe writer.copy(to: $0) }
        writer.recycle()
        return frame
    }

    /// All keys, then all values. Extensions come last, because `x-` sorts behind every word of FRM-8.
    private func write(to writer: inout FlatDictionaryWriter) throws(PropertyListError.Reason) {
        let split = fields.firstIndex { $0.key.place > EnvelopeKey.kind.place } ?? fields.count
        for field in fields[..<split] { try writer.add(key: field.key.rawValue) }
        try writer.add(key: EnvelopeKey.kind.rawValue)
        for field in fields[split...] { try writer.add(key: field.key.rawValue) }
        for pair in extensions { try writer.add(key: pair.key) }
        for field in fields[..<split] { try field.value.write(to: &writer, isBody: field.key == .body) }
        try writer.add(kind.rawValue)
        for field in fields[split...] { try field.value.write(to: &writer, isBody: false) }
        for pair in extensions { try writer.add(flat: pair.value) }
    }

    private func checkFields() throws(WireError) {
        var keys: EnvelopeKeys = [.kind]
        for field in fields { keys.insert(field.key) }
        let row = kind.row
        guard row.allows(keys) else {
            if let field = fields.first(where: { !row.allowed.contains($0.key) }) { throw .unlistedKey(field.key, kind) }
            throw .missingKey(keys.firstMissing(of: row.required) ?? .kind, kind)
        }
        for field in fields where !field.value.isAllowed(for: field.key) {
            throw .invalidValue(key: field.key.rawValue, expected: "within its range")
        }
    }

    private func checkExtensions() throws(WireError) {
        for pair in extensions {
            guard pair.key.utf8.starts(with: "x-".utf8) else { throw .unknownKey(pair.key) }
            switch pair.value {
            case .boolean, .integer, .unsigned, .string, .data: break
            case .real, .date, .array, .dictionary:
                throw .invalidValue(key: pair.key, expected: "a boolean, integer, string or data")
            }
        }
    }
}

extension FlatDictionaryWriter {
    /// Adds the value of an extension, which was checked to be flat.
    fileprivate mutating func add(flat value: PropertyListValue) throws(PropertyListError.Reason) {
        switch value {
        case .boolean(let value): try add(value)
        case .integer(let value): try add(value)
        case .unsigned(let value): try add(value)
        case .string(let value): try add(value)
        case .data(let value): try add(value[...])
        case .real, .date, .array, .dictionary: preconditionFailure("extensions are checked before they are written")
        }
    }
}

// MARK: Values by name

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
        reserve(8)
        self.after = after
        self.age = age
        self.app = app
        self.attempt = attempt
        self.body = body.map { $0[...] }
        self.channel = channel
        self.code = code
        self.command = command
        self.deadline = deadline
        self.id = id
        self.key = key
        self.name = name
        self.nonce = nonce
        self.offset = offset
        self.pairing = pairing
        self.remaining = remaining
        self.reply = reply
        self.revision = revision
        self.sequence = sequence
        self.topic = topic
    }

    package var app: ApplicationIdentifier? { get { self[.app] } set { self[.app] = newValue } }
    package var pairing: UniqueIdentifier? { get { self[.pairing] } set { self[.pairing] = newValue } }
    package var id: UniqueIdentifier? { get { self[.id] } set { self[.id] = newValue } }
    package var channel: Channel? { get { self[.channel] } set { self[.channel] = newValue } }
    /// Position of a durable item; from 1.
    package var sequence: UInt64? { get { self[.sequence] } set { self[.sequence] = newValue } }
    /// Whether a reply is wanted; absent means no.
    package var reply: Bool? { get { self[.reply] } set { self[.reply] = newValue } }
    /// How long the sender still waits, within ``Limits/deadline``; whole milliseconds on the wire.
    package var deadline: Duration? { get { self[.deadline] } set { self[.deadline] = newValue } }
    /// Time since acceptance in the sender's daemon; whole milliseconds on the wire.
    package var age: Duration? { get { self[.age] } set { self[.age] = newValue } }
    /// Time until a durable item expires; whole milliseconds on the wire.
    package var remaining: Duration? { get { self[.remaining] } set { self[.remaining] = newValue } }
    /// Delivery attempt; from 1.
    package var attempt: Int? { get { self[.attempt] } set { self[.attempt] = newValue } }
    package var code: Int? { get { self[.code] } set { self[.code] = newValue } }
    package var name: String? { get { self[.name] } set { self[.name] = newValue } }
    package var command: String? { get { self[.command] } set { self[.command] = newValue } }
    /// Which handler is meant; 1 to 128 bytes without NUL.
    package var topic: String? { get { self[.topic] } set { self[.topic] = newValue } }
    /// Items with the same key supersede each other; 1 to 128 bytes without NUL.
    package var key: String? { get { self[.key] } set { self[.key] = newValue } }
    /// The item that must have ended before this one is sent.
    package var after: UniqueIdentifier? { get { self[.after] } set { self[.after] = newValue } }
    /// A context's; from 1.
    package var revision: UInt64? { get { self[.revision] } set { self[.revision] = newValue } }
    /// The first byte of a file's part.
    package var offset: UInt64? { get { self[.offset] } set { self[.offset] = newValue } }
    /// Never opened by who only forwards.
    package var body: ArraySlice<UInt8>? { get { self[.body] } set { self[.body] = newValue } }

    /// 16 bytes; not used in version 1 (FRM-8): a report repeats the item's `id`.
    package var nonce: [UInt8]? {
        get { (self[.nonce] as UniqueIdentifier?)?.bytes }
        set { self[.nonce] = newValue.flatMap { UniqueIdentifier(bytes: $0) } }
    }

    /// Whether the sender waits for an answer.
    package var wantsReply: Bool { reply ?? false }
}
