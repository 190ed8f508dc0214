// Weight of a value: what its parts take in a file at most. The writer stores equal scalars once, so the size of a file
// tells which of its values are equal. A limit that one person's values share with another's secrets uses weights.

extension PropertyListValue {
    /// The bytes that the value takes in a file at most, with each scalar counted as often as it occurs, and a key of
    /// dictionaries once. The bytes of a text or of data count in steps of 16, so that a weight tells no exact length.
    /// - Parameter limit: the value is not looked at any further once it weighs more.
    /// - Returns: nil for a value that weighs more than the limit.
    package func weight(atMost limit: Int = .max) -> Int? {
        var scale = ValueScale(room: limit)
        return scale.takes(self) ? limit - scale.room : nil
    }
}

private struct ValueScale {
    private(set) var room: Int
    private var keys: Set<String> = []

    init(room: Int) { self.room = room }

    mutating func takes(_ value: PropertyListValue) -> Bool {
        switch value {
        case .boolean: takes(bytes: 12)
        case .integer, .real, .date: takes(bytes: 20)
        case .unsigned: takes(bytes: 28)
        case .data(let bytes): takes(count: bytes.count)
        case .string(let text): takes(text)
        case .array(let values): takes(count: 0) && values.allSatisfy { takes($0) }
        case .dictionary(let pairs): takes(count: 0) && pairs.allSatisfy { takes(key: $0.key) && takes($0.value) }
        }
    }

    private mutating func takes(key: String) -> Bool {
        // The reference to the key, and the key itself.
        takes(bytes: 3) && (!keys.insert(key).inserted || takes(key))
    }

    /// A text is stored as ASCII or as UTF-16.
    private mutating func takes(_ text: String) -> Bool {
        let count = text.utf8.count
        guard count <= room else { return false }
        return takes(count: text.utf8.allSatisfy { $0 < 0x80 } ? count : 2 * text.utf16.count)
    }

    /// Marker, count, content, offset and reference of one object.
    private mutating func takes(count: Int) -> Bool { takes(bytes: 12 + (count + 15) / 16 * 16) }

    private mutating func takes(bytes: Int) -> Bool {
        guard bytes <= room else { return false }
        room -= bytes
        return true
    }
}
