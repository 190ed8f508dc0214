// The values of an envelope (FRM-8): what each type of the table of keys is as a Swift value, from the wire and to it.

package import TandemBase
import TandemPropertyList

/// The value of one key but for the kind and the body, which are no values of a table.
package enum EnvelopeValue: Sendable, Equatable {
    case boolean(Bool)
    case integer(Int64)
    case identifier(UniqueIdentifier)
    case application(ApplicationIdentifier)
    case channel(Channel)
    case text(String)

    /// The type of a key's value with its range.
    enum Kind {
        /// The kind of the frame, which ``Envelope/kind`` has.
        case kind
        case application
        case channel
        case identifier
        case boolean
        case integer(ClosedRange<Int64>, StaticText)
        /// At most 256 bytes, with its index among the texts of an envelope.
        case text(Int)
        /// 1 to 128 bytes without NUL, with its index among the texts of an envelope.
        case shortText(Int)
        /// The data that is ``Envelope/body``.
        case body
        /// `sealing`: the integer 0, which says the same as no value.
        case zero
    }
}

extension EnvelopeValue {
    /// Reads the value of a key in any of the forms that FRM-6 allows; nil for a `sealing` of 0.
    /// - Throws: ``WireError`` naming the key.
    init?(_ value: FlatDictionary.Value, of key: EnvelopeKey) throws(WireError) {
        switch (key.type, value) {
        case (.boolean, .boolean(let value)): self = .boolean(value)
        case (.integer(let range, _), .integer(let value)) where range.contains(value): self = .integer(value)
        case (.zero, .integer(let value)):
            guard value == 0 else { throw .unknownSealing(value) }
            return nil
        case (.text, .string(let value)) where value.utf8.count <= Limits.envelopeText: self = .text(value)
        case (.shortText, .string(let value)) where value.isShortText: self = .text(value)
        case (let type, let value):
            guard let named = Self.named(type, value) else {
                throw .invalidValue(key: key.rawValue, expected: type.expected(value))
            }
            self = named
        }
    }

    /// The values that name something.
    private static func named(_ type: Kind, _ value: FlatDictionary.Value) -> EnvelopeValue? {
        switch (type, value) {
        case (.identifier, .data(let bytes)): UniqueIdentifier(bytes: bytes).map { .identifier($0) }
        case (.application, .string(let text)): (try? ApplicationIdentifier(text)).map { .application($0) }
        case (.channel, .string(let word)): Channel(word: word).map { .channel($0) }
        default: nil
        }
    }

    /// Whether it is within the range that the key has.
    @inline(__always)
    func isInRange(of key: EnvelopeKey) -> Bool {
        switch key.type {
        case .integer(let range, _): if case .integer(let value) = self { range.contains(value) } else { false }
        case .text: if case .text(let text) = self { text.utf8.count <= Limits.envelopeText } else { false }
        case .shortText: if case .text(let text) = self { text.isShortText } else { false }
        case .kind, .application, .channel, .identifier, .boolean, .body, .zero: true
        }
    }

    /// Adds the value to a dictionary that is written.
    func write(to writer: inout FlatDictionaryWriter) throws(PropertyListError.Reason) {
        switch self {
        case .boolean(let value): try writer.add(value)
        case .integer(let value): try writer.add(value)
        case .identifier(let value): try writer.add(value.high, value.low)
        case .application(let value): try writer.add(value.description)
        case .channel(let value): try writer.add(value.rawValue)
        case .text(let value): try writer.add(value)
        }
    }
}

extension EnvelopeValue.Kind {
    /// The type's description in the text of a refusal.
    fileprivate func expected(_ value: FlatDictionary.Value) -> StaticText {
        switch self {
        case .boolean: return "a boolean"
        case .integer(_, let expected): return expected
        case .zero: return "an integer"
        case .body: return "data"
        case .identifier: return "data of 16 bytes"
        case .kind: return "a string"
        case .application, .channel, .text, .shortText:
            guard case .string = value else { return "a string" }
            if case .application = self { return "an application identifier" }
            if case .channel = self { return "a channel" }
            if case .text = self { return "at most 256 bytes" }
            return "1 to 128 bytes without NUL"
        }
    }
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
    package var isShortText: Bool { isText(within: Limits.shortText) }

    /// 1 to `limit` bytes without NUL: a topic or a key (LIM-37), or the name of a device or an app.
    package func isText(within limit: Int) -> Bool { (1...limit).contains(utf8.count) && !utf8.contains(0) }
}

// MARK: fields of Swift types

/// A Swift type that the value of a key can be given and taken as.
package protocol EnvelopeField {
    /// nil if the value is of another type, or is no word of a closed list.
    init?(_ value: EnvelopeValue)
    var envelopeValue: EnvelopeValue { get }
}

extension Bool: EnvelopeField {
    package init?(_ value: EnvelopeValue) {
        guard case .boolean(let value) = value else { return nil }
        self = value
    }
    package var envelopeValue: EnvelopeValue { .boolean(self) }
}

extension EnvelopeField where Self: FixedWidthInteger {
    package init?(_ value: EnvelopeValue) {
        guard case .integer(let value) = value else { return nil }
        self.init(exactly: value)
    }
    /// A number that Int64 does not have is in no key's range, and neither is what it becomes.
    package var envelopeValue: EnvelopeValue { .integer(Int64(truncatingIfNeeded: self)) }
}

extension Int: EnvelopeField {}
extension Int64: EnvelopeField {}
extension UInt64: EnvelopeField {}

/// Whole milliseconds on the wire.
extension Duration: EnvelopeField {
    package init?(_ value: EnvelopeValue) {
        guard case .integer(let value) = value else { return nil }
        self = .milliseconds(value)
    }
    package var envelopeValue: EnvelopeValue { .integer(saturatingMilliseconds) }
}

extension UniqueIdentifier: EnvelopeField {
    package init?(_ value: EnvelopeValue) {
        guard case .identifier(let value) = value else { return nil }
        self = value
    }
    package var envelopeValue: EnvelopeValue { .identifier(self) }
}

extension ApplicationIdentifier: EnvelopeField {
    package init?(_ value: EnvelopeValue) {
        guard case .application(let value) = value else { return nil }
        self = value
    }
    package var envelopeValue: EnvelopeValue { .application(self) }
}

extension Channel: EnvelopeField {
    package init?(_ value: EnvelopeValue) {
        guard case .channel(let value) = value else { return nil }
        self = value
    }
    package var envelopeValue: EnvelopeValue { .channel(self) }
}

extension String: EnvelopeField {
    package init?(_ value: EnvelopeValue) {
        guard case .text(let value) = value else { return nil }
        self = value
    }
    package var envelopeValue: EnvelopeValue { .text(self) }
}

/// A closed list of words that the value of `name` or `command` is one of.
package protocol EnvelopeWord: EnvelopeField, RawRepresentable<String>, Sendable, Hashable, CaseIterable {}

extension EnvelopeWord {
    package init?(_ value: EnvelopeValue) {
        guard case .text(let word) = value else { return nil }
        self.init(word: word)
    }
    package var envelopeValue: EnvelopeValue { .text(rawValue) }
}
