// Where the sixteen bytes of `pairing` lie in a payload: of a broadcast (SES-30) they are all that differs between its
// receivers. A payload in which another value lies in the same bytes has no such place: changing one would change both.

import TandemPropertyList

/// The search for the bytes of `pairing` in an envelope that has been judged right.
enum PairingPlace {
    /// Where the bytes begin; nil if there are none, or if they are another value's too.
    static func find(in payload: RawSpan) -> Int? {
        EnvelopeHead(plain: payload) == nil ? findInAnyShape(payload) : findInPlainShape(payload)
    }

    /// In a plain payload no object is referred to twice, and all lie apart.
    private static func findInPlainShape(_ payload: RawSpan) -> Int? {
        guard let frame = PlainFrame(payload) else { return nil }
        for pair in 1...frame.pairs {
            let key = frame.offset(at: frame.entry(of: pair), in: payload)
            guard payload.plainWord("pairing", at: key) != nil else { continue }
            // Data with a count of its own: three bytes before the content.
            return frame.offset(at: frame.entry(of: frame.pairs + pair), in: payload) + 3
        }
        return nil
    }

    /// Values that share an object begin at the same place.
    private static func findInAnyShape(_ payload: RawSpan) -> Int? {
        let bytes = unsafe payload.withUnsafeBytes { unsafe Array($0) }
        guard let pairs = try? FlatDictionary(bytes[...]) else { return nil }
        var (place, others): (Int?, [Int]) = (nil, [])
        for position in 0..<pairs.count {
            guard case .data(let data)? = try? pairs.value(at: position), let key = try? pairs.key(at: position) else {
                continue
            }
            if key == EnvelopeKey.pairing.rawValue { place = data.startIndex } else { others.append(data.startIndex) }
        }
        return place.flatMap { others.contains($0) ? nil : $0 }
    }
}
