// Writes a record's fields. Whoever writes keeps the order of the fields, so that equal records have equal bytes.

import TandemBase
import TandemWire

/// A stored record in the making.
struct RecordBytes {
    private(set) var bytes: [UInt8]
    private var last: UInt8 = 0

    init(capacity: Int = 96) {
        bytes = []
        bytes.reserveCapacity(capacity)
        bytes.append(RecordField.form)
    }

    mutating func add(_ field: RecordField, _ number: UInt64) {
        begin(field, .number)
        bytes.append(bigEndian: number)
    }

    mutating func add(_ field: RecordField, _ number: Int64) { add(field, UInt64(bitPattern: number)) }

    /// A number that is usually the same is not written then.
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

    private mutating func append(count: Int) {
        let count = UInt32(count)
        for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
    }
}

extension [UInt8] {
    /// Eight bytes, the highest first.
    mutating func append(bigEndian number: UInt64) {
        // Byte for byte each would be asked whether there is room.
        unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
    }
}
