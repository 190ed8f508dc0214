// The words of the envelope (FRM-8), and sets of them. Which of them a frame must and may have is for its kind to say
// (FRM-10): that table is in FrameKind+Keys.swift, and reading, writing and the tests use the same one.

/// A key of the envelope; its raw value is the word on the wire.
package enum EnvelopeKey: String, Sendable, Hashable, CaseIterable {
    case after
    case age
    case app
    case attempt
    case body
    case channel
    case code
    case command
    case deadline
    case id
    case key
    case kind
    case name
    case nonce
    case offset
    case pairing
    case remaining
    case reply
    case revision
    case sealing
    case sequence
    case topic
}

/// A set of envelope keys.
struct EnvelopeKeys: OptionSet, Sendable {
    let rawValue: UInt32

    init(rawValue: UInt32) { self.rawValue = rawValue }

    func contains(_ key: EnvelopeKey) -> Bool { !isDisjoint(with: Self.only(key)) }

    mutating func insert(_ key: EnvelopeKey) { formUnion(Self.only(key)) }

    /// The first key of `keys` that is not in this set.
    func firstMissing(of keys: EnvelopeKeys) -> EnvelopeKey? {
        EnvelopeKey.allCases.first { keys.contains($0) && !contains($0) }
    }

    private static func only(_ key: EnvelopeKey) -> Self {
        switch key {
        case .after: .after
        case .age: .age
        case .app: .app
        case .attempt: .attempt
        case .body: .body
        case .channel: .channel
        case .code: .code
        case .command: .command
        case .deadline: .deadline
        case .id: .id
        case .key: .key
        case .kind: .kind
        case .name: .name
        case .nonce: .nonce
        case .offset: .offset
        case .pairing: .pairing
        case .remaining: .remaining
        case .reply: .reply
        case .revision: .revision
        case .sealing: .sealing
        case .sequence: .sequence
        case .topic: .topic
        }
    }
}

extension EnvelopeKeys {
    static let age = Self(rawValue: 1 << 0)
    static let app = Self(rawValue: 1 << 1)
    static let attempt = Self(rawValue: 1 << 2)
    static let body = Self(rawValue: 1 << 3)
    static let channel = Self(rawValue: 1 << 4)
    static let code = Self(rawValue: 1 << 5)
    static let command = Self(rawValue: 1 << 6)
    static let deadline = Self(rawValue: 1 << 7)
    static let id = Self(rawValue: 1 << 8)
    static let kind = Self(rawValue: 1 << 9)
    static let name = Self(rawValue: 1 << 10)
    static let nonce = Self(rawValue: 1 << 11)
    static let pairing = Self(rawValue: 1 << 12)
    static let remaining = Self(rawValue: 1 << 13)
    static let reply = Self(rawValue: 1 << 14)
    static let sealing = Self(rawValue: 1 << 15)
    static let sequence = Self(rawValue: 1 << 16)
    static let after = Self(rawValue: 1 << 17)
    static let key = Self(rawValue: 1 << 18)
    static let offset = Self(rawValue: 1 << 19)
    static let revision = Self(rawValue: 1 << 20)
    static let topic = Self(rawValue: 1 << 21)
}
