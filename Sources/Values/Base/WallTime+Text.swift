// The one text form of wall time: ISO 8601 in UTC with a Z, to the second, as logs, status and expiry lines show it.
// The calendar arithmetic is the days-from-civil method, so that no date library (and no Foundation) is needed.

extension WallTime: CustomStringConvertible {
    /// `2026-11-21T09:30:00Z`.
    public var description: String {
        let seconds = milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
        let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let time = seconds - day * 86_400
        let date = Self.civil(day: day)
        return "\(date.year)-\(Self.two(date.month))-\(Self.two(date.day))"
            + "T\(Self.two(time / 3600)):\(Self.two(time / 60 % 60)):\(Self.two(time % 60))Z"
    }

    private static func two(_ number: Int64) -> String { (number < 10 ? "0" : "") + String(number) }

    /// The Gregorian date of a count of days since 1970-01-01.
    private static func civil(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}
