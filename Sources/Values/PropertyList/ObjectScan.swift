// The first pass over a property list: every object once, in the order of the offset table. Each must begin where the
// one before ended, which proves at once that objects are contiguous and do not overlap (FRM-6 c). Containers are
// listed for the second pass; their references are not followed.

/// A container found by the scan.
struct Container: Sendable {
    let object: Int
    /// Offset of the object.
    let offset: Int
    /// Offset of its first reference.
    let content: Int
    /// Elements or pairs.
    let count: Int
    let isDictionary: Bool
    /// The keys were written in their order.
    var isSorted = true

    var references: Int { isDictionary ? 2 * count : count }

    /// The object that a reference of this container names, unchecked.
    func claimedReference(_ index: Int, in bytes: ByteView, table: ObjectTable) -> UInt64 {
        bytes.bigEndian(at: content + index * table.referenceSize, size: table.referenceSize)
    }

    /// The object that a checked reference names.
    func reference(_ index: Int, in bytes: ByteView, table: ObjectTable) -> Int {
        Int(truncatingIfNeeded: claimedReference(index, in: bytes, table: table))
    }
}

/// What one pass over the object table proved and found.
struct ObjectScan {
    let table: ObjectTable
    /// In the order of the table.
    var containers: [Container] = []
    /// Whether an object is a container, for each object.
    var isContainer: [Bool]

    init(_ bytes: ByteView, limits: PropertyListLimits) throws(PropertyListError) {
        table = try ObjectTable(bytes, limits: limits)
        isContainer = Array(repeating: false, count: table.count)
        var position = ObjectTable.magic.count
        var references = 1
        for object in 0..<table.count {
            do throws(PropertyListError.Reason) {
                let header = try scan(object, at: position, in: bytes)
                references += header.references
                guard references <= limits.values else { throw .tooManyValues(limit: limits.values) }
                position = header.end
            } catch {
                throw PropertyListError(error, at: .object(object, byte: position))
            }
        }
        guard position == table.start else {
            throw PropertyListError(.bytesAfterLastObject(count: table.start - position), at: .byte(position))
        }
    }

    private mutating func scan(
        _ object: Int, at position: Int, in bytes: ByteView
    ) throws(PropertyListError.Reason) -> ObjectHeader {
        let found = table.claimedOffset(of: object, in: bytes)
        guard found == UInt64(position) else { throw .objectMisplaced(expected: position, found: found) }
        let header = try ObjectHeader(at: position, in: bytes, table: table)
        try header.checkContent(in: bytes)
        if header.kind == .array || header.kind == .dictionary {
            isContainer[object] = true
            containers.append(
                Container(
                    object: object, offset: position, content: header.content, count: header.count,
                    isDictionary: header.kind == .dictionary))
        }
        return header
    }
}
