// The types of the strict profile and the markers that announce them (FRM-6 e). The tables are numbers that are
// shifted, not switches: types follow each other at random, and a processor guesses the way through a switch badly.

/// The type of an object.
enum ObjectKind: UInt8 {
    case boolean, integer, real, date, data, ascii, utf16
    /// The tree builder has made its value.
    case built
    /// Containers are last.
    case array, dictionary

    /// The type that a marker announces; nil if that is none of the profile.
    @inline(__always)
    init?(marker: UInt8) {
        // For each high half the number of its type, F for none.
        let kinds: UInt64 = 0xFF9F_F8FF_F654_3210
        // For each marker of a fixed size whether there is such a type: 08, 09, 10-14, 22, 23, 33.
        let fixed: UInt64 = 1 << 0x08 | 1 << 0x09 | 0x1F << 0x10 | 1 << 0x22 | 1 << 0x23 | 1 << 0x33
        guard marker >= 0x40 || fixed &>> UInt64(marker) & 1 == 1 else { return nil }
        self.init(rawValue: UInt8(truncatingIfNeeded: kinds &>> (UInt64(marker >> 4) &* 4) & 0xF))
    }

    /// What a marker without a type means: null, URL, UUID, fill, UID, UTF-8, ordered set and set exist elsewhere; any
    /// other exists nowhere.
    static func refusal(of marker: UInt8) -> PropertyListError.Reason {
        switch marker {
        case 0x00, 0x0C...0x0F, 0x70...0x8F, 0xB0...0xCF: .unsupportedType(marker: marker)
        default: .unknownMarker(marker)
        }
    }

    /// The marker is followed by as many units as its low half or an integer says.
    @inline(__always)
    var isCounted: Bool { rawValue >= Self.data.rawValue }

    /// Making a value of it again costs more than sharing it.
    var isAllocated: Bool { self == .ascii || self == .utf16 || self == .data }

    @inline(__always)
    var isContainer: Bool { rawValue >= Self.array.rawValue }
}

/// The bytes of one unit of each type.
struct UnitWidths {
    /// Six bits for each type.
    private let widths: UInt64

    init(referenceSize: Int) {
        let size = UInt64(truncatingIfNeeded: referenceSize)
        widths =
            Self.bits(1, .integer) | Self.bits(1, .real) | Self.bits(1, .date) | Self.bits(1, .data)
            | Self.bits(1, .ascii)
            | Self.bits(2, .utf16) | Self.bits(size, .array) | Self.bits(2 * size, .dictionary)
    }

    @inline(__always)
    private static func bits(_ width: UInt64, _ kind: ObjectKind) -> UInt64 { width << UInt64(6 * kind.rawValue) }

    @inline(__always)
    subscript(kind: ObjectKind) -> Int { Int(widths &>> UInt64(6 &* kind.rawValue) & 0x3F) }
}
