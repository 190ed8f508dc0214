// Property-list values in the typed notation of Protocol/Vectors/README.md, both ways.

import TandemBase
package import TandemPropertyList

/// The notation that vectors are written in.
package enum TypedNotation {
    /// The value of a notation; nil for anything else.
    package static func value(_ notation: PropertyListValue?) -> PropertyListValue? {
        guard let pair = notation?.dictionaryValue?.first else { return nil }
        if let repeated = pair.value.dictionaryValue { return value(pair.key, repeated) }
        let text = pair.value.stringValue
        switch pair.key {
        case "boolean": return pair.value.booleanValue.map { .boolean($0) }
        case "integer":
            return text.flatMap { Int64($0) }.map { .integer($0) } ?? text.flatMap { UInt64($0) }.map { .unsigned($0) }
        case "real": return text.flatMap { Double($0) }.map { .real($0) }
        case "date":
            let date = text.flatMap { Int64($0) }.flatMap { PropertyListDate(millisecondsSince1970: $0) }
            return date.map { .date($0) }
        case "data": return text.flatMap(Hexadecimal.decode).map { .data($0) }
        case "string": return text.map { .string($0) }
        case "array": return pair.value.arrayValue.flatMap(all).map { .array($0) }
        case "dictionary": return pair.value.arrayValue.flatMap(pairs).map { .dictionary($0) }
        default: return nil
        }
    }

    /// One element many times.
    private static func value(_ kind: String, _ told: PropertyListDictionary) -> PropertyListValue? {
        guard let times = told["times"]?.integerValue.map(Int.init) else { return nil }
        switch kind {
        case "data":
            let unit = told["hex"]?.stringValue.flatMap(Hexadecimal.decode)
            return unit.map { .data(Array(repeatElement($0, count: times).joined())) }
        case "string": return told["text"]?.stringValue.map { .string(String(repeating: $0, count: times)) }
        case "array": return value(told["value"]).map { .array(Array(repeating: $0, count: times)) }
        default: return nil
        }
    }

    private static func all(_ notations: [PropertyListValue]) -> [PropertyListValue]? {
        let values = notations.compactMap { value($0) }
        return values.count == notations.count ? values : nil
    }

    private static func pairs(_ notations: [PropertyListValue]) -> PropertyListDictionary? {
        var dictionary = PropertyListDictionary()
        for pair in notations.compactMap(\.arrayValue) where pair.count == 2 {
            if let key = pair[0].stringValue { dictionary[key] = value(pair[1]) }
        }
        return dictionary.count == notations.count ? dictionary : nil
    }
}

extension TypedNotation {
    /// The notation of a value.
    package static func notation(_ value: PropertyListValue) -> PropertyListValue {
        switch value {
        case .boolean: ["boolean": value]
        case .integer(let number): ["integer": .string(String(number))]
        case .unsigned(let number): ["integer": .string(String(number))]
        case .real(let number): ["real": .string(String(number))]
        case .date(let date): ["date": .string(String(date.millisecondsSince1970))]
        case .data(let bytes): ["data": .string(Hexadecimal.encode(bytes))]
        case .string: ["string": value]
        case .array(let elements): ["array": .array(elements.map(notation))]
        case .dictionary(let pairs):
            ["dictionary": .array(pairs.map { .array([.string($0.key), notation($0.value)]) })]
        }
    }
}
