// What a secondary knows of its primary for one application, and what signed configuration is targeted at. The two
// kinds never match each other, and custom text is compared as UTF-8 bytes: Swift's String equality is canonical
// equivalence, under which two different identifiers of two parties could meet.

/// A paired identifier: `vendor:<UUID in upper case>` or `custom:<1-256 bytes of UTF-8 without NUL>`.
public enum PairedIdentifier: Sendable {
    /// The primary's vendor identifier.
    case vendor(UniqueIdentifier)
    /// The primary's custom identifier for the application, as its checked UTF-8 bytes.
    case custom(CustomIdentifier)

    /// Reads the typed text form, exactly as written by ``text``.
    /// - Throws: ``IdentifierError/paired(_:)`` for any other text, a vendor UUID in lower case included.
    public init(text: String) throws(IdentifierError) {
        if let value = Self.value(of: text, kind: "custom:") {
            self = .custom(try CustomIdentifier(value))
        } else if let value = Self.value(of: text, kind: "vendor:"), let identifier = UniqueIdentifier(text: value),
            identifier.description.utf8.elementsEqual(value.utf8)
        {
            self = .vendor(identifier)
        } else {
            throw .paired(text)
        }
    }

    private static func value(of text: String, kind: String) -> String? {
        guard text.utf8.starts(with: kind.utf8) else { return nil }
        return String(decoding: text.utf8.dropFirst(kind.utf8.count), as: UTF8.self)
    }

    /// The typed text form.
    public var text: String {
        switch self {
        case .vendor(let identifier): "vendor:\(identifier)"
        case .custom(let identifier): "custom:\(identifier)"
        }
    }
}

extension PairedIdentifier: Hashable {}

extension PairedIdentifier: CustomStringConvertible {
    public var description: String { text }
}

/// A custom identifier that a host app declares for its device: 1-256 bytes of UTF-8, no NUL; compared as bytes.
public struct CustomIdentifier: Sendable, Hashable, CustomStringConvertible {
    /// The longest custom identifier in bytes.
    public static var maximumLength: Int { 256 }

    /// The identifier's UTF-8 bytes.
    public let bytes: [UInt8]

    /// - Throws: ``IdentifierError/custom(_:)`` if the text is empty, too long or holds a NUL.
    public init(_ text: String) throws(IdentifierError) {
        let bytes = Array(text.utf8)
        guard (1...Self.maximumLength).contains(bytes.count), !bytes.contains(0) else { throw .custom(text) }
        self.bytes = bytes
    }

    public var description: String { String(decoding: bytes, as: UTF8.self) }
}
