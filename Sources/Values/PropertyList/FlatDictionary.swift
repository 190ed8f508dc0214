// A dictionary of scalars read in place: the shape of an envelope. The bytes are validated as a whole, then each pair
// is shown once; data is given as a slice of the same storage, so a large body is neither copied nor opened.

/// A validated property list whose root is a dictionary.
package struct FlatDictionary: Sendable {
    /// A value as it lies in the bytes.
    package enum Value: Sendable {
        case boolean(Bool)
        case integer(Int64)
        case string(String)
        case data(ArraySlice<UInt8>)
        /// A real, a date or an integer above Int64.max.
        case other(PropertyListValue)
        case container
    }

    private let root: PropertyListView

    /// - Throws: ``PropertyListError``, also if the root is not a dictionary.
    package init(_ bytes: ArraySlice<UInt8>) throws(PropertyListError) {
        root = try PropertyListView(bytes)
        guard root.isDictionary else { throw PropertyListError(.rootNotDictionary, at: .byte(0)) }
    }

    /// Number of pairs.
    package var count: Int { root.count }

    /// The key at a position below ``count``, in the order of the bytes.
    package func key(at position: Int) -> String { root.key(at: position) ?? "" }

    /// The value at a position below ``count``. Each call makes a new text.
    package func value(at position: Int) -> Value {
        guard let value = root[position] else { return .container }
        if let data = value.dataBytes { return .data(data) }
        return switch value.scalar {
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .string(let value): .string(value)
        case .some(let value): .other(value)
        case nil: .container
        }
    }
}

/// Writes flat dictionaries in the canonical form (FRM-7), one after another, straight from their fields: the envelopes
/// of frames. One large data value may stay where it is until the whole is copied out, so that it is copied once.
/// Faults are those of the tree's writer, without their path.
package struct FlatDictionaryWriter: ~Copyable {
    private var tree: TreeWriter
    private var start = 0
    private var next = 0
    private var references = 0
    private var limits = PropertyListLimits.standard
    private var detached: (number: Int, bytes: ArraySlice<UInt8>)?

    package init() { tree = WriterPool.take() ?? TreeWriter() }

    /// Gives the memory to the next writer. Without it the memory is freed.
    package consuming func recycle() { WriterPool.put(tree) }

    /// Writes a dictionary of `count` pairs, which `fill` adds: all keys, sorted by UTF-8 bytes and unique, then their
    /// values. It may be called twice.
    package mutating func write(
        count: Int, _ fill: (inout FlatDictionaryWriter) throws(PropertyListError.Reason) -> Void
    ) throws(PropertyListError.Reason) {
        var referenceSize = 1
        repeat {
            tree.output.begin(referenceSize: referenceSize, objectLimit: limits.objects)
            detached = nil
            (next, references) = (0, 2 * count)
            start = try tree.output.addContainer(marker: 0xD0, count: count, references: references).start
            try fill(&self)
            precondition(next == references, "a dictionary has as many keys and values as was said")
            referenceSize *= 2
        } while tree.output.needsWiderReferences
        guard tree.output.repeatedBytes <= limits.repeatedBytes else {
            throw .tooManyRepeatedBytes(limit: limits.repeatedBytes)
        }
        tree.output.appendTable()
    }

    /// The size of what was written, in bytes.
    package var count: Int { tree.output.bytes.count + (detached?.bytes.count ?? 0) }

    /// Copies what was written to memory of that size.
    package func copy(to target: UnsafeMutableRawBufferPointer) {
        precondition(target.count == count)
        guard let detached else {
            return unsafe tree.output.bytes.withBytes(from: 0) { unsafe target.copyMemory(from: $0) }
        }
        let gap = tree.output.gapOffset
        let body = unsafe UnsafeMutableRawBufferPointer(rebasing: target[gap..<gap + detached.bytes.count])
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: target[(gap + detached.bytes.count)...])
        unsafe detached.bytes.withUnsafeBytes { unsafe body.copyMemory(from: $0) }
        unsafe tree.output.bytes.withBytes(from: 0) { bytes in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<gap]))
            unsafe rest.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[gap...]))
        }
    }
}

// MARK: - Keys and values

extension FlatDictionaryWriter {
    /// Adds a key.
    /// - Throws: why the profile forbids it as a key (FRM-6 j), or the limit that is reached.
    package mutating func add(key: String) throws(PropertyListError.Reason) {
        let text = key.utf8Span
        if let fault = ObjectOutput.keyFault(text) { throw fault }
        try refer(to: tree.output.add(text))
    }

    /// Adds a boolean.
    package mutating func add(_ value: Bool) throws(PropertyListError.Reason) { try refer(to: tree.output.add(value)) }
    /// Adds an integer that may be negative.
    package mutating func add(_ value: Int64) throws(PropertyListError.Reason) { try refer(to: tree.output.add(value)) }
    /// Adds an integer that may be beyond those with a sign.
    package mutating func add(_ value: UInt64) throws(PropertyListError.Reason) {
        try refer(to: tree.output.add(value))
    }
    /// Adds text.
    package mutating func add(_ value: String) throws(PropertyListError.Reason) {
        try refer(to: tree.output.add(value))
    }

    /// Adds data.
    package mutating func add(_ value: ArraySlice<UInt8>) throws(PropertyListError.Reason) {
        if let detached, detached.bytes == value {
            tree.output.repeatObject(detached.number)
            return try refer(to: detached.number)
        }
        try refer(to: tree.output.add(value.span))
    }

    /// Adds data of 16 bytes, the first and the last eight of them as big-endian numbers.
    package mutating func add(_ high: UInt64, _ low: UInt64) throws(PropertyListError.Reason) {
        if let detached, detached.bytes.count == 16 {
            // Rare: a body that may be this very identifier.
            let bytes = [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
            return try add(bytes[...])
        }
        try refer(to: tree.output.add(high, low))
    }

    /// Adds the one data value that stays where it is until all is copied; no data may come before it.
    package mutating func add(detached value: ArraySlice<UInt8>) throws(PropertyListError.Reason) {
        let number = try tree.output.addGap(count: value.count)
        detached = (number, value)
        try refer(to: number)
    }

    private mutating func refer(to number: Int) throws(PropertyListError.Reason) {
        precondition(next < references, "a dictionary has as many keys and values as was said")
        tree.output.setReference(next, from: start, to: number)
        next += 1
        guard next < limits.values else { throw .tooManyValues(limit: limits.values) }
    }
}
