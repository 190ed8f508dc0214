// The head of one object: its type, where its content is and where it ends (FRM-6 e, f, g, h). Reading a head proves
// that the whole object lies before the offset table; the content itself is not looked at.

/// What an object is and where its content lies.
struct ObjectHeader {
    enum Kind {
        case boolean, integer, real, date, data, ascii, utf16, array, dictionary
    }

    let kind: Kind
    /// Offset of the content; of the marker for a boolean.
    let content: Int
    /// Bytes of a number or data, characters of ASCII, code units of UTF-16, elements, or pairs.
    let count: Int
    /// Offset of the byte after the object.
    let end: Int

    /// References that the object holds.
    var references: Int { kind == .array ? count : kind == .dictionary ? 2 * count : 0 }

    /// Reads the head at `offset`, in objects that end at `table.start`.
    init(at offset: Int, in bytes: ByteView, table: ObjectTable) throws(PropertyListError.Reason) {
        guard offset < table.start else { throw .objectTooLong }
        let marker = bytes[offset]
        let low = Int(marker & 0x0F)
        var content = offset + 1
        let unit: Int
        switch marker {
        case 0x08, 0x09: (kind, count, unit, content) = (.boolean, 1, 1, offset)
        case 0x10...0x14: (kind, count, unit) = (.integer, 1 << low, 1)
        case 0x22, 0x23: (kind, count, unit) = (.real, 1 << low, 1)
        case 0x33: (kind, count, unit) = (.date, 8, 1)
        case 0x40...0x6F, 0xA0...0xAF, 0xD0...0xDF:
            (kind, unit) = Self.counted(marker, referenceSize: table.referenceSize)
            (count, content) = try Self.count(low, at: content, in: bytes, before: table.start)
        default: throw Self.refusal(of: marker)
        }
        guard count <= (table.start - content) / unit else { throw .objectTooLong }
        self.content = content
        end = content + count * unit
    }

    /// Reads the head of an object whose place was checked.
    init(object: Int, in bytes: ByteView, table: ObjectTable) throws(PropertyListError) {
        let offset = table.offset(of: object, in: bytes)
        do throws(PropertyListError.Reason) {
            self = try ObjectHeader(at: offset, in: bytes, table: table)
        } catch {
            throw PropertyListError(error, at: .object(object, byte: offset))
        }
    }

    private static func counted(_ marker: UInt8, referenceSize: Int) -> (Kind, Int) {
        switch marker >> 4 {
        case 0x4: (.data, 1)
        case 0x5: (.ascii, 1)
        case 0x6: (.utf16, 2)
        case 0xA: (.array, referenceSize)
        default: (.dictionary, 2 * referenceSize)
        }
    }

    /// The count of a low nibble, or of the integer object that follows the marker, and where the content begins.
    private static func count(
        _ low: Int, at offset: Int, in bytes: ByteView, before end: Int
    ) throws(PropertyListError.Reason) -> (Int, Int) {
        guard low == 0x0F else { return (low, offset) }
        guard offset < end else { throw .objectTooLong }
        guard (0x10...0x13).contains(bytes[offset]) else { throw .invalidCount }
        let size = 1 << Int(bytes[offset] & 0x0F)
        guard size <= end - offset - 1 else { throw .objectTooLong }
        guard let count = Int(exactly: bytes.bigEndian(at: offset + 1, size: size)) else { throw .invalidCount }
        return (count, offset + 1 + size)
    }

    /// Null, URL, UUID, fill, UID, UTF-8, ordered set and set exist elsewhere; any other marker exists nowhere.
    private static func refusal(of marker: UInt8) -> PropertyListError.Reason {
        switch marker {
        case 0x00, 0x0C...0x0F, 0x70...0x8F, 0xB0...0xCF: .unsupportedType(marker: marker)
        default: .unknownMarker(marker)
        }
    }
}
