// Day of the proleptic Gregorian calendar, by the days-from-civil method: no date library (and no Foundation) needed.

/// A day of the proleptic Gregorian calendar.
package struct CivilDate: Sendable, Hashable {
    /// The year; 0 is the year before the year 1.
    package let year: Int64
    /// 1 to 12.
    package let month: Int64
    /// 1 to 31.
    package let day: Int64

    /// The day that lies so many days after 1970-01-01: some 10^18 in both directions at most.
    package init(daysSince1970 days: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    }

    /// The day of that year, month and day of the month; nil if there is none, such as 30 February, or if the year is
    /// not within the years -9999 to 9999.
    package init?(year: Int64, month: Int64, day: Int64) {
        guard (-9999...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        guard CivilDate(daysSince1970: daysSince1970) == self else { return nil }
    }

    /// Days from 1970-01-01 to this one, negative before it.
    package var daysSince1970: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

extension Int64 {
    /// The quotient rounded towards minus infinity: the day or minute of a moment before 1970, too.
    package func floored(by divisor: Int64) -> Int64 { self / divisor - (self % divisor < 0 ? 1 : 0) }

    /// Decimal digits behind the sign of a negative number, with zeros in front where there are fewer than `count`.
    package func padded(to count: Int) -> String {
        let digits = String(magnitude)
        return (self < 0 ? "-" : "") + String(repeating: "0", count: Swift.max(0, count - digits.count)) + digits
    }
}
