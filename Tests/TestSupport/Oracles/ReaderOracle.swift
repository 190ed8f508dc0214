// Invariants of the codec for any bytes at all (FRM-6, FRM-7). One function for the fuzzer, which makes the bytes, and
// for the tests, which replay those worth keeping.

import TandemPropertyList

/// Every way of reading some bytes, held against each other.
package enum ReaderOracle {
    /// The violated invariant; nil if none is.
    package static func fault(in bytes: [UInt8]) -> String? {
        let reference = ReferenceReader.value(bytes)
        do {
            let value = try PropertyListReader.read(bytes)
            guard let reference else { return "read, though the profile forbids it" }
            guard same(value, reference) else { return "read as another value than the bytes say" }
            return try meaning(of: value, bytes)
        } catch {
            if reference != nil { return "refused, though the profile allows it: \(error)" }
            return refusal(of: bytes, error)
        }
    }

    /// Equal to the bit: equality of reals does not tell 0 from -0.
    private static func same(_ left: PropertyListValue, _ right: PropertyListValue) -> Bool {
        guard left == right else { return false }
        return (try? PropertyListWriter.write(left)) == (try? PropertyListWriter.write(right))
    }

    /// Accepted: one normalisation and no more, and every view sees the same.
    private static func meaning(of value: PropertyListValue, _ bytes: [UInt8]) throws(PropertyListError) -> String? {
        let canonical = try PropertyListWriter.write(value)
        let again = try PropertyListReader.read(canonical)
        guard again == value else { return "another value after one writing" }
        guard try PropertyListWriter.write(again) == canonical else { return "other bytes after a second writing" }
        guard ReferenceReader.value(canonical) == value else { return "written against the profile" }
        guard try PropertyListReader.read(elsewhere(bytes)) == value else {
            return "another value at another place in memory"
        }
        let validation = try PropertyListValidation(bytes)
        guard validation.expandedValues == count(value) else { return "\(validation.expandedValues) values counted" }
        if let found = try flat(value, bytes) { return found }
        return try ViewOracle.fault(in: bytes, value)
    }

    private static func refusal(of bytes: [UInt8], _ error: PropertyListError) -> String? {
        let others = [validating(bytes), readingElsewhere(bytes), readingFlat(bytes), ViewOracle.refusal(of: bytes)]
        for (way, other) in others.enumerated() where other != error {
            return "way \(way) says \(other.map(\.description) ?? "nothing") in place of \(error)"
        }
        return nil
    }

    private static func validating(_ bytes: [UInt8]) -> PropertyListError? {
        do { _ = try PropertyListValidation(bytes) } catch { return error }
        return nil
    }

    private static func readingElsewhere(_ bytes: [UInt8]) -> PropertyListError? {
        do { _ = try PropertyListReader.read(elsewhere(bytes)) } catch { return error }
        return nil
    }

    private static func readingFlat(_ bytes: [UInt8]) -> PropertyListError? {
        do { _ = try FlatDictionary(bytes[...]) } catch { return error }
        return nil
    }

    /// The same bytes as a slice that does not begin at 0.
    private static func elsewhere(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        ([1, 2, 3] + bytes + [4])[3..<3 + bytes.count]
    }

    /// Values and keys as often as they are referred to.
    private static func count(_ value: PropertyListValue) -> Int {
        switch value {
        case .array(let elements): elements.reduce(1) { $0 + count($1) }
        case .dictionary(let pairs): pairs.reduce(1) { $0 + 1 + count($1.value) }
        default: 1
        }
    }

    private static func flat(_ value: PropertyListValue, _ bytes: [UInt8]) throws(PropertyListError) -> String? {
        guard case .dictionary(let pairs) = value else {
            return readingFlat(bytes)?.reason == .rootNotDictionary ? nil : "a flat dictionary that is none"
        }
        let flat = try FlatDictionary(bytes[...])
        guard flat.count == pairs.count else { return "a flat dictionary of \(flat.count) pairs" }
        for position in 0..<flat.count {
            let (key, found) = (flat.key(at: position), flat.value(at: position))
            guard let expected = pairs[key], matches(found, expected) else { return "flat value of \(key)" }
        }
        return nil
    }

    private static func matches(_ found: FlatDictionary.Value, _ expected: PropertyListValue) -> Bool {
        switch found {
        case .boolean(let value): expected == .boolean(value)
        case .integer(let value): expected == .integer(value)
        case .string(let value): expected == .string(value)
        case .data(let value): expected == .data(Array(value))
        case .other(let value): expected == value
        case .container: expected.arrayValue != nil || expected.dictionaryValue != nil
        }
    }
}
