// What must hold for the routing part of an envelope that is read in place: where it says anything at all, the protocol
// allows the envelope, and every field is the one that the bytes hold. It may always leave a payload to the full reading.

import TandemIdentity
import TandemPropertyList
import TandemWire

/// The reading in place held against the reference.
enum HeadOracle {
    /// What does not hold; nil if all is well.
    static func fault(in payload: [UInt8], _ reference: PropertyListDictionary?) -> String? {
        let span = payload.span
        guard let head = EnvelopeHead(plain: span.bytes) else { return nil }
        guard let reference else { return "read in place, though the protocol forbids it" }
        let pairs: [(String, PropertyListValue?)] = [
            ("kind", .string(head.kind.rawValue)), ("pairing", head.pairing.map { .data($0.bytes) }),
            ("id", head.id.map { .data($0.bytes) }), ("channel", head.channel.map { .string($0.rawValue) }),
            ("sequence", head.sequence.map { PropertyListValue($0) }), ("reply", head.reply.map { .boolean($0) }),
            ("deadline", head.deadline.map { PropertyListValue($0) }), ("age", head.age.map { .integer($0) }),
            ("remaining", head.remaining.map { .integer($0) }), ("attempt", head.attempt.map { PropertyListValue($0) }),
            ("app", head.app.map { .string(String(decoding: payload[$0], as: UTF8.self)) }),
            ("body", head.body.map { .data(Array(payload[$0])) }),
        ]
        for (key, value) in pairs where reference[key] != value {
            return "\(key) in place is \(String(describing: value))"
        }
        return nil
    }
}
