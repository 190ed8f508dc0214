// What is wrong with bytes from a peer, from the length of a frame to the keys of its envelope. Each case has exactly
// one refusal name, so that what a log says and what the peer is told cannot differ.

package import TandemPropertyList

/// A fault of a frame, an envelope or a body.
package enum WireError: Error, Sendable, Equatable {
    /// The frame's length is 0 or above the connection's limit.
    case frameLength(UInt32, limit: Int)
    /// The payload, or a body, is not a property list of the strict profile.
    case malformed(PropertyListError)
    case unknownKind(String)
    case unknownKey(String)
    case unknownSealing(Int64)
    /// No `kind`, so nothing else can be judged.
    case missingKind
    case missingKey(EnvelopeKey, FrameKind)
    case unlistedKey(EnvelopeKey, FrameKind)
    /// A value that is not of the key's type or not within its range.
    case invalidValue(key: String, expected: StaticText)
    case tooManyExtensions(limit: Int)

    /// The name that the peer is told.
    package var refusalName: RefusalName {
        switch self {
        case .frameLength: .tooLarge
        case .malformed: .malformed
        case .unknownKind: .unknownKind
        case .unknownKey: .unknownKey
        case .unknownSealing: .unknownSealing
        case .missingKind, .missingKey, .unlistedKey, .invalidValue, .tooManyExtensions: .envelope
        }
    }
}

/// Text that was written in the source, never taken from a peer.
package struct StaticText: Sendable, Equatable, ExpressibleByStringLiteral, CustomStringConvertible {
    // Made into a String only when it is shown: the table of keys has one in each row of a range.
    private let text: StaticString

    package init(stringLiteral value: StaticString) { text = value }

    package var description: String { text.description }

    package static func == (left: Self, right: Self) -> Bool { left.description == right.description }
}

extension WireError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .frameLength(let length, let limit): "frame of \(length) bytes; allowed are 1 to \(limit)"
        case .malformed(let error): "malformed property list: \(error)"
        case .unknownKind(let kind): "unknown kind \(PeerText.quoted(kind))"
        case .unknownKey(let key): "unknown key \(PeerText.quoted(key))"
        case .unknownSealing(let number): "sealing \(number) is not known; only 0 is"
        case .missingKind: "envelope without its key 'kind'"
        case .missingKey(let key, let kind): "\(kind.rawValue) without its key '\(key.rawValue)'"
        case .unlistedKey(let key, let kind): "\(kind.rawValue) must not have the key '\(key.rawValue)'"
        case .tooManyExtensions(let limit): "more than \(limit) keys that start with x-"
        case .invalidValue(let key, let expected): "key \(PeerText.quoted(key)) is not \(expected)"
        }
    }
}
