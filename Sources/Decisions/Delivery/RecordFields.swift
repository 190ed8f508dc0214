// Reads a stored dictionary field by field and refuses what is left over: strict, because a field that we do not know
// may change the meaning of those that we do.

import TandemIdentity
import TandemPropertyList

/// The fields of one stored record that have not been taken.
struct RecordFields {
    private let table: DeliveryTable
    private var rest: PropertyListDictionary

    init(_ dictionary: PropertyListDictionary, of table: DeliveryTable) {
        self.table = table
        rest = dictionary
    }

    mutating func take(_ field: String) -> PropertyListValue? {
        defer { rest[field] = nil }
        return rest[field]
    }

    /// The field's value as `read` gives it; refuses one that is there and not of that form.
    mutating func optional<T>(
        _ field: String, _ read: (PropertyListValue) -> T?
    ) throws(DeliveryRecordError) -> T? {
        guard let value = take(field) else { return nil }
        guard let found = read(value) else { throw .invalid(table, field: field) }
        return found
    }

    mutating func required<T>(_ field: String, _ read: (PropertyListValue) -> T?) throws(DeliveryRecordError) -> T {
        guard let found = try optional(field, read) else { throw .missing(table, field: field) }
        return found
    }

    /// A number from `least` to what the wire can carry.
    mutating func number(_ field: String, from least: UInt64) throws(DeliveryRecordError) -> UInt64 {
        let number = try required(field) { $0.unsignedValue }
        guard number >= least, number <= UInt64(Int64.max) else { throw .invalid(table, field: field) }
        return number
    }

    mutating func count(_ field: String) throws(DeliveryRecordError) -> Int {
        try required(field) { $0.unsignedValue.flatMap { Int(exactly: $0) } }
    }

    mutating func time(_ field: String) throws(DeliveryRecordError) -> Int64 { try required(field) { $0.integerValue } }

    /// A number from 1 that the wire can carry.
    static func place(_ value: PropertyListValue) -> UInt64? {
        value.integerValue.flatMap { $0 > 0 ? UInt64($0) : nil }
    }

    /// Whether the field is there; it can only be true.
    mutating func flag(_ field: String) throws(DeliveryRecordError) -> Bool {
        try optional(field) { $0.booleanValue == true ? true : nil } ?? false
    }

    mutating func identifier(_ field: String) throws(DeliveryRecordError) -> UniqueIdentifier? {
        try optional(field) { $0.dataValue.flatMap { UniqueIdentifier(bytes: $0) } }
    }

    mutating func clock() throws(DeliveryRecordError) -> QueueClock.Mark {
        QueueClock.Mark(milliseconds: try time("clock"), wall: try time("wall"))
    }

    mutating func outcome() throws(DeliveryRecordError) -> Outcome? {
        guard let name = try optional("outcome", { $0.stringValue }) else { return nil }
        let code = try optional("code") { $0.integerValue }
        guard let outcome = Outcome(name: name, code: code) else { throw .invalid(table, field: "outcome") }
        return outcome
    }

    /// Refuses what nobody took.
    func finish() throws(DeliveryRecordError) {
        if let field = rest.keys.first { throw .unknown(table, field: field) }
    }
}
