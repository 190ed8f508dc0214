// FRM-6 word by word, in the plainest way there is: arrays of enums, sets of bytes, a recursion that stops at the depth
// limit. It is slow and shares no code with the codec, so that whatever the codec's fast paths do can be held against
// it.

package import TandemPropertyList

/// A second strict reader; nil stands for every refusal.
package struct ReferenceReader {
    /// An object of the table: a value, or what it refers to.
    private enum Object {
        case scalar(PropertyListValue)
        case array([Int])
        case dictionary(keys: [Int], values: [Int])

        var children: [Int] {
            switch self {
            case .scalar: []
            case .array(let elements): elements
            case .dictionary(let keys, let values): keys + values
            }
        }
    }

    private var objects: [Object] = []
    private var lengths: [Int] = []
    /// Depth of the deepest way down from an object, itself included; 0 until it is known.
    private var heights: [Int] = []
    /// Values of an object after expansion, cut off far above the limit.
    private var sizes: [Int] = []
    /// Children before parents.
    private var finished: [Int] = []
    private var built: [PropertyListValue] = []

    /// The value of a property list of the strict profile; nil if a rule is broken.
    package static func value(_ bytes: [UInt8]) -> PropertyListValue? {
        guard let table = ReferenceTable(bytes) else { return nil }
        var reader = ReferenceReader()
        guard reader.readObjects(bytes, table) else { return nil }
        reader.heights = Array(repeating: 0, count: table.count)
        reader.sizes = reader.heights
        guard reader.measure(table.top, depth: 1), reader.finished.count == table.count else { return nil }
        guard reader.sizes[table.top] <= 65_536, reader.repetition(from: table.top) <= 8 << 20 else { return nil }
        return reader.build(table.top)
    }

    /// Rules c, e to i: each object begins where the one before it ended, and the last one ends at the table.
    private mutating func readObjects(_ bytes: [UInt8], _ table: ReferenceTable) -> Bool {
        var offset = 8
        for object in 0..<table.count {
            guard table.offset(object, bytes) == UInt64(offset) else { return false }
            var cursor = ReferenceCursor(bytes: bytes, offset: offset, end: table.start)
            guard let read = Self.object(&cursor, table) else { return false }
            objects.append(read)
            lengths.append(cursor.offset - offset)
            offset = cursor.offset
        }
        return offset == table.start
    }

    private static func object(_ cursor: inout ReferenceCursor, _ table: ReferenceTable) -> Object? {
        guard let marker = cursor.byte() else { return nil }
        guard marker >> 4 == 0xA || marker >> 4 == 0xD else { return cursor.scalar(marker).map { .scalar($0) } }
        guard let count = cursor.count(marker) else { return nil }
        func references() -> [Int]? {
            guard count <= cursor.left / table.referenceSize else { return nil }
            let numbers = (0..<count).compactMap { _ in cursor.number(table.referenceSize) }
            return numbers.allSatisfy { $0 < table.count } ? numbers.map { Int($0) } : nil
        }
        guard let first = references() else { return nil }
        if marker >> 4 == 0xA { return .array(first) }
        return references().map { .dictionary(keys: first, values: $0) }
    }

    /// Rules d and k: no cycle (a way of more than 64 steps is refused as too deep in any case).
    private mutating func measure(_ object: Int, depth: Int) -> Bool {
        guard depth <= 64 else { return false }
        if heights[object] > 0 { return depth + heights[object] - 1 <= 64 }
        var (height, size) = (1, 1)
        for child in objects[object].children {
            guard measure(child, depth: depth + 1) else { return false }
            height = max(height, heights[child] + 1)
            size = min(size + sizes[child], 1 << 40)
        }
        (heights[object], sizes[object]) = (height, size)
        finished.append(object)
        return true
    }

    /// Rule n: bytes of each object for every time it is referred to after the first.
    private func repetition(from top: Int) -> Int {
        var times = Array(repeating: 0, count: objects.count)
        times[top] = 1
        // Every way from the root is one of at most 65,536 values, so nothing here is large.
        for object in finished.reversed() {
            for child in objects[object].children { times[child] += times[object] }
        }
        return objects.indices.reduce(0) { $0 + (times[$1] - 1) * lengths[$1] }
    }

    /// Rule j, and the value.
    private mutating func build(_ top: Int) -> PropertyListValue? {
        built = Array(repeating: false, count: objects.count)
        for object in finished {
            switch objects[object] {
            case .scalar(let value): built[object] = value
            case .array(let elements): built[object] = .array(elements.map { built[$0] })
            case .dictionary(let keys, let values):
                let texts = keys.compactMap { built[$0].stringValue }
                guard texts.count == keys.count, texts.allSatisfy(Self.isKey) else { return nil }
                guard Set(texts.map { Array($0.utf8) }).count == texts.count else { return nil }
                let pairs = zip(texts, values.map { built[$0] })
                built[object] = .dictionary(PropertyListDictionary(uniqueKeysWithValues: pairs.map { ($0, $1) }))
            }
        }
        return built[top]
    }

    private static func isKey(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count) && !text.utf8.contains(0)
    }
}
