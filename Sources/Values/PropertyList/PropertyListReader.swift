// The strict reader of binary property lists (Protocol/Frames.md, FRM-6). Iterative, budgeted, and never led by a
// claimed count. No other property-list reader may see bytes of a peer: none refuses all that this
// profile refuses.

/// Reads binary property lists of the strict profile.
public enum PropertyListReader {
    /// The value of a whole property list.
    /// - Throws: ``PropertyListError`` naming the first fault and its location; nothing is read in part.
    public static func read(
        _ bytes: [UInt8], limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> PropertyListValue {
        // Any UInt8 is a byte.
        try read(unsafe bytes.span.bytes, limits: limits)
    }

    /// The value of a whole property list that is a part of an array.
    /// - Throws: ``PropertyListError`` naming the first fault and its location, counted from the slice's beginning.
    public static func read(
        _ bytes: ArraySlice<UInt8>, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> PropertyListValue {
        // Any UInt8 is a byte.
        try read(unsafe bytes.span.bytes, limits: limits)
    }

    /// The value of a whole property list in borrowed bytes.
    /// - Throws: ``PropertyListError`` naming the first fault and its location.
    package static func read(
        _ bytes: RawSpan, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> PropertyListValue {
        var builder = TreeBuilder(try PropertyListValidation(bytes, limits: limits))
        return builder.build(bytes)
    }

    /// The dictionary of a property list whose root must be one.
    /// - Throws: ``PropertyListError`` naming the first fault and its location.
    public static func readDictionary(
        _ bytes: [UInt8], limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> PropertyListDictionary {
        try dictionary(read(bytes, limits: limits))
    }

    /// The dictionary of a property list that is a part of an array, and whose root must be one.
    /// - Throws: ``PropertyListError`` naming the first fault and its location, counted from the slice's beginning.
    public static func readDictionary(
        _ bytes: ArraySlice<UInt8>, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> PropertyListDictionary {
        try dictionary(read(bytes, limits: limits))
    }

    /// Whether a part of an array is a property list whose root is a dictionary; nothing is built of it.
    package static func isDictionary(_ bytes: ArraySlice<UInt8>) -> Bool {
        // Any UInt8 is a byte.
        guard let validation = try? PropertyListValidation(unsafe bytes.span.bytes, limits: .standard) else {
            return false
        }
        return validation.isDictionary
    }

    private static func dictionary(_ value: PropertyListValue) throws(PropertyListError) -> PropertyListDictionary {
        guard case .dictionary(let dictionary) = value else {
            throw PropertyListError(.rootNotDictionary, at: .byte(0))
        }
        return dictionary
    }
}

// MARK: - The tree. Containers are built from the back of the order in which parents come before children, so that no
// recursion is needed. An object with one reference moves into its parent; the others share their storage.

struct TreeBuilder {
    private var validation: PropertyListValidation
    /// Values that wait for their parents; the entry of such an object holds its index here as its content.
    private var waiting: [PropertyListValue] = []

    init(_ validation: PropertyListValidation) {
        self.validation = validation
        waiting.reserveCapacity(validation.objectCount)
    }

    mutating func build(partAt object: Int, _ bytes: RawSpan) -> PropertyListValue {
        validation.narrow(to: object, bytes)
        return build(bytes)
    }

    mutating func build(_ bytes: RawSpan) -> PropertyListValue {
        if let order = validation.order {
            for object in order.reversed() { buildContainer(object, bytes) }
        } else {
            for object in (0..<validation.objectCount).reversed() { buildContainer(object, bytes) }
        }
        return take(validation.table.top, bytes)
    }

    private mutating func buildContainer(_ object: Int, _ bytes: RawSpan) {
        let entry = validation.entries[object]
        guard entry.isContainer, entry.use.isUsed else { return }
        keep(entry.kind == .array ? array(entry, bytes) : dictionary(entry, bytes), object)
    }

    private mutating func array(_ entry: ObjectEntry, _ bytes: RawSpan) -> PropertyListValue {
        .array(
            Array(capacity: entry.count) { elements in
                for index in 0..<entry.count {
                    elements.append(take(validation.table.reference(index, of: entry, in: bytes), bytes))
                }
            })
    }

    private mutating func dictionary(_ entry: ObjectEntry, _ bytes: RawSpan) -> PropertyListValue {
        let indices = entry.isFit ? nil : sortedIndices(entry, bytes)
        return .dictionary(
            PropertyListDictionary(capacity: entry.count) { pairs in
                for number in 0..<entry.count {
                    let index = indices?[number] ?? number
                    let key = validation.table.reference(index, of: entry, in: bytes)
                    let value = validation.table.reference(entry.count + index, of: entry, in: bytes)
                    pairs.append(PropertyListPair(key: text(key, bytes), value: take(value, bytes)))
                }
            })
    }

    private func sortedIndices(_ entry: ObjectEntry, _ bytes: RawSpan) -> [Int] {
        let ranks = (0..<entry.count).map { validation.ranks[validation.table.reference($0, of: entry, in: bytes)] }
        return ranks.indices.sorted { ranks[$0] < ranks[$1] }
    }

    @inline(__always)
    private mutating func text(_ object: Int, _ bytes: RawSpan) -> String {
        let entry = validation.entries[object]
        if entry.kind == .ascii, entry.use.copies == 1 { return entry.string(in: bytes) }
        if entry.kind == .built, case .string(let text) = waiting[entry.content] { return text }
        return take(object, bytes).stringValue ?? ""
    }

    @inline(__always)
    private mutating func take(_ object: Int, _ bytes: RawSpan) -> PropertyListValue {
        let entry = validation.entries[object]
        guard entry.kind == .built else {
            let value = entry.scalar(in: bytes)
            if entry.use.copies > 1, entry.kind.isAllocated { keep(value, object) }
            return value
        }
        if entry.use.copies > 1 { return waiting[entry.content] }
        var value = PropertyListValue.boolean(false)
        swap(&value, &waiting[entry.content])
        return value
    }

    private mutating func keep(_ value: PropertyListValue, _ object: Int) {
        validation.markBuilt(object, at: waiting.count)
        waiting.append(value)
    }
}

// MARK: - Validation. After it, references, counts and contents can be followed without further checks.

/// The result of validating some bytes; meaningful only together with the same bytes.
package struct PropertyListValidation: Sendable {
    private(set) var table: ObjectTable
    private(set) var entries: [ObjectEntry]
    /// The containers, parents before children; nil if that is the order of the table.
    let order: [Int]?
    /// For each object its rank among the keys; empty if each dictionary has its keys in order.
    let ranks: [Int]

    /// Values and keys after expansion of shared references; nothing was expanded to count them.
    package let expandedValues: Int
    /// References looked at: the work done, for tests that bound it.
    package let visits: Int

    /// Number of objects in the table.
    package var objectCount: Int { table.count }

    /// Whether the root is a dictionary.
    var isDictionary: Bool { entries[table.top].kind == .dictionary }

    /// - Throws: ``PropertyListError`` naming the first fault and its location.
    package init(_ bytes: [UInt8], limits: PropertyListLimits = .standard) throws(PropertyListError) {
        // Any UInt8 is a byte.
        try self.init(unsafe bytes.span.bytes, limits: limits)
    }

    /// - Throws: ``PropertyListError`` naming the first fault and its location.
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
    mutating func markBuilt(_ object: Int, at index: Int) {
        (entries[object].kind, entries[object].content) = (.built, index)
    }

    /// Leaves only one object and what it holds marked as referred to, and makes it the top.
    mutating func narrow(to object: Int, _ bytes: RawSpan) {
        for other in entries.indices { entries[other].use = other == object ? .top : ObjectUse() }
        for parent in order ?? Array(entries.indices) where entries[parent].use.isUsed {
            for index in 0..<entries[parent].references {
                entries[table.reference(index, of: entries[parent], in: bytes)].use.add(.top)
            }
        }
        table.top = object
    }

    /// A large object that thousands refer to is small on the wire and large for a reader that builds its value (FRM-6
    /// n).
    private static func checkRepetitions(
        _ entries: Span<ObjectEntry>, beyond values: Int, _ table: ObjectTable, _ bytes: RawSpan,
        _ limits: PropertyListLimits
    ) throws(PropertyListError) {
        // No object is larger than all together: this bound is enough for nearly every list.
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
