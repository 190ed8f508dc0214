// Reads a stored record field by field, in the order in which they are written, and refuses what is left over: strict,
// because a field that we do not know may change the meaning of those that we do. Every bound is checked; bytes that
// are no record are an error.

import TandemBase
import TandemWire

/// The fields of one stored record that have not been taken.
struct RecordFields {
    private let table: DeliveryTable
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8], of table: DeliveryTable) throws(DeliveryRecordError) {
        self.table = table
        rest = bytes[...]
        guard rest.popFirst() == RecordField.form else { throw .form(table) }
    }

    // MARK: values

    /// A number from `least` to what the wire can carry.
    mutating func number(_ field: RecordField, from least: UInt64) throws(DeliveryRecordError) -> UInt64 {
        guard let number = try optionalNumber(field, from: least) else { throw .missing(table, field) }
        return number
    }

    mutating func optionalNumber(
        _ field: RecordField, from least: UInt64 = 1
    ) throws(DeliveryRecordError) -> UInt64? {
        guard let number = try word(field) else { return nil }
        guard number >= least, number <= UInt64(Int64.max) else { throw .invalid(table, field) }
        return number
    }

    /// A count; absent means the usual one, if there is one.
    mutating func count(_ field: RecordField, usually usual: Int? = nil) throws(DeliveryRecordError) -> Int {
        if let number = try optionalNumber(field, from: 0), let count = Int(exactly: number) {
            guard count != usual else { throw .invalid(table, field) }
            return count
        }
        guard let usual else { throw .missing(table, field) }
        return usual
    }

    mutating func time(_ field: RecordField) throws(DeliveryRecordError) -> Int64 {
        guard let time = try integer(field) else { throw .missing(table, field) }
        return time
    }

    mutating func integer(_ field: RecordField) throws(DeliveryRecordError) -> Int64? {
        try word(field).map { Int64(bitPattern: $0) }
    }

    /// Whether the field is there.
    mutating func flag(_ field: RecordField) -> Bool { take(field) }

    mutating func identifier(_ field: RecordField) throws(DeliveryRecordError) -> UniqueIdentifier? {
        guard take(field) else { return nil }
        return UniqueIdentifier(bytes: try next(16, of: field))
    }

    mutating func bytes(_ field: RecordField) throws(DeliveryRecordError) -> [UInt8]? {
        guard take(field) else { return nil }
        let count = try next(4, of: field).reduce(0) { $0 << 8 | Int($1) }
        return Array(try next(count, of: field))
    }

    mutating func text(_ field: RecordField) throws(DeliveryRecordError) -> String? {
        guard let bytes = try bytes(field) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .invalid(table, field) }
        return text
    }

    /// A text that stands for something.
    mutating func word<T>(
        _ field: RecordField, _ read: (String) -> T?
    ) throws(DeliveryRecordError) -> T? {
        guard let text = try text(field) else { return nil }
        guard let found = read(text) else { throw .invalid(table, field) }
        return found
    }

    mutating func clock() throws(DeliveryRecordError) -> QueueClock.Mark {
        QueueClock.Mark(milliseconds: try time(.clock), wall: try time(.wall))
    }

    mutating func outcome() throws(DeliveryRecordError) -> Outcome? {
        guard let name = try text(.outcome) else { return nil }
        let code = try integer(.code)
        guard let outcome = Outcome(name: name, code: code) else { throw .invalid(table, .outcome) }
        return outcome
    }

    // MARK: bytes

    /// Refuses what nobody took.
    func finish() throws(DeliveryRecordError) {
        guard let number = rest.first else { return }
        guard let field = RecordField(rawValue: number) else { throw .unknown(table, number) }
        throw .invalid(table, field)
    }

    private mutating func take(_ field: RecordField) -> Bool {
        guard rest.first == field.rawValue else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func word(_ field: RecordField) throws(DeliveryRecordError) -> UInt64? {
        guard take(field) else { return nil }
        return try next(8, of: field).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func next(_ count: Int, of field: RecordField) throws(DeliveryRecordError) -> ArraySlice<UInt8> {
        guard rest.count >= count else { throw .invalid(table, field) }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
