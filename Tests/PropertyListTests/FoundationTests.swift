// Foundation as another implementation, with bytes that we made ourselves: it must never see a peer's, and nothing but
// this test gives it any. Both ways equal in value and type.

import Foundation
import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct FoundationTests {
    @Test func foundationReadsWhatWeWrite() throws {
        var values = GeneratedValues(seed: DifferentialTests.seed + 2)
        for _ in 0..<DifferentialTests.count {
            let value = values.next()
            let data = Data(try PropertyListWriter.write(value))
            let foreign = try PropertyListSerialization.propertyList(from: data, options: [], format: nil)
            let read = Self.value(foreign)
            #expect(read == value)
        }
    }

    /// Foundation writes objects that nothing refers to into about one list of four, which the profile forbids (FRM-6
    /// d).
    @Test func weReadWhatFoundationWrites() throws {
        var values = GeneratedValues(seed: DifferentialTests.seed + 3)
        var unreferenced = 0
        for _ in 0..<DifferentialTests.count {
            let value = values.next()
            let data = try PropertyListSerialization.data(
                fromPropertyList: Self.foreign(value), format: .binary, options: 0)
            let bytes = [UInt8](data)
            if refusal(of: bytes) == .unreferencedObject {
                unreferenced += 1
            } else {
                let read = try PropertyListReader.read(bytes)
                #expect(read == value)
            }
        }
        #expect(unreferenced < DifferentialTests.count / 2)
    }

    private static func foreign(_ value: PropertyListValue) -> Any {
        switch value {
        case .boolean(let value): value
        case .integer(let value): NSNumber(value: value)
        case .unsigned(let value): NSNumber(value: value)
        case .real(let value): NSNumber(value: value)
        case .date(let value): Date(timeIntervalSinceReferenceDate: value.secondsSinceReferenceDate)
        case .data(let value): Data(value)
        case .string(let value): value
        case .array(let elements): elements.map(foreign)
        case .dictionary(let pairs): Dictionary(uniqueKeysWithValues: pairs.map { ($0.key, foreign($0.value)) })
        }
    }

    /// Nil for what we do not have. A boolean also casts to a number, and any number to a boolean, so the type decides.
    private static func value(_ foreign: Any) -> PropertyListValue? {
        switch foreign {
        case let value as Bool where type(of: foreign) == Bool.self: return .boolean(value)
        case let number as NSNumber: return value(number)
        case let date as Date:
            let found = PropertyListDate(secondsSinceReferenceDate: date.timeIntervalSinceReferenceDate)
            return found.map { .date($0) }
        case let data as Data: return .data(Array(data))
        case let text as String: return .string(text)
        case let elements as [Any]:
            let found: [PropertyListValue] = elements.compactMap { value($0) }
            return found.count == elements.count ? .array(found) : nil
        case let pairs as [String: Any]:
            var found = PropertyListDictionary()
            for (key, element) in pairs { found[key] = value(element) }
            return found.count == pairs.count ? .dictionary(found) : nil
        default: return nil
        }
    }

    private static func value(_ number: NSNumber) -> PropertyListValue {
        switch String(cString: number.objCType) {
        case "d", "f": .real(number.doubleValue)
        case "Q": PropertyListValue(number.uint64Value)
        default: .integer(number.int64Value)
        }
    }
}
