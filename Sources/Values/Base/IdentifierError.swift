// What is wrong with a text that should have been an identifier. Outside text is cut before it is shown, so that an
// error message cannot flood a terminal or a log.

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
            "application identifier \(Self.quoted(text)) is not 1-128 of A-Z a-z 0-9 . _ - without a leading dot"
        case .paired(let text):
            "paired identifier \(Self.quoted(text)) is not vendor:<UUID in upper case> or custom:<1-256 bytes>"
        case .custom(let text):
            "custom identifier \(Self.quoted(text)) is not 1-256 bytes of UTF-8 without NUL"
        }
    }

    private static func quoted(_ text: String) -> String {
        let shown = text.unicodeScalars.prefix(64).map {
            $0.isASCII && $0.value >= 32 && $0.value != 127 ? String($0) : "?"
        }
        return "'\(shown.joined())'" + (text.unicodeScalars.count > 64 ? "..." : "")
    }
}
