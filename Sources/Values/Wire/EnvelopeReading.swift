// From a frame to its envelope. A plain payload is read where it lies, in one pass: the frames of durable items come
// this way. What is refused or unusual there is read in every shape that FRM-6 allows, after one validation of the whole
// payload, and its fault named with its key. Only the body and texts are copied.

import TandemBase
import TandemPropertyList

extension Envelope {
    /// Reads the envelope of a frame.
    /// - Throws: ``WireError`` naming the first fault.
    package init(reading frame: Frame) throws(WireError) {
        if let plain = frame.withPayload({ Envelope(plain: $0) }) {
            self = plain
        } else {
            try self.init(payload: frame.payload.copied()[...])
        }
    }

    /// Reads an envelope from a frame's payload in any shape.
    package init(payload: ArraySlice<UInt8>) throws(WireError) {
        let pairs = try Self.found { () throws(PropertyListError) in try FlatDictionary(payload) }
        self.init(try Self.kind(in: pairs))
        let row = kind.row
        var present = EnvelopeKeys()
        var extras: [(String, PropertyListValue)] = []
        for position in 0..<pairs.count {
            let word = try Self.key(position, in: pairs)
            if let key = EnvelopeKey(rawValue: word) {
                guard row.allowed.contains(key) else { throw .unlistedKey(key, kind) }
                present.insert(key)
                switch (key, try Self.value(position, in: pairs)) {
                case (.kind, _): break
                case (.body, .data(let data)): body = data
                case (_, let value): set(try EnvelopeValue(value, of: key), of: key)
                }
            } else {
                guard word.utf8.starts(with: "x-".utf8) else { throw .unknownKey(word) }
                guard extras.count < Limits.extensions else { throw .tooManyExtensions(limit: Limits.extensions) }
                extras.append((word, try Self.value(position, in: pairs).scalar(word)))
            }
        }
        // That they are unique was proved before.
        if !extras.isEmpty { extensions = PropertyListDictionary(uniqueKeysWithValues: extras) }
        if let key = present.firstMissing(of: row.required) { throw .missingKey(key, kind) }
    }

    private static func kind(in pairs: FlatDictionary) throws(WireError) -> FrameKind {
        for position in 0..<pairs.count where try key(position, in: pairs) == EnvelopeKey.kind.rawValue {
            guard case .string(let word) = try value(position, in: pairs) else {
                throw .invalidValue(key: EnvelopeKey.kind.rawValue, expected: "a string")
            }
            guard let kind = FrameKind(rawValue: word) else { throw .unknownKind(word) }
            return kind
        }
        throw .missingKind
    }

    private static func key(_ position: Int, in pairs: FlatDictionary) throws(WireError) -> String {
        try found { () throws(PropertyListError) in try pairs.key(at: position) }
    }

    private static func value(_ position: Int, in pairs: FlatDictionary) throws(WireError) -> FlatDictionary.Value {
        try found { () throws(PropertyListError) in try pairs.value(at: position) }
    }

    private static func found<Part>(_ part: () throws(PropertyListError) -> Part) throws(WireError) -> Part {
        do { return try part() } catch { throw .malformed(error) }
    }
}

// MARK: In place

extension Envelope {
    /// Reads a frame's payload; nil if it is not plain or not right.
    package init?(plain payload: RawSpan) {
        guard let frame = PlainFrame(payload) else { return nil }
        var reader = PlainEnvelopeReader()
        // `kind` is among the keys that are required.
        guard let keys = frame.walk(payload, with: &reader), reader.envelope.kind.row.allows(keys) else { return nil }
        self = reader.envelope
    }
}

private struct PlainEnvelopeReader: PlainConsumer {
    var envelope = Envelope(.message)
    private var next = 0

    mutating func take(_ key: Int, _ value: Int, before limit: Int, _ payload: RawSpan) -> PlainPair? {
        guard let (place, keyEnd) = EnvelopeKey.plainWords.find(payload, at: key, from: next) else { return nil }
        // Writers sort the keys.
        next = place
        let key = EnvelopeKey(place: place)
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
            envelope.kind = FrameKind(place: plain.value)
            return plain.end
        case .application:
            guard let plain = payload.plainApplication(at: offset, before: limit) else { return nil }
            let app = ApplicationIdentifier(checked: payload.asciiText(plain.value.range))
            return set(.application(app), key, plain.end)
        case .channel:
            guard let plain = Channel.plainWords.find(payload, at: offset, from: 0) else { return nil }
            return set(.channel(Channel(place: plain.value)), key, plain.end)
        case .identifier:
            guard let plain = payload.plainIdentifier(at: offset) else { return nil }
            return set(.identifier(plain.value), key, plain.end)
        case .boolean:
            guard let plain = payload.plainBoolean(at: offset) else { return nil }
            return set(.boolean(plain.value), key, plain.end)
        case .integer(let range, _):
            guard let plain = payload.plainInteger(at: offset), range.contains(plain.value) else { return nil }
            return set(.integer(plain.value), key, plain.end)
        case .text:
            guard let plain = payload.plainText(at: offset, before: limit) else { return nil }
            return set(.text(payload.asciiText(plain.value.range)), key, plain.end)
        case .shortText:
            guard let plain = payload.plainTopic(at: offset, before: limit) else { return nil }
            return set(.text(payload.asciiText(plain.value.range)), key, plain.end)
        case .body:
            guard let plain = payload.plainData(at: offset, before: limit) else { return nil }
            envelope.body = payload.copy(plain.value.range)[...]
            return plain.end
        case .zero: return payload.plainZero(at: offset)?.end
        }
    }

    @inline(__always)
    private mutating func set(_ value: EnvelopeValue, _ key: EnvelopeKey, _ end: Int) -> Int {
        envelope.set(value, of: key)
        return end
    }
}
