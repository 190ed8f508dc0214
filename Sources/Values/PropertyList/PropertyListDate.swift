// Dates as whole milliseconds. Binary property lists carry seconds as a double; milliseconds keep equality exact and
// survive any number of copies. Only the years 1 to 9999 can be written, because other readers stop there.

/// A point in time, in milliseconds since 2001-01-01 00:00:00 UTC.
public struct PropertyListDate: Sendable, Hashable, Comparable {
    /// Milliseconds since 2001, negative before it.
    public let millisecondsSinceReferenceDate: Int64

    /// The point that many milliseconds after 2001; only ``representable`` ones can be written.
    public init(millisecondsSinceReferenceDate: Int64) {
        self.millisecondsSinceReferenceDate = millisecondsSinceReferenceDate
    }

    /// The milliseconds of the years 1 to 9999 of the proleptic Gregorian calendar.
    public static let representable: Range<Int64> = -63_113_904_000_000..<252_423_993_600_000

    /// The nearest millisecond to `seconds`; nil if it is not finite or outside the representable years.
    public init?(secondsSinceReferenceDate seconds: Double) {
        guard let nearest = Int64(exactly: (seconds * 1000).rounded()), Self.representable.contains(nearest) else {
            return nil
        }
        self.init(millisecondsSinceReferenceDate: nearest)
    }

    /// Seconds since the reference date, as a property list carries them.
    public var secondsSinceReferenceDate: Double { Double(millisecondsSinceReferenceDate) / 1000 }

    public static func < (left: Self, right: Self) -> Bool {
        left.millisecondsSinceReferenceDate < right.millisecondsSinceReferenceDate
    }
}
