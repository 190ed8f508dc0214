// A row's key as bytes: pairing, application, channel, ordinal. All rows of a pairing, of a queue, and of a queue in
// order of acceptance are then ranges of keys. The texts hold no NUL, so a NUL ends them.

package import TandemBase
package import TandemWire

extension QueueKey {
    /// What the keys of all rows of this queue start with, in each table.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16 + app.description.utf8.count + 16)
        bytes.append(bigEndian: pairing.high)
        bytes.append(bigEndian: pairing.low)
        bytes.append(contentsOf: app.description.utf8)
        bytes.append(0)
        bytes.append(contentsOf: channel.rawValue.utf8)
        bytes.append(0)
        return bytes
    }

    /// What the keys of all rows of a pairing start with, in each table: for unpairing.
    package static func prefix(of pairing: UniqueIdentifier) -> [UInt8] { pairing.bytes }
}

extension DeliveryRowKey {
    /// The key's bytes in its table.
    package var bytes: [UInt8] { bytes(in: queue.bytes) }

    /// The same, for many rows of one queue: `start` is the queue's ``QueueKey/bytes``.
    package func bytes(in start: [UInt8]) -> [UInt8] {
        guard let ordinal else { return start }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(start.count + 8)
        bytes += start
        bytes.append(bigEndian: ordinal)
        return bytes
    }

    /// Reads a key of this table.
    /// - Throws: ``DeliveryRecordError/key(_:)`` for bytes that no key of the table has.
    package init(_ table: DeliveryTable, bytes: [UInt8]) throws(DeliveryRecordError) {
        let parts = bytes.dropFirst(16).split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        guard let pairing = UniqueIdentifier(bytes: bytes.prefix(16)), parts.count == 3,
            let app = try? ApplicationIdentifier(String(decoding: parts[0], as: UTF8.self)),
            let channel = Channel(rawValue: String(decoding: parts[1], as: UTF8.self)),
            parts[2].count == (table.hasOrdinals ? 8 : 0)
        else { throw .key(table) }
        let ordinal = table.hasOrdinals ? parts[2].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } : nil
        // Ordinals are from 1 and count items; the highest bit is never reached.
        if let ordinal, ordinal == 0 || ordinal > UInt64(Int64.max) { throw .key(table) }
        self.init(table, QueueKey(pairing: pairing, app: app, channel: channel), ordinal)
    }
}
