// Dates counted from 1970, as JSON and people's tools count them.

extension PropertyListDate {
    private static let referenceDate: Int64 = 978_307_200_000

    /// Milliseconds since 1970-01-01 00:00:00 UTC; held to the integer's range.
    package var millisecondsSince1970: Int64 {
        let (sum, overflow) = millisecondsSinceReferenceDate.addingReportingOverflow(Self.referenceDate)
        return overflow ? .max : sum
    }

    /// The date this many milliseconds after 1970; nil outside the years that a property list can hold.
    package init?(millisecondsSince1970 milliseconds: Int64) {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(Self.referenceDate)
        guard !overflow, Self.representable.contains(difference) else { return nil }
        self.init(millisecondsSinceReferenceDate: difference)
    }
}
