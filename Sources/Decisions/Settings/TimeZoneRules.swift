// Rules of a named time zone, from the bytes of a file of the system's time zone database (RFC 8536, version 2 and
// later): the changes of its offset so far, and the rule for all years after them. Damaged bytes are no rules.

import TandemBase

package struct TimeZoneRules: Sendable {
    /// Seconds since 1970 from which an offset holds, ascending, and that offset in seconds to the east.
    private let changes: [(since: Int64, offset: Int)]
    /// Before the first change.
    private let first: Int
    /// After the last change; nil: that of the last one.
    private let yearly: YearlyRule?

    /// The rules in a file's bytes; nil for any other file, and for the first version, which ends in 2038.
    package init?(_ bytes: [UInt8]) {
        guard let old = Header(bytes[...]), old.version >= UInt8(ascii: "2"),
            let header = Header(bytes.dropFirst(Header.length + old.bodyLength(timeSize: 4))),
            header.body.count > header.bodyLength(timeSize: 8), (1...256).contains(header.types)
        else { return nil }
        var body = header.body
        let times = (0..<header.times).map { _ in Int64(bitPattern: Self.takeNumber(&body, 8)) }
        let kinds = (0..<header.times).map { _ in Int(Self.takeNumber(&body, 1)) }
        let offsets = (0..<header.types).map { _ in
            let offset = Int(Int32(truncatingIfNeeded: Self.takeNumber(&body, 4)))
            body = body.dropFirst(2)
            return offset
        }
        let footer = header.body.dropFirst(header.bodyLength(timeSize: 8))
        guard kinds.allSatisfy({ $0 < offsets.count }), offsets.allSatisfy({ (-86_399...86_399).contains($0) }),
            zip(times, times.dropFirst()).allSatisfy({ $0 < $1 }), footer.first == UInt8(ascii: "\n"),
            let end = footer.dropFirst().firstIndex(of: UInt8(ascii: "\n"))
        else { return nil }
        changes = zip(times, kinds).map { ($0, offsets[$1]) }
        first = offsets[0]
        let rule = footer[(footer.startIndex + 1)..<end]
        yearly = YearlyRule(rule)
        // A rule that is there and means nothing would make every later year wrong.
        guard rule.isEmpty || yearly != nil else { return nil }
    }

    /// The offset of GMT in seconds to the east at a point in time (seconds since 1970).
    package func offset(at seconds: Int64) -> Int {
        guard let last = changes.last, seconds < last.since else {
            return yearly?.offset(at: seconds) ?? changes.last?.offset ?? first
        }
        let next = changes.partitioningIndex { $0.since > seconds }
        return next == 0 ? first : changes[next - 1].offset
    }

    /// A number of so many bytes, the most significant first; fewer bytes count as zeros.
    private static func takeNumber(_ rest: inout ArraySlice<UInt8>, _ count: Int) -> UInt64 {
        let number = UInt64(bigEndianBytes: rest.prefix(count))
        rest = rest.dropFirst(count)
        return number
    }

    /// The head of one of the two parts of a file.
    private struct Header {
        static let length = 44

        let version: UInt8
        let times: Int
        let types: Int
        private let characters: Int
        private let leapSeconds: Int
        private let flags: Int
        /// Everything behind the head.
        let body: ArraySlice<UInt8>

        init?(_ bytes: ArraySlice<UInt8>) {
            guard bytes.count >= Self.length, bytes.starts(with: "TZif".utf8) else { return nil }
            version = bytes[bytes.startIndex + 4]
            var rest = bytes.dropFirst(20)
            let counts = (0..<6).map { _ in Int(takeNumber(&rest, 4)) }
            // No more than a file of 64 KiB can hold: sums do not overflow.
            guard counts.allSatisfy({ $0 <= 65_536 }) else { return nil }
            (flags, leapSeconds, times) = (counts[0] + counts[1], counts[2], counts[3])
            (types, characters) = (counts[4], counts[5])
            body = rest
        }

        /// The bytes behind the head that belong to this part.
        func bodyLength(timeSize: Int) -> Int {
            times * (timeSize + 1) + types * 6 + characters + leapSeconds * (timeSize + 4) + flags
        }
    }
}

/// The rule of all years, as POSIX writes it: `CET-1CEST,M3.5.0,M10.5.0/3`.
private struct YearlyRule {
    /// A day of each year, and the time of it.
    private struct Moment {
        enum Day {
            /// 1 to 365; 29 February is never counted.
            case ofCommonYear(Int64)
            /// From 0; 29 February is counted.
            case ofYear(Int64)
            /// The week 5 is the last one; the weekday 0 is a Sunday.
            case ofWeek(month: Int64, week: Int64, weekday: Int64)
        }

        let day: Day
        /// Seconds after midnight, also of days before and after.
        let time: Int64

