// Invariants of the envelope check for any payload (FRM-5, FRM-8 to FRM-10): it accepts exactly the payloads that the
// text allows, reports `malformed` exactly for those that are no property list, and loses nothing on the way.

import TandemBase
import TandemPropertyList
import TandemWire

/// Every way of checking one envelope, held against each other.
package enum EnvelopeOracle {
    /// The violated invariant; nil if none is.
    package static func fault(in payload: [UInt8]) -> String? {
        guard (1...Limits.frame).contains(payload.count) else { return nil }
        let reference = ReferenceEnvelope.pairs(payload)
        if let found = HeadOracle.fault(in: payload, reference) { return found }
        do throws(WireError) {
            let envelope = try Envelope(payload: payload[...])
            guard let reference else { return "accepted, though the protocol forbids it" }
            return try meaning(of: envelope, reference)
        } catch {
            if reference != nil { return "refused, though the protocol allows it: \(error)" }
            return refusal(of: payload, error)
        }
    }

    private static func meaning(of envelope: Envelope, _ reference: PropertyListDictionary) throws(WireError) -> String?
    {
        // A canonical writing may be longer than what came in, so its length is not the question here.
        let written = try envelope.frame(limit: .max)
        guard try Body.dictionary(written.payload.copied()[...]) == reference else {
            return "says \(envelope) in place of \(reference)"
        }
        guard try Envelope(reading: written) == envelope else { return "another envelope after one writing" }
        guard try Envelope(reading: written).frame(limit: .max) == written else {
            return "other bytes after two writings"
        }
        return nil
    }

    private static func refusal(of payload: [UInt8], _ error: WireError) -> String? {
        let isDictionary = ReferenceReader.value(payload)?.dictionaryValue != nil
        if case .malformed(let fault) = error {
            return isDictionary ? "malformed, though it is a dictionary: \(fault)" : nil
        }
        return isDictionary ? nil : "\(error), though it is no dictionary"
    }
}
