// The form of stored records: one byte that names the form, then fields in rising order of their numbers, each its
// number and its value. It is fixed by hand and not a property list, because several are written for each item, and
// sorting their keys cost more than the item.

import TandemBase
import TandemWire

/// A field of a stored record. The raw value is what is stored: a number never changes, and none is given again.
enum RecordField: UInt8, CaseIterable {
    case epoch = 1, nextOrdinal = 2, nextSequence = 3, watermark = 4, storedThrough = 5, contextEpoch = 6, clock = 7
    case wall = 8
    // 17 was the precedence of an item.
    case id = 16, sequence = 18, size = 19, accepted = 20, expires = 21, attempts = 22, supersedes = 23, topic = 24
    case revision = 25, kind = 26, current = 27, after = 28, failure = 29, acknowledged = 30, withdrawal = 31
    case handing = 32, sent = 33, stored = 34, outcome = 35, code = 36, refusal = 37, fileSize = 38
    case pastEpoch = 39
    case used = 48, start = 49
    case digest = 64, body = 65

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
        case .current, .acknowledged, .handing: .none
        case .id, .after: .identifier
        case .supersedes, .topic, .kind, .withdrawal, .outcome, .refusal, .digest, .body: .counted
        case .epoch, .nextOrdinal, .nextSequence, .watermark, .storedThrough, .contextEpoch, .clock, .wall,
            .sequence, .size, .accepted, .expires, .attempts, .revision, .failure, .sent, .stored, .code, .fileSize,
            .pastEpoch, .used, .start:
            .number
        }
    }
}

/// Writes a record. Callers add fields in the order of their numbers, so that equal records have equal bytes.
struct RecordWriter {
    private(set) var bytes: [UInt8]
    private var last: UInt8 = 0

    init(capacity: Int = 96) {
        bytes = []
        bytes.reserveCapacity(capacity)
        bytes.append(RecordField.form)
    }

    mutating func add(_ field: RecordField, _ number: UInt64) {
        precondition(number <= UInt64(Int64.max), "a number that no reader takes")
        add(field, Int64(bitPattern: number))
    }

    mutating func add(_ field: RecordField, _ number: Int64) {
        begin(field, .number)
        bytes.append(bigEndian: UInt64(bitPattern: number))
    }

    mutating func add(epoch: UInt64?, as field: RecordField = .epoch) {
        guard let epoch else { return }
        precondition(Limits.epochs.contains(epoch), "an epoch that no reader takes")
        add(field, epoch)
    }

    /// Omits the usual number.
    mutating func add(_ field: RecordField, _ count: Int, unless usual: Int) {
        if count != usual { add(field, Int64(count)) }
    }

    mutating func add(_ field: RecordField, _ number: UInt64?) { if let number { add(field, number) } }

    mutating func add(_ field: RecordField, _ number: Int64?) { if let number { add(field, number) } }

    mutating func add(_ field: RecordField, _ id: UniqueIdentifier?) {
        guard let id else { return }
        begin(field, .identifier)
        bytes.append(bigEndian: id.high)
        bytes.append(bigEndian: id.low)
    }

    mutating func add(_ field: RecordField, _ text: String?) {
        guard let text else { return }
        begin(field, .counted)
        append(count: text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    mutating func add(_ field: RecordField, _ content: [UInt8]?) {
        guard let content else { return }
        begin(field, .counted)
        append(count: content.count)
        bytes.append(contentsOf: content)
    }

    mutating func add(_ field: RecordField, if isSet: Bool) { if isSet { begin(field, .none) } }

    mutating func add(_ outcome: Outcome) {
        add(.outcome, outcome.name)
        add(.code, outcome.code)
    }

    mutating func add(_ mark: QueueClock.Mark) {
        add(.clock, mark.milliseconds)
        add(.wall, mark.wall)
    }

    private mutating func begin(_ field: RecordField, _ width: RecordField.Width) {
        precondition(field.rawValue > last && field.width == width, "a record's fields in their order and form")
        last = field.rawValue
        bytes.append(field.rawValue)
    }

    private mutating func append(count: Int) { bytes.append(bigEndian: UInt32(count)) }
}

/// Reads a record field by field, in the order in which they are written, and refuses a rest: a field that this program
/// does not know may change the meaning of those that it does. Every bound is checked; bytes that are no record are an
/// error.
struct RecordReader {
    let table: DeliveryTable
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8], of table: DeliveryTable) throws(DeliveryRecordError) {
        self.table = table
        rest = bytes[...]
        guard rest.popFirst() == RecordField.form else { throw .form(table) }
    }

