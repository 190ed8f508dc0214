// Last frame of a connection that is refused: a stable name and a text for people (SES-21). A refusal never carries
// anything that the peer did not already send or that is not public.

import TandemBase
package import TandemPropertyList

/// A refusal, to be sent or received.
package struct Refusal: Error, TypedFrame, Equatable, CustomStringConvertible {
    /// The word on the wire; a newer peer may use one that ``RefusalName`` does not know.
    package let word: String
    /// For people.
    package let text: String

    package init(_ name: RefusalName, _ text: String = "") {
        word = name.rawValue
        self.text = text
    }

    /// The refusal that answers a fault of the peer's bytes.
    package init(_ error: WireError) { self.init(error.refusalName, error.description) }

    /// The refusal of a frame that reads, with the text of ``text(in:_:)``.
    package init(_ name: RefusalName, in kind: FrameKind, _ fault: WireError?) {
        self.init(name, Self.text(in: kind, fault))
    }

    /// The refusal of a frame with another `app` or `pairing` than its connection's (FRM-13).
    package init(foreign key: EnvelopeKey, in kind: FrameKind) {
        self.init(.notYours, Self.text(foreign: key, in: kind))
    }

    /// The words of SES-21 for a frame that reads: its kind, and the first key that is wrong.
    /// - Parameter fault: nil if no key of the frame is to blame.
    package static func text(in kind: FrameKind, _ fault: WireError?) -> String {
        "in \(kind.rawValue)" + (fault.map { ": \($0)" } ?? "")
    }

    /// The same for a frame with another `app` or `pairing` than its connection's.
    package static func text(foreign key: EnvelopeKey, in kind: FrameKind) -> String {
        text(in: kind, .invalidValue(key: key.rawValue, expected: "the one of this connection"))
    }

    /// The known name; nil for a newer peer's.
    package var name: RefusalName? { RefusalName(word: word) }

    package var description: String { text.isEmpty ? word : "\(word): \(text)" }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.refusal)
            envelope[.name] = word
            return try envelope.with(body: text.isEmpty ? [:] : [BodyKey.text: .string(text)])
        }
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        word = try envelope.required(.name)
        text = try BodyFields(envelope.dictionaryBody()).optionalString(BodyKey.text) ?? ""
    }
}

// The stable names that a connection gets before it closes (SES-21). A program decides by the name; the text that goes
// with it is for people.

/// Why a connection was refused; its raw value is the word on the wire.
package enum RefusalName: String, EnvelopeWord {
    case malformed
    case envelope
    case unknownKey = "unknown-key"
    case unknownKind = "unknown-kind"
    case unknownSealing = "unknown-sealing"
    case tooLarge = "too-large"
    case tooSlow = "too-slow"
    case helloExpected = "hello-expected"
    case version
    case versionLowered = "version-lowered"
    case notPaired = "not-paired"
    case notYours = "not-yours"
    case application
    case appOwned = "app-owned"
    case appRemoved = "app-removed"
    case appOtherSide = "app-other-side"
    case alreadyReceiving = "already-receiving"
    case tooManyApplications = "too-many-applications"
    case tooManyConnections = "too-many-connections"
    case notAllowed = "not-allowed"
    case slowConsumer = "slow-consumer"
    case joinRefused = "join-refused"
    case epoch
    case stopping
    case unexpected
}

// Faults in a peer's bytes, from the length of a frame to the keys of its envelope. Each case has exactly one refusal
// name, so that the log and the refusal to the peer cannot differ.

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

    /// The name in the refusal to the peer.
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
        case .unknownKind(let kind): "unknown kind \(quoted(kind))"
        case .unknownKey(let key): "unknown key \(quoted(key))"
        case .unknownSealing(let number): "sealing \(number) is not known; only 0 is"
        case .missingKind: "envelope without its key 'kind'"
        case .missingKey(let key, let kind): "\(kind.rawValue) without its key '\(key.rawValue)'"
        case .unlistedKey(let key, let kind): "\(kind.rawValue) must not have the key '\(key.rawValue)'"
        case .tooManyExtensions(let limit): "more than \(limit) keys that start with x-"
        case .invalidValue(let key, let expected): "key \(quoted(key)) is not \(expected)"
        }
    }

    /// Text of a peer, cut so that it cannot flood a log (LIM-13).
    private func quoted(_ text: String) -> String { OutsideText.asciiQuoted(text, atMost: Limits.peerText) }
}
