// Upper bound of the bytes that an entry takes in a store. If the sum of the bounds fits, the store has room and
// nothing is encoded to find out. The bound costs a pass over the value's texts; encoding would cost a pass over all
// entries for each value that is set.

import TandemPropertyList

extension PropertyListValue {
    /// The most bytes of the value in a property list, XML or binary.
    /// - Parameter indent: the tabs before its lines.
    func weight(indent: Int) -> Int {
        // The longest number or date with its tags, and in a binary list its marker and its references.
        let scalar = 64 + indent
        switch self {
        case .boolean, .integer, .unsigned, .real, .date: return scalar
        case .string(let text): return scalar + text.weight
        case .data(let content):
            let characters = (content.count + 2) / 3 * 4
            let width = max(4, (68 - 8 * indent) / 4 * 4)
            return 2 * scalar + characters + (characters / width + 1) * (indent + 1)
        case .array(let values): return values.reduce(2 * scalar) { $0 + $1.weight(indent: indent + 1) }
        case .dictionary(let pairs):
            return pairs.reduce(2 * scalar) { $0 + $1.value.weight(ofKey: $1.key, indent: indent + 1) }
        }
    }

    /// As ``weight(indent:)``, with the key before it.
    func weight(ofKey key: String, indent: Int) -> Int { 64 + indent + key.weight + weight(indent: indent) }
}

extension String {
    /// Escaped in UTF-8, or in a binary list in UTF-16.
    fileprivate var weight: Int {
        var escapes = 0
        for byte in utf8 where byte == 0x26 || byte == 0x3C || byte == 0x3E || byte == 0x0D { escapes += 1 }
        return 2 * utf8.count + 4 * escapes
    }
}