    // MARK: values

    /// A number from `least` to the largest one of the wire.
    mutating func number(_ field: RecordField, from least: UInt64) throws(DeliveryRecordError) -> UInt64 {
        guard let number = try optionalNumber(field, from: least) else { throw .missing(table, field) }
        return number
    }

    /// A number from which this device counts on (``Limits/lastCount``).
    mutating func counter(_ field: RecordField, from least: UInt64) throws(DeliveryRecordError) -> UInt64 {
        guard let number = try optionalCounter(field, from: least) else { throw .missing(table, field) }
        return number
    }

    mutating func optionalCounter(
        _ field: RecordField, from least: UInt64 = 1
    ) throws(DeliveryRecordError) -> UInt64? {
        guard let number = try optionalNumber(field, from: least) else { return nil }
        guard number <= Limits.lastCount else { throw .invalid(table, field) }
        return number
    }

    mutating func optionalNumber(
        _ field: RecordField, from least: UInt64 = 1
    ) throws(DeliveryRecordError) -> UInt64? {
        guard let number = try word(field) else { return nil }
        guard number >= least, number <= UInt64(Int64.max) else { throw .invalid(table, field) }
        return number
    }

    /// A pairing's epoch (LIM-133).
    mutating func epoch() throws(DeliveryRecordError) -> UInt64 {
        guard let epoch = try optionalEpoch(.epoch) else { throw .missing(table, .epoch) }
        return epoch
    }

    mutating func optionalEpoch(_ field: RecordField) throws(DeliveryRecordError) -> UInt64? {
        guard let epoch = try optionalNumber(field) else { return nil }
        guard Limits.epochs.contains(epoch) else { throw .invalid(table, field) }
        return epoch
    }

    /// A count, below 2^32, so that sums over many records do not overflow; absent means the usual one, if there is
    /// one.
    mutating func count(_ field: RecordField, usually usual: Int? = nil) throws(DeliveryRecordError) -> Int {
        if let number = try optionalNumber(field, from: 0) {
            guard let count = UInt32(exactly: number).map({ Int($0) }), count != usual else {
                throw .invalid(table, field)
            }
            return count
        }
        guard let usual else { throw .missing(table, field) }
        return usual
    }

    /// The size of an item's file; nil for another item, and for one that an earlier version wrote.
    mutating func fileSize() throws(DeliveryRecordError) -> Int64? {
        try optionalNumber(.fileSize, from: 0).map { Int64($0) }
    }

    mutating func time(_ field: RecordField) throws(DeliveryRecordError) -> Int64 {
        guard let time = try integer(field) else { throw .missing(table, field) }
        return time
    }

    mutating func integer(_ field: RecordField) throws(DeliveryRecordError) -> Int64? {
        try word(field).map { Int64(bitPattern: $0) }
    }

    mutating func flag(_ field: RecordField) -> Bool { take(field) }

    mutating func identifier(_ field: RecordField) throws(DeliveryRecordError) -> UniqueIdentifier? {
        guard take(field) else { return nil }
        return UniqueIdentifier(bytes: try next(16, of: field))
    }

    mutating func bytes(_ field: RecordField) throws(DeliveryRecordError) -> [UInt8]? {
        guard take(field) else { return nil }
        let count = Int(bigEndianBytes: try next(4, of: field))
        return Array(try next(count, of: field))
    }

    /// The body of a row that must have one.
    mutating func body() throws(DeliveryRecordError) -> [UInt8] {
        guard let body = try bytes(.body) else { throw .missing(table, .body) }
        return body
    }

    mutating func text(_ field: RecordField) throws(DeliveryRecordError) -> String? {
        guard let bytes = try bytes(field) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .invalid(table, field) }
        return text
    }

    /// A text with a meaning.
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

    /// Refuses fields that were not read.
    func finish() throws(DeliveryRecordError) {
        guard let number = rest.first else { return }
        guard let field = RecordField(rawValue: number) else { throw .unknown(table, number: number) }
        throw .invalid(table, field)
    }

    private mutating func take(_ field: RecordField) -> Bool {
        guard rest.first == field.rawValue else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func word(_ field: RecordField) throws(DeliveryRecordError) -> UInt64? {
        guard take(field) else { return nil }
        return UInt64(bigEndianBytes: try next(8, of: field))
    }

    private mutating func next(_ count: Int, of field: RecordField) throws(DeliveryRecordError) -> ArraySlice<UInt8> {
        guard rest.count >= count else { throw .invalid(table, field) }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
