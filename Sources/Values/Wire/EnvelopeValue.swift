// One value of an envelope and the key it stands under, with the types and ranges of FRM-8.

import TandemBase
import TandemPropertyList

struct EnvelopeValue {
    let key: EnvelopeKey
    let value: FlatDictionary.Value

    func boolean() throws(WireError) -> Bool {
        guard case .boolean(let value) = value else { throw fault("a boolean") }
        return value
    }

    func string() throws(WireError) -> String {
        guard case .string(let value) = value else { throw fault("a string") }
        return value
    }

    func shortText() throws(WireError) -> String {
        let text = try string()
        guard text.isShortText else { throw fault("1 to 128 bytes without NUL") }
        return text
    }

    func integer(in range: ClosedRange<Int64>, _ expected: StaticText) throws(WireError) -> Int64 {
        guard case .integer(let value) = value, range.contains(value) else { throw fault(expected) }
        return value
    }

    func data() throws(WireError) -> ArraySlice<UInt8> {
        guard case .data(let value) = value else { throw fault("data") }
        return value
    }

    func data(count: Int) throws(WireError) -> ArraySlice<UInt8> {
        guard case .data(let value) = value, value.count == count else { throw fault("data of 16 bytes") }
        return value
    }

    func identifier() throws(WireError) -> UniqueIdentifier {
        guard let identifier = UniqueIdentifier(bytes: try data(count: 16)) else { throw fault("data of 16 bytes") }
        return identifier
    }

    func application() throws(WireError) -> ApplicationIdentifier {
        let text = try string()
        do { return try ApplicationIdentifier(text) } catch { throw fault("an application identifier") }
    }

    func channel() throws(WireError) -> Channel {
        guard let channel = Channel(rawValue: try string()) else { throw fault("a channel") }
        return channel
    }

    func deadline() throws(WireError) -> Duration {
        let deadline = Duration.milliseconds(try integer(in: 1...Int64.max, "an integer from 1 to 600000"))
        guard Limits.deadline.contains(deadline) else { throw fault("an integer from 1 to 600000") }
        return deadline
    }

    func checkUnsealed() throws(WireError) {
        let number = try integer(in: Int64.min...Int64.max, "an integer")
        guard number == 0 else { throw .unknownSealing(number) }
    }

    private func fault(_ expected: StaticText) -> WireError { .invalidValue(key: key.rawValue, expected: expected) }
}

extension FlatDictionary.Value {
    /// The value of an extension, which must be flat like everything else in an envelope (FRM-8).
    func scalar(_ word: String) throws(WireError) -> PropertyListValue {
        switch self {
        case .boolean(let value): return .boolean(value)
        case .integer(let value): return .integer(value)
        case .string(let value): return .string(value)
        case .data(let value): return .data(Array(value))
        case .other(.unsigned(let value)): return .unsigned(value)
        case .other, .container: throw .invalidValue(key: word, expected: "a boolean, integer, string or data")
        }
    }
}

extension String {
    /// 1 to 128 bytes without NUL: a topic or a key (FRM-8, LIM-37).
    package var isShortText: Bool { (1...Limits.shortText).contains(utf8.count) && !utf8.contains(0) }
}
