// The fields of stored records. A record is one byte that names the form, then its fields in rising order of their
// numbers, each its number and its value. Fixed by hand and not a property list, because several are written for each
// item and sorting their keys cost more than the item.

/// A field of a stored record; the raw value is stable, it is stored.
enum RecordField: UInt8, CaseIterable {
    case epoch = 1
    case nextOrdinal, nextSequence, watermark, storedThrough, contextEpoch, clock, wall
    case id = 16
    case precedence, sequence, size, accepted, expires, attempts, supersedes, topic, revision, kind, current, after
    case failure, heard, withdrawal, handing, sent, stored, outcome, code, refusal
    case used = 48
    case start
    case digest = 64
    case body

    /// The first byte of every record.
    static var form: UInt8 { 1 }

    /// How long a value is.
    enum Width {
        /// Nothing: that the field is there says all.
        case none
        /// Eight bytes, the highest first.
        case number
        case identifier
        /// A count in four bytes, the highest first, and as many bytes.
        case counted
    }

    var width: Width {
        switch self {
        case .current, .heard, .handing: .none
        case .id, .after: .identifier
        case .supersedes, .topic, .kind, .withdrawal, .outcome, .refusal, .digest, .body: .counted
        case .epoch, .nextOrdinal, .nextSequence, .watermark, .storedThrough, .contextEpoch, .clock, .wall, .precedence,
            .sequence, .size, .accepted, .expires, .attempts, .revision, .failure, .sent, .stored, .code, .used, .start:
            .number
        }
    }
}
