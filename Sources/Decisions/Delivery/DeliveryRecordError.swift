// Why a stored row cannot be used. The store checks that rows are the bytes that were written; a row that fails here
// was written by a newer program or a broken one, and is refused rather than guessed at.

package import TandemPropertyList

/// What is wrong with a stored row.
package enum DeliveryRecordError: Error, Sendable, Equatable {
    case key(DeliveryTable)
    case unreadable(DeliveryTable, PropertyListError)
    case missing(DeliveryTable, field: String)
    case invalid(DeliveryTable, field: String)
    /// A field that this program does not know: written by a newer one.
    case unknown(DeliveryTable, field: String)
}

extension DeliveryRecordError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .key(let table): "queue row (\(table)): its key names no queue; restore the store from a backup"
        case .unreadable(let table, let error): "queue row (\(table)): \(error); restore the store from a backup"
        case .missing(let table, let field): "queue row (\(table)): '\(field)' is missing; restore from a backup"
        case .invalid(let table, let field): "queue row (\(table)): '\(field)' is invalid; restore from a backup"
        case .unknown(let table, let field):
            "queue row (\(table)): unknown '\(field)'; use the newer program that wrote it"
        }
    }
}
