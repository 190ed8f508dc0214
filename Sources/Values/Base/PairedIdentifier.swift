// Identifier by which a secondary knows its primary for one application; signed configuration names it as its target.
// The two kinds never match each other, and custom text is compared as UTF-8 bytes: Swift's String equality is
// canonical equivalence, under which two different identifiers of two parties could meet.

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

// The name under which a host app talks to its daemon, and its counterpart to the other one. The alphabet is small on
// purpose: the identifier is also the name of the app's directory, so no spelling of it may leave that directory.

/// An application identifier: 1-128 of `A-Z a-z 0-9 . _ -`, not starting with a dot.
public struct ApplicationIdentifier: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The longest identifier in bytes: it must fit a file name with room for a suffix.
    public static var maximumLength: Int { 128 }

    /// The rule, for people.
    package static var rule: String { "1-\(maximumLength) of A-Z a-z 0-9 . _ - without a leading dot" }

    /// The identifier's text; ASCII only, so text and bytes compare alike.
    public let description: String

    /// - Throws: ``IdentifierError/application(_:)`` if the text breaks the rule above.
    public init(_ text: String) throws(IdentifierError) {
        let bytes = text.utf8
        let isAllowed = (1...Self.maximumLength).contains(bytes.count) && bytes.first != UInt8(ascii: ".")
        guard isAllowed, bytes.allSatisfy(\.isPlainInNames) else { throw .application(text) }
        description = text
    }

    /// The identifier of a text whose bytes were checked where they lay.
    package init(checked text: String) { description = text }

    public static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}

// Errors of texts that should have been identifiers. Outside text is truncated before it is shown, so that an error
// message cannot flood a terminal or a log.

/// A text that is not the identifier it was taken for.
public enum IdentifierError: Error, Sendable, Equatable {
    /// Not an ``ApplicationIdentifier``.
    case application(String)
    /// Not a ``PairedIdentifier``.
    case paired(String)
    /// Not a ``CustomIdentifier``.
    case custom(String)
}

extension IdentifierError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .application(let text):
            "application identifier \(Self.quoted(text)) is not \(ApplicationIdentifier.rule)"
        case .paired(let text):
            "paired identifier \(Self.quoted(text)) is not vendor:<UUID in upper case> or custom:<1-256 bytes>"
        case .custom(let text):
            "custom identifier \(Self.quoted(text)) is not 1-256 bytes of UTF-8 without NUL"
        }
    }

    private static func quoted(_ text: String) -> String { OutsideText.asciiQuoted(text, atMost: 64) }
}

// The two parts of a pairing. A role belongs to a pairing, not to a machine: one daemon may hold both kinds.

/// A device's part in a pairing: the phone's (primary) or the watch's (secondary).
public enum DeviceRole: String, Sendable, Hashable, CaseIterable {
    /// The phone's part: may be paired with several secondaries, one of them active.
    case primary
    /// The watch's part: dials its primary, and verifies what that sends.
    case secondary

    /// The other device's part in the same pairing.
    public var counterpart: DeviceRole { self == .primary ? .secondary : .primary }
}
