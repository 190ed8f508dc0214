// One scalar of a payload that is read in place: what it is and where its content lies. It knows the forms that writers
// of envelopes use; nil for any other means that somebody else must judge, not that something is wrong.

/// A boolean, integer, data or ASCII string as it lies in a payload.
struct PlainScalar {
    enum Kind {
        case boolean, integer, data, ascii
    }

    let kind: Kind
    /// Offset of the content; of the marker for a boolean.
    let content: Int
    /// Offset of the byte after the object.
    let end: Int

    var count: Int { end - content }
    var range: Range<Int> { content..<end }
    /// Exact, because ``PlainTable`` refuses payloads that four bytes cannot count.
    var place: EnvelopeHead.Place {
        EnvelopeHead.Place(start: UInt32(truncatingIfNeeded: content), end: UInt32(truncatingIfNeeded: end))
    }

    /// Reads the head of an object.
    /// - Parameters:
    ///   - offset: where it begins, below `limit`.
    ///   - limit: where the objects end; the trailer's 32 bytes follow at some point, so that reading a head never runs
    ///     past the payload.
    @inline(__always)
    init?(at offset: Int, before limit: Int, in payload: RawSpan) {
        guard offset < limit else { return nil }
        let marker = payload.byte(at: offset)
        let low = Int(marker & 0x0F)
        switch marker {
        case 0x40...0x4F, 0x50...0x5F:
            kind = marker < 0x50 ? .data : .ascii
            guard low == 0x0F else {
                (content, end) = (offset + 1, offset + 1 + low)
                break
            }
            let width = payload.byte(at: offset + 1)
            guard 0x10...0x12 ~= width else { return nil }
            content = offset + 2 + (1 << Int(width & 0x0F))
            end = content + Int(payload.number(at: offset + 2, size: 1 << Int(width & 0x0F)))
        case 0x10...0x13: (kind, content, end) = (.integer, offset + 1, offset + 1 + (1 << low))
        case 0x08, 0x09: (kind, content, end) = (.boolean, offset, offset + 1)
        default: return nil
        }
        guard end <= limit else { return nil }
    }
}
