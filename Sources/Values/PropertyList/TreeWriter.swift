// The walk of writing (FRM-7): breadth first, so that objects get their numbers and their bytes in the order in which
// they are met; the queue is the containers met, and nothing recurses. It refuses values that the profile forbids, with
// its key path. It is used again and again, because its memory costs more than a small property list.

import Synchronization

/// Writes property lists, one after another, in the memory of the ones before.
struct TreeWriter: ~Copyable, Sendable {
    var output = ObjectOutput()
    private var limits = PropertyListLimits.standard
    private var containers: [Container] = []
    private var references = 0
    /// The dictionary whose keys were written last: the next one often has the same.
    private var lastDictionary: Container?

    /// A container that was met; its children come later.
    private struct Container {
        let value: PropertyListValue
        /// Its container, in the order of ``containers``, and the index in that.
        let parent: Int
        let index: Int
        let depth: Int
        /// Where its references begin.
        let references: Int
    }

    /// The memory that it holds, in bytes.
    var size: Int { output.size + containers.capacity * MemoryLayout<Container>.stride }

    /// The property list of a value.
    /// - Throws: ``PropertyListError`` with the key path of what cannot be written.
    mutating func write(
        _ root: borrowing PropertyListValue, limits: PropertyListLimits
    ) throws(PropertyListError) -> [UInt8] {
        self.limits = limits
        defer { forgetValues() }
        // The number of objects is not known. More than 255 show soon, and then the writer starts over.
        var referenceSize = 1
        while try !writeObjects(of: root, referenceSize: referenceSize) { referenceSize *= 2 }
        guard output.repeatedBytes <= limits.repeatedBytes else {
            throw PropertyListError(.tooManyRepeatedBytes(limit: limits.repeatedBytes), at: .path(""))
        }
        output.appendTable()
        return output.bytes.copied()
    }

    private mutating func forgetValues() {
        containers.removeAll(keepingCapacity: true)
        lastDictionary = nil
    }

    /// Whether references of this size can name all objects.
    private mutating func writeObjects(
        of root: borrowing PropertyListValue, referenceSize: Int
    ) throws(PropertyListError) -> Bool {
        output.begin(referenceSize: referenceSize, objectLimit: limits.objects)
        forgetValues()
        references = 0
        do throws(PropertyListError.Reason) {
            _ = try add(BorrowedValue(value: copy root), parent: -1, index: 0, depth: 1)
        } catch {
            throw PropertyListError(error, at: .path(""))
        }
        var next = 0
        while next < containers.count {
            try writeChildren(of: next)
            if output.needsWiderReferences { return false }
            next += 1
        }
        return true
    }

    private mutating func writeChildren(of parent: Int) throws(PropertyListError) {
        let container = containers[parent]
        do throws(Fault) {
            switch container.value {
            case .array(let elements): try writeElements(elements.span, of: container, parent)
            case .dictionary(let pairs):
                try pairs.withPairs { pairs throws(Fault) in
                    try writeKeys(pairs, of: container)
                    try writeValues(pairs, of: container, parent)
                }
                lastDictionary = container
            default: break
            }
        } catch {
            throw PropertyListError(error.reason, at: .path(path(of: parent, error.index)))
        }
    }

    /// Adds a value where it was met, or finds the scalar that it equals; returns the object's number.
    private mutating func add(
        _ value: borrowing BorrowedValue, parent: Int, index: Int, depth: Int
    ) throws(PropertyListError.Reason) -> Int {
        guard depth <= limits.depth else { throw .tooDeep(limit: limits.depth) }
        let (marker, count, references): (UInt8, Int, Int)
        switch value.value {
        case .boolean(let value): return try output.add(value)
        case .integer(let value): return try output.add(value)
        case .unsigned(let value): return try output.add(value)
        case .real(let value): return try output.add(value)
        case .date(let value): return try output.add(value)
        case .data(let value): return try output.add(value.span)
        case .string(let value): return try output.add(value)
        case .array(let elements): (marker, count, references) = (0xA0, elements.count, elements.count)
        case .dictionary(let pairs): (marker, count, references) = (0xD0, pairs.count, 2 * pairs.count)
        }
        let object = try output.addContainer(marker: marker, count: count, references: references)
        containers.append(
            Container(value: value.value, parent: parent, index: index, depth: depth, references: object.start))
        return object.number
    }
}

// MARK: Children

extension TreeWriter {
    private struct Fault: Error {
        let reason: PropertyListError.Reason
        /// Where in its container; nil for the container itself, whose key is not fit to be shown.
        let index: Int?
    }

    private mutating func writeElements(
        _ elements: Span<PropertyListValue>, of container: Container, _ parent: Int
    ) throws(Fault) {
        try BorrowedValue.forEach(elements) { index, element throws(Fault) in
            do throws(PropertyListError.Reason) {
                let number = try add(element, parent: parent, index: index, depth: container.depth + 1)
                try refer(to: number, index, of: container)
            } catch {
                throw Fault(reason: error, index: index)
            }
        }
    }

