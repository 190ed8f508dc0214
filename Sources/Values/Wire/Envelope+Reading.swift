// From a frame to its envelope: one validation of the payload, then each pair once, with the types of FRM-8 and the
// table of FRM-10. Every fault names its key. The body stays a slice of the frame.

import TandemPropertyList

extension Envelope {
    /// Reads the envelope of a frame.
    /// - Throws: ``WireError`` naming the first fault.
    package init(reading frame: Frame) throws(WireError) { try self.init(payload: frame.payload) }

    /// Reads an envelope from a frame's payload.
    package init(payload: ArraySlice<UInt8>) throws(WireError) {
        let pairs: FlatDictionary
        do { pairs = try FlatDictionary(payload) } catch { throw .malformed(error) }
        self.init(try Self.kind(in: pairs))
        var present = EnvelopeKeys([])
        for position in 0..<pairs.count {
            let pair = try Self.pair(position, in: pairs)
            if let key = try read(pair.key, pair.value) { present.insert(key) }
        }
        if let key = present.firstMissing(of: kind.requiredKeys) { throw .missingKey(key, kind) }
    }

    private static func pair(
        _ position: Int, in pairs: FlatDictionary
    ) throws(WireError) -> (key: String, value: FlatDictionary.Value) {
        do { return try pairs.pair(at: position) } catch { throw .malformed(error) }
    }

    private static func kind(in pairs: FlatDictionary) throws(WireError) -> FrameKind {
        for position in 0..<pairs.count {
            let pair = try pair(position, in: pairs)
            guard pair.key == EnvelopeKey.kind.rawValue else { continue }
            guard case .string(let word) = pair.value else { throw .invalidValue(key: pair.key, expected: "a string") }
            guard let kind = FrameKind(rawValue: word) else { throw .unknownKind(word) }
            return kind
        }
        throw .missingKind
    }

    /// Takes one pair; nil for an extension.
    private mutating func read(_ word: String, _ value: FlatDictionary.Value) throws(WireError) -> EnvelopeKey? {
        guard let key = EnvelopeKey(rawValue: word) else {
            guard word.utf8.starts(with: "x-".utf8) else { throw .unknownKey(word) }
            extensions[word] = try value.scalar(word)
            return nil
        }
        guard kind.allowedKeys.contains(key) else { throw .unlistedKey(key, kind) }
        try read(key, EnvelopeValue(key: key, value: value))
        return key
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
        case .sealing: try value.checkUnsealed()
        case .body: body = try value.data()
        }
    }
}
