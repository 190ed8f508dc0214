// The proof that bytes are a property list of the strict profile, apart from building anything of it: an eager reader
// builds a tree from it, a lazy one keeps the bytes and looks values up. After it, references, counts and contents can
// be followed without further checks.

/// What validation proved about some bytes; meaningful only together with the same bytes.
package struct PropertyListValidation: Sendable {
    private(set) var table: ObjectTable
    private(set) var entries: [ObjectEntry]
    /// The containers, parents before children; nil if that is the order of the table.
    let order: [Int]?
    /// For each object its place among the keys; empty if each dictionary has its keys in order.
    let ranks: [Int]

    /// Values and keys after expansion of shared references; nothing was expanded to count them.
    package let expandedValues: Int
    /// References looked at: the work done, for tests that bound it.
    package let visits: Int

    /// Number of objects in the table.
    package var objectCount: Int { table.count }

    /// - Throws: ``PropertyListError`` naming the first fault and its place.
    package init(_ bytes: [UInt8], limits: PropertyListLimits = .standard) throws(PropertyListError) {
        // Any UInt8 is a byte.
        try self.init(unsafe bytes.span.bytes, limits: limits)
    }

    /// - Throws: ``PropertyListError`` naming the first fault and its place.
    package init(_ bytes: RawSpan, limits: PropertyListLimits = .standard) throws(PropertyListError) {
        table = try ObjectTable(bytes, limits: limits)
        var entries = Array(repeating: ObjectEntry(), count: table.count)
        var objects = entries.mutableSpan
        var scan = ObjectScan(table, limits: limits)
        if let fault = scan.run(bytes, &objects) { throw fault }
        for object in objects.indices where !objects[object].use.isUsed {
            throw PropertyListError(
                .unreferencedObject, at: .object(object, byte: table.offset(of: object, in: bytes)))
        }
        if scan.isOrdered {
            (order, expandedValues, visits) = (nil, scan.expandedValues, scan.visits)
        } else {
            let sorted = try ParentsFirst(&objects, bytes, table, limits)
            (order, expandedValues, visits) = (sorted.order, sorted.expandedValues, scan.visits + sorted.visits)
        }
        try Self.checkRepetitions(objects.span, beyond: expandedValues, table, bytes, limits)
        ranks = try KeyOrder(&objects, bytes, table).ranks
        self.entries = entries
    }

    /// Notes for a tree builder where it keeps an object's value.
    mutating func markBuilt(_ object: Int, at place: Int) {
        (entries[object].kind, entries[object].content) = (.built, place)
    }

    /// Leaves only one object and what it holds marked as referred to, and makes it the top.
    mutating func narrow(to object: Int, _ bytes: RawSpan) {
        for other in entries.indices { entries[other].use = other == object ? .top : ObjectUse() }
        for parent in order ?? Array(entries.indices) where entries[parent].use.isUsed {
            for place in 0..<entries[parent].references {
                entries[table.reference(place, of: entries[parent], in: bytes)].use.add(.top)
            }
        }
        table.top = object
    }

    /// A large object that thousands refer to is small on the wire and large for whoever builds what it means (FRM-6
    /// n).
    private static func checkRepetitions(
        _ entries: Span<ObjectEntry>, beyond values: Int, _ table: ObjectTable, _ bytes: RawSpan,
        _ limits: PropertyListLimits
    ) throws(PropertyListError) {
        // No object is larger than all together; that settles it for nearly every list.
        let (most, overflow) = (values - entries.count).multipliedReportingOverflow(by: table.start)
        guard overflow || most > limits.repeatedBytes else { return }
        var left = limits.repeatedBytes
        for object in entries.indices where entries[object].use.copies > 1 {
            let begin = table.offset(of: object, in: bytes)
            let end = object + 1 < entries.count ? table.offset(of: object + 1, in: bytes) : table.start
            let (added, overflow) = (entries[object].use.copies - 1).multipliedReportingOverflow(by: end - begin)
            guard !overflow, added <= left else {
                throw PropertyListError(
                    .tooManyRepeatedBytes(limit: limits.repeatedBytes), at: .object(object, byte: begin))
            }
            left -= added
        }
    }
}
