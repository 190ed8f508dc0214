// Why no code was made. There are two reasons only: the content does not fit any code, or the machine has no memory.

/// A content that could not become a code.
package enum CodeError: Error, Sendable, Equatable {
    /// The content has `count` bytes; the largest code of the asked correction holds `limit`.
    case tooLong(count: Int, limit: Int)
    case empty
    case outOfMemory
}

extension CodeError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong(let count, let limit):
            "\(count) bytes do not fit a QR code, which holds at most \(limit); hand them over as a file instead"
        case .empty: "a QR code needs at least one byte of content"
        case .outOfMemory: "no memory for a QR code"
        }
    }
}
