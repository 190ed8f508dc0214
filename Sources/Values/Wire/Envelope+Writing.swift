// From an envelope to its frame, by the same table as reading: what would be refused at the other end is refused here.

import TandemIdentity
import TandemPropertyList

extension Envelope {
    /// The frame of this envelope, in the canonical writing.
    /// - Throws: ``WireError`` for keys that the kind lacks or must not have, values out of range, and size.
    package func frame(limit: Int = Limits.frame) throws(WireError) -> Frame {
        var pairs = extensions
        var present = EnvelopeKeys()
        for key in EnvelopeKey.allCases {
            guard let value = value(of: key) else { continue }
            guard kind.allowedKeys.contains(key) else { throw .unlistedKey(key, kind) }
            present.insert(key)
            pairs[key.rawValue] = value
        }
        if let key = present.firstMissing(of: kind.requiredKeys) { throw .missingKey(key, kind) }
        try checkRanges()
        return try Frame(payload: try Body.bytes(pairs), limit: limit)
    }

    private func value(of key: EnvelopeKey) -> PropertyListValue? {
        switch key {
        case .kind: .string(kind.rawValue)
        case .app: app.map { .string($0.description) }
        case .pairing: pairing.map { .data($0.bytes) }
        case .id: id.map { .data($0.bytes) }
        case .channel: channel.map { .string($0.rawValue) }
        case .sequence: sequence.map { PropertyListValue($0) }
        case .reply: reply.map { .boolean($0) }
        case .deadline: deadline.map { .integer($0.saturatingMilliseconds) }
        case .age: age.map { .integer($0.saturatingMilliseconds) }
        case .remaining: remaining.map { .integer($0.saturatingMilliseconds) }
        case .attempt: attempt.map { PropertyListValue($0) }
        case .nonce: nonce.map { .data($0) }
        case .code: code.map { PropertyListValue($0) }
        case .name: name.map { .string($0) }
        case .command: command.map { .string($0) }
        case .sealing: nil
        case .body: body.map { .data(Array($0)) }
        }
    }

    private func checkRanges() throws(WireError) {
        let isInRange: [(EnvelopeKey, Bool)] = [
            (.sequence, sequence.map { (1...UInt64(Int64.max)).contains($0) } ?? true),
            (.deadline, deadline.map { Limits.deadline.contains($0) } ?? true),
            (.age, age.map { $0 >= .zero } ?? true),
            (.remaining, remaining.map { $0 >= .zero } ?? true),
            (.attempt, attempt.map { $0 >= 1 } ?? true),
            (.nonce, nonce.map { $0.count == 16 } ?? true),
        ]
        for (key, isInRange) in isInRange where !isInRange {
            throw .invalidValue(key: key.rawValue, expected: "within its range")
        }
    }
}