    private mutating func writeValues(
        _ pairs: Span<PropertyListPair>, of container: Container, _ parent: Int
    ) throws(Fault) {
        let count = pairs.count
        try BorrowedPair.forEach(pairs) { index, pair throws(Fault) in
            do throws(PropertyListError.Reason) {
                let number = try add(pair.value, parent: parent, index: index, depth: container.depth + 1)
                try refer(to: number, count &+ index, of: container)
            } catch {
                throw Fault(reason: error, index: index)
            }
        }
    }

    private mutating func writeKeys(
        _ pairs: Span<PropertyListPair>, of container: Container
    ) throws(Fault) {
        guard let last = lastDictionary, case .dictionary(let known) = last.value, known.count == pairs.count else {
            for index in pairs.indices { try writeKey(pairs[index].key, index, of: container) }
            return
        }
        try known.withPairs { known throws(Fault) in
            for index in pairs.indices {
                // Equal words, so the same text and not a comparison of it; equal text elsewhere only costs time.
                if pairs[index].key._isIdentical(to: known[index].key), container.depth < limits.depth {
                    try repeatKey(output.reference(index, from: last.references), index, of: container)
                } else {
                    try writeKey(pairs[index].key, index, of: container)
                }
            }
        }
    }

    private mutating func writeKey(_ key: borrowing String, _ index: Int, of container: Container) throws(Fault) {
        let text = key.utf8Span
        if let reason = ObjectOutput.keyFault(text) { throw Fault(reason: reason, index: nil) }
        do throws(PropertyListError.Reason) {
            guard container.depth < limits.depth else { throw .tooDeep(limit: limits.depth) }
            try refer(to: try output.add(text), index, of: container)
        } catch {
            throw Fault(reason: error, index: index)
        }
    }

    /// Writes a key that the dictionary before had at this index, too.
    private mutating func repeatKey(_ number: Int, _ index: Int, of container: Container) throws(Fault) {
        output.repeatObject(number)
        do throws(PropertyListError.Reason) { try refer(to: number, index, of: container) } catch {
            throw Fault(reason: error, index: index)
        }
    }

    @inline(__always)
    private mutating func refer(to number: Int, _ index: Int, of container: Container) throws(PropertyListError.Reason)
    {
        output.setReference(index, from: container.references, to: number)
        references &+= 1
        guard references < limits.values else { throw .tooManyValues(limit: limits.values) }
    }
}

// MARK: key paths

extension TreeWriter {
    /// The key path of an index in a container, such as `a.b[2]`; without one that of the container.
    private func path(of container: Int, _ index: Int?) -> String {
        var steps: [String] = []
        if let index { steps.append(Self.step(containers[container].value, index)) }
        var container = container
        while containers[container].parent >= 0 {
            let (parent, index) = (containers[container].parent, containers[container].index)
            steps.append(Self.step(containers[parent].value, index))
            container = parent
        }
        let path = steps.reversed().joined()
        return path.hasPrefix(".") ? String(path.dropFirst()) : path
    }

    private static func step(_ value: PropertyListValue, _ index: Int) -> String {
        if case .dictionary(let pairs) = value { "." + pairs[index].key } else { "[\(index)]" }
    }
}

/// Idle writers, for the next caller: reused memory makes writing cheap. A few, so that as many threads never wait for
/// memory, and none that has grown large.
enum WriterPool {
    /// Writers with more memory than this are freed, in bytes.
    private static let largest = 1 << 20

    private static let idle = Mutex(IdleWriters())

    private struct IdleWriters: ~Copyable {
        var first: TreeWriter?
        var second: TreeWriter?
        var third: TreeWriter?
    }

    /// An idle writer, if there is one; the caller's alone until it puts it back.
    static func take() -> TreeWriter? {
        idle.withLock { idle in
            if let writer = idle.first.take() { return writer }
            if let writer = idle.second.take() { return writer }
            return idle.third.take()
        }
    }

    /// Gives a writer to the next caller.
    static func put(_ writer: consuming TreeWriter) {
        guard writer.size <= largest else { return }
        var rest: TreeWriter? = writer
        idle.withLock { idle in
            if idle.first == nil {
                idle.first = rest.take()
            } else if idle.second == nil {
                idle.second = rest.take()
            } else if idle.third == nil {
                idle.third = rest.take()
            }
        }
    }
}

/// Writes binary property lists in the canonical form (Protocol/Frames.md, FRM-7); any thread. Equal values give equal
/// bytes, and the strict reader refuses none of them.
public enum PropertyListWriter {
    /// The property list of a value.
    /// - Throws: ``PropertyListError`` with the key path of what cannot be written.
    public static func write(
        _ value: PropertyListValue, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> [UInt8] {
        var writer = WriterPool.take() ?? TreeWriter()
        do throws(PropertyListError) {
            let bytes = try writer.write(value, limits: limits)
            WriterPool.put(writer)
            return bytes
        } catch {
            WriterPool.put(writer)
            throw error
        }
    }

    /// The property list of a dictionary.
    public static func write(
        _ dictionary: PropertyListDictionary, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> [UInt8] {
        try write(.dictionary(dictionary), limits: limits)
    }
}

extension PropertyListDictionary {
    /// The bytes of a dictionary that the caller has made itself.
    /// - Precondition: it has only what a property list can.
    package var ownBytes: [UInt8] {
        do { return try PropertyListWriter.write(self) } catch {
            preconditionFailure("a dictionary of one's own holds only what a property list can: \(error)")
        }
    }
}
