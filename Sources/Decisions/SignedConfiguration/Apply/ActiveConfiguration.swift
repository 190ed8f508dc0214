// The applied configuration of a slot, with the time it has been applied (CFG-34) counted so that no change of the
// clock makes it longer.

package import TandemBase
package import TandemPropertyList

/// An applied configuration: a row, and `configuration.plist` or `waived.plist` in the app's directory.
package struct ActiveConfiguration: Sendable, Equatable {
    package let record: ConfigurationRecord
    package let applied: WallTime
    /// Milliseconds of the lifetime already used.
    package private(set) var elapsed: Int64
    /// Applied with an invalid signature that was allowed (CFG-22).
    package let isWaived: Bool

    package init(_ record: ConfigurationRecord, applied: WallTime, isWaived: Bool) {
        self.record = record
        self.applied = applied
        self.isWaived = isWaived
        elapsed = 0
    }

    /// Counts running time and looks at the wall clock; never decreases.
    package mutating func advance(running: Duration, now: WallTime) {
        let (sum, overflow) = elapsed.addingReportingOverflow(max(0, running.saturatingMilliseconds))
        elapsed = max(overflow ? .max : sum, Self.difference(from: applied, to: now))
    }

    /// Whether the lifetime is used up at `now`; never for a configuration without one.
    package func isOver(at now: WallTime) -> Bool {
        guard let lifetime = record.payload.lifetime else { return false }
        let used = max(elapsed, Self.difference(from: applied, to: now))
        return UInt64(max(0, used)) / 1000 >= lifetime
    }

    private static func difference(from start: WallTime, to end: WallTime) -> Int64 {
        let (difference, overflow) = end.milliseconds.subtractingReportingOverflow(start.milliseconds)
        return overflow ? .max : difference
    }
}

extension ActiveConfiguration {
    /// The file's and the row's fields (CFG-36).
    package var dictionary: PropertyListDictionary {
        var fields = record.dictionary
        fields["applied"] = .integer(applied.milliseconds)
        fields["elapsed"] = .integer(elapsed)
        fields["waived"] = .boolean(isWaived)
        return fields
    }

    package init(_ dictionary: PropertyListDictionary) throws(ConfigurationRecordError) {
        var fields = FieldReader(dictionary)
        record = try ConfigurationRecord(&fields)
        do {
            applied = WallTime(milliseconds: try fields.required("applied", "an integer") { $0.integerValue })
            elapsed = try fields.required("elapsed", "an integer from 0") { value in
                value.integerValue.flatMap { $0 >= 0 ? $0 : nil }
            }
            isWaived = try fields.required("waived", "a boolean") { $0.booleanValue }
            try fields.refuseUnknownFields()
        } catch {
            throw .damaged(error)
        }
    }
}
