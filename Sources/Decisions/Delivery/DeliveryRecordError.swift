// Why a stored row cannot be used. The store checks that rows are the bytes that were written; a row that fails here
// was written by a newer program or a broken one, and is refused rather than guessed at.

/// What is wrong with a stored row.
package enum DeliveryRecordError: Error, Sendable, Equatable {
    case key(DeliveryTable)
    /// It does not begin as a record of this program does.
    case form(DeliveryTable)
    case missing(DeliveryTable, field: String)
    case invalid(DeliveryTable, field: String)
    /// A field that this program does not know: written by a newer one.
    case unknown(DeliveryTable, number: UInt8)

    static func missing(_ table: DeliveryTable, _ field: RecordField) -> Self { .missing(table, field: "\(field)") }
    static func invalid(_ table: DeliveryTable, _ field: RecordField) -> Self { .invalid(table, field: "\(field)") }
    static func unknown(_ table: DeliveryTable, _ number: UInt8) -> Self { .unknown(table, number: number) }
}

extension DeliveryRecordError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .key(let table): "queue row (\(table)): its key names no queue; restore the store from a backup"
        case .form(let table):
            "queue row (\(table)): not in a form that this program knows; use the program that wrote it"
        case .missing(let table, let field): "queue row (\(table)): '\(field)' is missing; restore from a backup"
        case .invalid(let table, let field): "queue row (\(table)): '\(field)' is invalid; restore from a backup"
        case .unknown(let table, let number):
            "queue row (\(table)): unknown field \(number); use the newer program that wrote it"
        }
    }
}
