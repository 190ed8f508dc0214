// What the scan keeps of one object: its type, where its content lies, and how it is used. The entries of all objects
// are the only table that a lazy view holds beside the bytes.

/// One object of a property list.
struct ObjectEntry {
    /// Offset of the content, or of the byte after the marker.
    var content = 0
    /// Bytes of a number (0 for a boolean) or data, characters of ASCII, code units of UTF-16, elements, or pairs.
    var count = 0
    /// The first eight characters of an ASCII string that may be a key, 0 behind its end; 0 for anything else.
    var start: UInt64 = 0
    var use = ObjectUse()
    var kind = ObjectKind.boolean
    /// A string that may be a key (FRM-6 j), or a dictionary whose keys are in their order.
    var isFit = false

    @inline(__always)
    var isContainer: Bool { kind.isContainer }

    /// A string that may be a key.
    var isKey: Bool { isFit && !isContainer }

    /// References that the object holds.
    @inline(__always)
    var references: Int { kind == .array ? count : kind == .dictionary ? 2 * count : 0 }
}