        /// In seconds since 1970 on the clocks there.
        func seconds(in year: Int64) -> Int64? {
            guard let start = CivilDate(year: year, month: 1, day: 1)?.daysSince1970 else { return nil }
            let isLeap = CivilDate(year: year, month: 2, day: 29) != nil
            switch day {
            case .ofCommonYear(let number): return (start + number - (isLeap && number >= 60 ? 0 : 1)) * 86_400 + time
            case .ofYear(let number): return (start + number) * 86_400 + time
            case .ofWeek(let month, let week, let weekday):
                guard let first = CivilDate(year: year, month: month, day: 1)?.daysSince1970 else { return nil }
                // 1970-01-01 was a Thursday.
                let weekdayOfFirst = ((first + 4) % 7 + 7) % 7
                var day = first + (weekday - weekdayOfFirst + 7) % 7 + (week - 1) * 7
                while CivilDate(daysSince1970: day).month != month { day -= 7 }
                return day * 86_400 + time
            }
        }
    }

    private let standard: Int
    private let summer: (offset: Int, begin: Moment, end: Moment)?

    init?(_ text: ArraySlice<UInt8>) {
        var rest = text
        guard Self.takeName(&rest), let offset = Self.takeTime(&rest) else { return nil }
        standard = Int(-offset)
        guard !rest.isEmpty else {
            summer = nil
            return
        }
        guard Self.takeName(&rest) else { return nil }
        // One hour more unless it is stated.
        let stated = rest.first == UInt8(ascii: ",") ? nil : Self.takeTime(&rest)
        guard let begin = Self.takeMoment(&rest), let end = Self.takeMoment(&rest), rest.isEmpty else { return nil }
        summer = (stated.map { Int(-$0) } ?? standard + 3600, begin, end)
    }

    func offset(at seconds: Int64) -> Int {
        guard let summer else { return standard }
        let local = seconds + Int64(standard)
        let year = CivilDate(daysSince1970: local.floored(by: 86_400)).year
        guard let begin = summer.begin.seconds(in: year), let end = summer.end.seconds(in: year) else {
            return standard
        }
        let isAfterBegin = seconds >= begin - Int64(standard)
        let isAfterEnd = seconds >= end - Int64(summer.offset)
        // South of the equator summer goes over the end of the year.
        let isSummer = begin < end ? isAfterBegin && !isAfterEnd : isAfterBegin || !isAfterEnd
        return isSummer ? summer.offset : standard
    }

    // MARK: reading

    /// Letters, or anything in angle brackets.
    private static func takeName(_ rest: inout ArraySlice<UInt8>) -> Bool {
        if rest.first == UInt8(ascii: "<") {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return false }
            rest = rest[(end + 1)...]
            return true
        }
        let letters = rest.prefix { (UInt8(ascii: "A")...UInt8(ascii: "z")).contains($0) }
        rest = rest.dropFirst(letters.count)
        return letters.count >= 3
    }

    /// `h`, `h:mm` or `h:mm:ss` with a sign or none, in seconds.
    private static func takeTime(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        guard var seconds = takeNumber(&rest, upTo: 167).map({ $0 * 3600 }) else { return nil }
        for unit: Int64 in [60, 1] where rest.first == UInt8(ascii: ":") {
            rest = rest.dropFirst()
            guard let number = takeNumber(&rest, upTo: 59) else { return nil }
            seconds += number * unit
        }
        return isNegative ? -seconds : seconds
    }

    private static func takeNumber(_ rest: inout ArraySlice<UInt8>, upTo most: Int64) -> Int64? {
        let digits = rest.prefix(3).prefix(while: \.isASCIIDigit)
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        let number = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        return number <= most ? number : nil
    }

    /// `,M3.5.0/2`, `,J60` or `,59`.
    private static func takeMoment(_ rest: inout ArraySlice<UInt8>) -> Moment? {
        guard rest.popFirst() == UInt8(ascii: ","), let day = takeDay(&rest) else { return nil }
        guard rest.first == UInt8(ascii: "/") else { return Moment(day: day, time: 7200) }
        rest = rest.dropFirst()
        return takeTime(&rest).map { Moment(day: day, time: $0) }
    }

    private static func takeDay(_ rest: inout ArraySlice<UInt8>) -> Moment.Day? {
        switch rest.first {
        case UInt8(ascii: "M"):
            rest = rest.dropFirst()
            guard let month = takeNumber(&rest, upTo: 12), month > 0, rest.popFirst() == UInt8(ascii: "."),
                let week = takeNumber(&rest, upTo: 5), week > 0, rest.popFirst() == UInt8(ascii: "."),
                let weekday = takeNumber(&rest, upTo: 6)
            else { return nil }
            return .ofWeek(month: month, week: week, weekday: weekday)
        case UInt8(ascii: "J"):
            rest = rest.dropFirst()
            return takeNumber(&rest, upTo: 365).flatMap { $0 > 0 ? .ofCommonYear($0) : nil }
        default: return takeNumber(&rest, upTo: 365).map { .ofYear($0) }
        }
    }
}
