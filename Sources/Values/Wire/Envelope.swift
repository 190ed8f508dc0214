// The flat part of a frame (FRM-8): its kind and the values of its keys, by the tables of ``EnvelopeKey`` and
// ``FrameKind``. The body is the bytes as they came, a slice of one copy of the payload; nothing here opens it. An end
// reads and writes a frame as a ``TypedFrame``; the subscript serves code that treats all frames alike.

package import TandemBase
package import TandemPropertyList

/// The envelope of a frame.
package struct Envelope: Sendable, Equatable {
    package var kind: FrameKind
    /// Never opened on the forwarding path; a slice of the frame's payload when it was read.
    package var body: ArraySlice<UInt8>?
    /// The keys that have a value here, but for `kind` and `body`; `sealing` has none, because its only value says
    /// nothing.
    private var keys = EnvelopeKeys()
    // In place and not in an array: an envelope is made and read for each durable item, several times.
    /// The values of a fixed size, at the numbers of their keys.
    private var words = EnvelopeKey.Words(repeating: 0)
    private var texts = EnvelopeKey.Texts(repeating: "")
    private var application: ApplicationIdentifier?
    /// Keys that start with `x-`: kept, and decide nothing.
    package var extensions = PropertyListDictionary()

    package init(_ kind: FrameKind) { self.kind = kind }

    /// The value of a key as the Swift type that is asked for; nil if there is none or it is no such value.
    package subscript<Value: EnvelopeField>(key: EnvelopeKey) -> Value? {
        @inline(__always) get { value(of: key).flatMap { Value($0) } }
        @inline(__always) set {
            if let newValue { set(newValue.envelopeValue, of: key) } else if keys.contains(key) { remove(key) }
        }
    }

    /// The keys that have a value, and their values, in the order of the words; without `kind` and `body`.
    package var values: [(key: EnvelopeKey, value: EnvelopeValue)] {
        EnvelopeKey.allCases.compactMap { key in value(of: key).map { (key, $0) } }
    }

    /// The value of an extension; nil if there is none, or one of another type, which anybody may have added.
    func integer(ofExtension word: String) -> Int64? { extensions[word]?.integerValue }

    package func has(_ key: EnvelopeKey) -> Bool { keys.contains(key) }

    /// Whether the frame is about this application. Compares in place: the subscript would copy the name.
    package func isAbout(_ app: ApplicationIdentifier) -> Bool { application == app }

    /// The value of a key that the kind must have.
    /// - Throws: ``WireError/missingKey(_:_:)``, or ``WireError/invalidValue(key:expected:)`` for a word that is not of
    ///   a closed list.
    @inline(__always)
    package func required<Value: EnvelopeField>(_ key: EnvelopeKey) throws(WireError) -> Value {
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

    /// The body of a kind that must have one.
    func requiredBody() throws(WireError) -> ArraySlice<UInt8> {
        guard let body else { throw .missingKey(.body, kind) }
        return body
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

    @inline(__always)
    private func value(of key: EnvelopeKey) -> EnvelopeValue? {
        guard keys.contains(key) else { return nil }
        let word = words[Int(key.number)]
        switch key.type {
        case .application: return application.map { .application($0) }
        case .channel: return .channel(Channel(number: Int(truncatingIfNeeded: word)))
        case .identifier: return .identifier(UniqueIdentifier(word))
        case .boolean: return .boolean(word != 0)
        case .integer: return .integer(Int64(truncatingIfNeeded: word))
        case .text(let index), .shortText(let index): return .text(texts[index])
        case .kind, .body, .zero: return nil
        }
    }

    @inline(__always)
    mutating func set(_ value: EnvelopeValue, of key: EnvelopeKey) {
        keys.insert(key)
        switch (value, key.type) {
        case (.boolean(let value), _): words[Int(key.number)] = value ? 1 : 0
        case (.integer(let value), _): words[Int(key.number)] = UInt128(truncatingIfNeeded: value)
        case (.identifier(let value), _): words[Int(key.number)] = UInt128(value)
        case (.channel(let value), _): words[Int(key.number)] = UInt128(truncatingIfNeeded: value.number)
        case (.application(let value), _): application = value
        case (.text(let value), .text(let index)), (.text(let value), .shortText(let index)): texts[index] = value
        case (.text, _): preconditionFailure("text is given to a key of text")
        }
    }

    package mutating func remove(_ key: EnvelopeKey) {
        keys.remove(key)
        switch key.type {
        case .body: body = nil
        case .application: application = nil
        case .text(let index), .shortText(let index): texts[index] = ""
        default: words[Int(key.number)] = 0
        }
    }

    package static func == (left: Envelope, right: Envelope) -> Bool {
        guard left.kind == right.kind, left.keys == right.keys, left.body == right.body,
            left.application == right.application, left.extensions == right.extensions
        else { return false }
        // Absent fields are zero or empty.
        return left.words.indices.allSatisfy { left.words[$0] == right.words[$0] }
            && left.texts.indices.allSatisfy { left.texts[$0] == right.texts[$0] }
    }
}

extension UInt128 {
    fileprivate init(_ identifier: UniqueIdentifier) {
        self = UInt128(identifier.high) << 64 | UInt128(identifier.low)
    }
}

extension UniqueIdentifier {
    fileprivate init(_ word: UInt128) {
        self.init(high: UInt64(truncatingIfNeeded: word >> 64), low: UInt64(truncatingIfNeeded: word))
    }
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
            let count = 1 + keys.count + (body == nil ? 0 : 1) + extensions.count
            try writer.write(count: count) { writer throws(PropertyListError.Reason) in try write(to: &writer) }
        } catch {
            throw .malformed(PropertyListError(error, at: .path("")))
        }
        let frame = unsafe try Frame(payloadCount: writer.count, limit: limit) { unsafe writer.copy(to: $0) }
        writer.recycle()
        return frame
    }

    /// All keys, then all values. Extensions come last, because `x-` sorts behind every word of FRM-8.
    private func write(to writer: inout FlatDictionaryWriter) throws(PropertyListError.Reason) {
        let present = present
        // The words of the table are right keys.
        try present.forEach { key throws(PropertyListError.Reason) in try writer.add(key.rawValue) }
        for pair in extensions { try writer.add(key: pair.key) }
        try present.forEach { key throws(PropertyListError.Reason) in
            switch key {
            case .kind: try writer.add(kind.rawValue)
            // It stays where it is until all is copied.
            case .body: if let body { try writer.add(detached: body) }
            default: try value(of: key)?.write(to: &writer)
            }
        }
        for pair in extensions { try writer.add(flat: pair.value) }
    }

    /// The keys that a frame of this envelope has.
    private var present: EnvelopeKeys {
        var keys = keys
        keys.insert(.kind)
        if body != nil { keys.insert(.body) }
        return keys
    }

    /// The position of a key's value among the frame's values, if no other value could equal another one of its type
    /// but the pairing; nil otherwise.
    func position(ofExchangeable key: EnvelopeKey) -> Int? {
        let others: EnvelopeKeys = [.app, .channel, .kind, .name, .pairing]
        var allowed = others
        allowed.insert(key)
        let present = present
        guard present.contains(key), allowed.isSuperset(of: present), extensions.isEmpty else { return nil }
        return present.before(key).count
    }

    private func checkFields() throws(WireError) {
        let (present, row) = (present, kind.row)
        guard row.allows(present) else {
            if let key = row.allowed.firstMissing(of: present) { throw .unlistedKey(key, kind) }
            throw .missingKey(present.firstMissing(of: row.required) ?? .kind, kind)
        }
        try keys.forEach { key throws(WireError) in
            if let value = value(of: key), !value.isInRange(of: key) {
                throw .invalidValue(key: key.rawValue, expected: "within its range")
            }
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

// MARK: Reading

// From a frame to its envelope. A plain payload is read where it lies, in one pass: the frames of durable items come
// this way. A payload that this pass refuses or finds unusual is read in every shape that FRM-6 allows, after one
// validation of the whole payload, and its fault named with its key. Only the body and texts are copied.

extension Envelope {
    /// Reads the envelope of a frame.
    /// - Parameter app: the application that it is about, as far as its reader knows. The envelope then shares the
    ///   text, which a durable item keeps for as long as it is in a queue.
    /// - Throws: ``WireError`` naming the first fault.
    package init(reading frame: Frame, of app: ApplicationIdentifier? = nil) throws(WireError) {
        self.init(.message)
        if !frame.withPayload({ read(plain: $0, of: app) }) {
            self = try Envelope(payload: frame.payload.copied()[...])
        }
    }

    /// Reads an envelope from a frame's payload in any shape.
    package init(payload: ArraySlice<UInt8>) throws(WireError) {
        let pairs: FlatDictionary
        do { pairs = try FlatDictionary(payload) } catch { throw .malformed(error) }
        self.init(try Self.kind(in: pairs))
        let row = kind.row
        var present = EnvelopeKeys()
        var extras: [(String, PropertyListValue)] = []
        for position in 0..<pairs.count {
            let word = pairs.key(at: position)
            if let key = EnvelopeKey(word: word) {
                guard row.allowed.contains(key) else { throw .unlistedKey(key, kind) }
                present.insert(key)
                switch (key, pairs.value(at: position)) {
                case (.kind, _): break
                case (.body, .data(let data)): body = data
                case (.name, .string(let text)) where kind == .failure && text.utf8.count > Limits.envelopeText:
                    // Apps of earlier releases choose the name of an error, and their daemons send it whole: LIM-155.
                    break
                case (_, let value): if let value = try EnvelopeValue(value, of: key) { set(value, of: key) }
                }
            } else {
                guard word.utf8.starts(with: "x-".utf8) else { throw .unknownKey(word) }
                guard extras.count < Limits.extensions else { throw .tooManyExtensions(limit: Limits.extensions) }
                extras.append((word, try pairs.value(at: position).scalar(word)))
            }
        }
        // That they are unique was proved before.
        if !extras.isEmpty { extensions = PropertyListDictionary(uniqueKeysWithValues: extras) }
        if let key = present.firstMissing(of: row.required) { throw .missingKey(key, kind) }
    }

    private static func kind(in pairs: FlatDictionary) throws(WireError) -> FrameKind {
        for position in 0..<pairs.count where EnvelopeKey(word: pairs.key(at: position)) == .kind {
            guard case .string(let word) = pairs.value(at: position) else {
                throw .invalidValue(key: EnvelopeKey.kind.rawValue, expected: "a string")
            }
            guard let kind = FrameKind(word: word) else { throw .unknownKind(word) }
            return kind
        }
        throw .missingKind
    }
}

// MARK: In place

extension Envelope {
    /// Reads a frame's payload; nil if it is not plain or not right.
    package init?(plain payload: RawSpan) {
        self.init(.message)
        guard read(plain: payload) else { return nil }
    }

    /// Reads a payload into a new envelope. In place: returning an optional would copy hundreds of bytes.
    /// - Parameter app: as in ``init(reading:of:)``.
    /// - Returns: false if the payload is not plain or not right; the fields are then undefined.
    private mutating func read(plain payload: RawSpan, of app: ApplicationIdentifier? = nil) -> Bool {
        application = app
        guard let frame = PlainFrame(payload), let keys = frame.walk(payload, with: &self), kind.row.allows(keys) else {
            return false
        }
        // Among the keys that are required is `kind`, and not always an application.
        if !keys.contains(.app) { application = nil }
        return true
    }
}

extension Envelope: PlainConsumer {
    mutating func take(_ key: Int, _ value: Int, before limit: Int, _ payload: RawSpan) -> PlainPair? {
        // Writers sort the keys: the next one is behind those that were read.
        guard let (index, keyEnd) = EnvelopeKey.plainWords.find(payload, at: key, from: keys.last) else { return nil }
        let key = EnvelopeKey(number: index)
        guard let valueEnd = take(key, at: value, before: limit, payload) else { return nil }
        return (key, keyEnd, valueEnd)
    }

    /// Takes the value of a key.
    /// - Returns: where it ends; nil if it is not plain or not right.
    @inline(__always)
    private mutating func take(_ key: EnvelopeKey, at offset: Int, before limit: Int, _ payload: RawSpan) -> Int? {
        switch key.type {
        case .kind:
            guard let plain = FrameKind.plainWords.find(payload, at: offset, from: 0) else { return nil }
            kind = FrameKind(number: plain.value)
            return plain.end
        case .application:
            guard let plain = payload.plainApplication(at: offset, before: limit) else { return nil }
            return set(.application(application(payload, plain.value.bounds)), key, plain.end)
        case .channel:
            guard let plain = Channel.plainWords.find(payload, at: offset, from: 0) else { return nil }
            return set(.channel(Channel(number: plain.value)), key, plain.end)
        case .identifier:
            guard let plain = payload.plainIdentifier(at: offset) else { return nil }
            return set(.identifier(plain.value), key, plain.end)
        case .boolean:
            guard let plain = payload.plainBoolean(at: offset) else { return nil }
            return set(.boolean(plain.value), key, plain.end)
        case .integer(let range, _):
            guard let plain = payload.plainInteger(at: offset, in: range) else { return nil }
            return set(.integer(plain.value), key, plain.end)
        case .text:
            guard let plain = payload.plainText(at: offset, before: limit) else { return nil }
            return set(.text(payload.asciiText(plain.value.bounds)), key, plain.end)
        case .shortText:
            guard let plain = payload.plainTopic(at: offset, before: limit) else { return nil }
            return set(.text(payload.asciiText(plain.value.bounds)), key, plain.end)
        case .body:
            guard let plain = payload.plainData(at: offset, before: limit) else { return nil }
            body = payload.copy(plain.value.bounds)[...]
            return plain.end
        case .zero: return payload.plainInteger(at: offset, in: 0...0)?.end
        }
    }

    private func application(_ payload: RawSpan, _ bounds: Range<Int>) -> ApplicationIdentifier {
        // The one that the reader knows. The bytes of a text have no padding that could be read.
        if let known = application,
            unsafe payload.extracting(bounds).isEqual(to: known.description.utf8Span.span.bytes)
        {
            return known
        }
        return ApplicationIdentifier(checked: payload.asciiText(bounds))
    }

    @inline(__always)
    private mutating func set(_ value: EnvelopeValue, _ key: EnvelopeKey, _ end: Int) -> Int {
        set(value, of: key)
        return end
    }
}
