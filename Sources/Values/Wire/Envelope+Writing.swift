// From an envelope to its frame, by the same table as reading: what would be refused at the other end is refused here.
// One pass writes keys and values; the body is copied once, to its place in the frame.

import TandemBase
import TandemPropertyList

extension Envelope {
    /// The frame of this envelope, in the canonical writing.
    /// - Throws: ``WireError`` for keys that the kind lacks or must not have, values out of range, and size.
    package func frame(limit: Int = Limits.frame) throws(WireError) -> Frame {
        let keys = present
        try checkKeys(keys)
        try checkRanges()
        try checkExtensions()
        let count = EnvelopeKey.allCases.count { keys.contains($0) } + extensions.count
        var writer = FlatDictionaryWriter()
        do throws(PropertyListError.Reason) {
            try writer.write(count: count) { writer throws(PropertyListError.Reason) in
                try write(keys, to: &writer)
            }
        } catch {
            throw .malformed(PropertyListError(error, at: .path("")))
        }
        let frame = unsafe try Frame(payloadCount: writer.count, limit: limit) { unsafe writer.copy(to: $0) }
        writer.recycle()
        return frame
    }

    /// The keys that have a value here; `sealing` is never written, because absent means plain.
    private var present: EnvelopeKeys {
        var keys = EnvelopeKeys([.kind])
        if app != nil { keys.insert(.app) }
        if pairing != nil { keys.insert(.pairing) }
        if id != nil { keys.insert(.id) }
        if channel != nil { keys.insert(.channel) }
        if sequence != nil { keys.insert(.sequence) }
        if reply != nil { keys.insert(.reply) }
        if deadline != nil { keys.insert(.deadline) }
        if age != nil { keys.insert(.age) }
        if remaining != nil { keys.insert(.remaining) }
        if attempt != nil { keys.insert(.attempt) }
        if nonce != nil { keys.insert(.nonce) }
        if code != nil { keys.insert(.code) }
        if name != nil { keys.insert(.name) }
        if command != nil { keys.insert(.command) }
        if topic != nil { keys.insert(.topic) }
        if key != nil { keys.insert(.key) }
        if after != nil { keys.insert(.after) }
        if revision != nil { keys.insert(.revision) }
        if offset != nil { keys.insert(.offset) }
        if body != nil { keys.insert(.body) }
        return keys
    }

    /// All keys, then all values. Extensions come last, because `x-` sorts behind every word of FRM-8.
    private func write(
        _ keys: EnvelopeKeys, to writer: inout FlatDictionaryWriter
    ) throws(PropertyListError.Reason) {
        for key in EnvelopeKey.allCases where keys.contains(key) { try writer.add(key: key.rawValue) }
        for pair in extensions { try writer.add(key: pair.key) }
        for key in EnvelopeKey.allCases where keys.contains(key) { try write(key, to: &writer) }
        for pair in extensions { try writer.add(flat: pair.value) }
    }

    private func write(
        _ key: EnvelopeKey, to writer: inout FlatDictionaryWriter
    ) throws(PropertyListError.Reason) {
        switch key {
        case .kind: try writer.add(kind.rawValue)
        case .app: if let app { try writer.add(app.description) }
        case .pairing: if let pairing { try writer.add(pairing.high, pairing.low) }
        case .id: if let id { try writer.add(id.high, id.low) }
        case .channel: if let channel { try writer.add(channel.rawValue) }
        case .sequence: if let sequence { try writer.add(sequence) }
        case .reply: if let reply { try writer.add(reply) }
        case .deadline: if let deadline { try writer.add(deadline.saturatingMilliseconds) }
        case .age: if let age { try writer.add(age.saturatingMilliseconds) }
        case .remaining: if let remaining { try writer.add(remaining.saturatingMilliseconds) }
        case .attempt: if let attempt { try writer.add(Int64(attempt)) }
        case .nonce: if let nonce { try writer.add(nonce[...]) }
        case .code: if let code { try writer.add(Int64(code)) }
        case .name: if let name { try writer.add(name) }
        case .command: if let command { try writer.add(command) }
        case .topic: if let topic { try writer.add(topic) }
        case .key: if let value = self.key { try writer.add(value) }
        case .after: if let after { try writer.add(after.high, after.low) }
        case .revision: if let revision { try writer.add(revision) }
        case .offset: if let offset { try writer.add(offset) }
        case .sealing: break
        case .body: if let body { try writer.add(detached: body) }
        }
    }
}

// MARK: What the other end would refuse

extension Envelope {
    private func checkKeys(_ keys: EnvelopeKeys) throws(WireError) {
        let allowed = kind.allowedKeys
        if let key = EnvelopeKey.allCases.first(where: { keys.contains($0) && !allowed.contains($0) }) {
            throw .unlistedKey(key, kind)
        }
        if let key = keys.firstMissing(of: kind.requiredKeys) { throw .missingKey(key, kind) }
    }

    private func checkRanges() throws(WireError) {
        if let sequence { try check((1...UInt64(Int64.max)).contains(sequence), .sequence) }
        if let deadline { try check(Limits.deadline.contains(deadline), .deadline) }
        if let age { try check(age >= .zero, .age) }
        if let remaining { try check(remaining >= .zero, .remaining) }
        if let attempt { try check(attempt >= 1, .attempt) }
        if let nonce { try check(nonce.count == 16, .nonce) }
        if let topic { try check(topic.isShortText, .topic) }
        if let key { try check(key.isShortText, .key) }
        if let revision { try check((1...UInt64(Int64.max)).contains(revision), .revision) }
        if let offset { try check(offset <= UInt64(Int64.max), .offset) }
    }

    private func check(_ isInRange: Bool, _ key: EnvelopeKey) throws(WireError) {
        guard isInRange else { throw .invalidValue(key: key.rawValue, expected: "within its range") }
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
