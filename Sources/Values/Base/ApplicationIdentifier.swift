// The name under which a host app talks to its daemon, and its counterpart to the other one. The alphabet is small on
// purpose: the identifier is also the name of the app's directory, so no spelling of it may leave that directory.

/// An application identifier: 1-128 of `A-Z a-z 0-9 . _ -`, not starting with a dot.
public struct ApplicationIdentifier: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The longest identifier in bytes: it must fit a file name with room for a suffix.
    public static var maximumLength: Int { 128 }

    /// The identifier's text; ASCII only, so text and bytes compare alike.
    public let description: String

    /// - Throws: ``IdentifierError/application(_:)`` if the text breaks the rule above.
    public init(_ text: String) throws(IdentifierError) {
        let bytes = text.utf8
        let isAllowed = (1...Self.maximumLength).contains(bytes.count) && bytes.first != UInt8(ascii: ".")
        guard isAllowed, bytes.allSatisfy(Self.isAllowed) else { throw .application(text) }
        description = text
    }

    /// The identifier of a text whose bytes were checked where they lay.
    package init(checked text: String) { description = text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    public static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}
