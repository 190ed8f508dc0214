// Invariants of the routing head that is read in place: if there is a head with a right application identifier, the
// protocol allows the envelope, and every field equals the bytes'. It may always leave a payload to the full reading.

import TandemBase
import TandemPropertyList
import TandemWire

extension EnvelopeHead {
    /// Whether the application identifier is one: the reading in place leaves that to those who compare it.
    package func isAppRight(in payload: [UInt8]) -> Bool {
        (try? ApplicationIdentifier(String(decoding: payload[app], as: UTF8.self))) != nil
    }
}

/// The reading in place held against the reference.
enum HeadOracle {
    /// The violated invariant; nil if none is.
    static func fault(in payload: [UInt8], _ reference: PropertyListDictionary?) -> String? {
        let span = payload.span
        guard let head = EnvelopeHead(plain: span.bytes), head.isAppRight(in: payload) else { return nil }
        guard let reference else { return "read in place, though the protocol forbids it" }
        let pairs: [(String, PropertyListValue?)] = [
            ("kind", .string(head.kind.rawValue)), ("pairing", .data(head.pairing.bytes)), ("id", .data(head.id.bytes)),
            ("app", .string(String(decoding: payload[head.app], as: UTF8.self))),
            ("body", head.body.map { .data(Array(payload[$0])) }),
            ("deadline", head.deadline.map { PropertyListValue($0) }),
        ]
        guard head.wantsReply == (reference["reply"] == true) else { return "reply in place is \(head.wantsReply)" }
        guard reference["channel"] == nil else { return "a frame of an item is read in place" }
        for key in EnvelopeKey.allCases where head.has(key) != (reference[key.rawValue] != nil) {
            return "\(key) in place is \(head.has(key) ? "there" : "missing")"
        }
        for (key, value) in pairs where reference[key] != value {
            return "\(key) in place is \(String(describing: value))"
        }
        return nil
    }
}
