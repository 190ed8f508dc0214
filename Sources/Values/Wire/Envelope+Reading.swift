// From a frame to its envelope: one validation of the payload, then each pair once, with the types of FRM-8 and the
// table of FRM-10. Every fault names its key. The body is a slice of one copy of the payload.

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

    /// Reads an envelope from a frame's payload.
    package init(payload: ArraySlice<UInt8>) throws(WireError) {
        let pairs = try Self.found { () throws(PropertyListError) in try FlatDictionary(payload) }
        self.init(try Self.kind(in: pairs))
        var present = EnvelopeKeys()
        var extras: [(String, PropertyListValue)] = []
        for position in 0..<pairs.count {
            let word = try Self.key(position, in: pairs)
            if let key = EnvelopeKey(rawValue: word) {
                guard kind.allowedKeys.contains(key) else { throw .unlistedKey(key, kind) }
                try read(key, EnvelopeValue(key: key, value: Self.value(position, in: pairs)))
                present.insert(key)
            } else {
                guard word.utf8.starts(with: "x-".utf8) else { throw .unknownKey(word) }
                guard extras.count < Limits.extensions else { throw .tooManyExtensions(limit: Limits.extensions) }
                extras.append((word, try Self.value(position, in: pairs).scalar(word)))
            }
        }
        // That they are unique was proved before.
        if !extras.isEmpty { extensions = PropertyListDictionary(uniqueKeysWithValues: extras) }
        if let key = present.firstMissing(of: kind.requiredKeys) { throw .missingKey(key, kind) }
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

    private mutating func read(_ key: EnvelopeKey, _ value: EnvelopeValue) throws(WireError) {
        switch key {
        case .kind: break
        case .app: app = try value.application()
        case .pairing: pairing = try value.identifier()
        case .id: id = try value.identifier()
        case .channel: channel = try value.channel()
        case .sequence: sequence = UInt64(try value.integer(in: 1...Int64.max, "an integer from 1"))
        case .reply: reply = try value.boolean()
        case .deadline: deadline = try value.deadline()
        case .age: age = .milliseconds(try value.integer(in: 0...Int64.max, "an integer from 0"))
        case .remaining: remaining = .milliseconds(try value.integer(in: 0...Int64.max, "an integer from 0"))
        case .attempt: attempt = Int(try value.integer(in: 1...Int64.max, "an integer from 1"))
        case .nonce: nonce = Array(try value.data(count: 16))
        case .code: code = Int(try value.integer(in: Int64.min...Int64.max, "an integer"))
        case .name: name = try value.string()
        case .command: command = try value.string()
        case .topic: topic = try value.shortText()
        case .key: self.key = try value.shortText()
        case .after: after = try value.identifier()
        case .revision: revision = UInt64(try value.integer(in: 1...Int64.max, "an integer from 1"))
        case .offset: offset = UInt64(try value.integer(in: 0...Int64.max, "an integer from 0"))
        case .sealing: try value.checkUnsealed()
        case .body: body = try value.data()
        }
    }
}
