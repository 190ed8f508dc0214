// What a ledger tells of the files that belong to its items.

package import TandemBase

extension InboundLedger {
    /// Whether an item of this sequence and size would be stored now (DEL-3).
    /// - Parameter isFull: a wider budget has no room for any new item.
    package func wouldStore(_ sequence: UInt64, size: Int, isFull: Bool = false) -> Bool {
        !isFull && sequence == header.watermark + 1 && hasRoomForRecord && count < limits.items
            && size <= limits.bytes - bytes
    }

    /// The items whose files must stay: their handler has not returned, or they are dead letters.
    package var itemsWithFiles: Set<UniqueIdentifier> {
        let letters = deadLetters.compactMap(\.id)
        let waiting = records.values.filter { $0.phase == .waiting || $0.phase == .handing }.compactMap(\.id)
        return Set(letters + waiting)
    }
}
