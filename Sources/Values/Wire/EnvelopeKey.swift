// The words of the envelope (FRM-8) and, for each kind, which of them it must and may have (FRM-10). A table, so that
// reading, writing and the tests use the same one.

/// A key of the envelope; its raw value is the word on the wire.
package enum EnvelopeKey: String, Sendable, Hashable, CaseIterable {
    case age
    case app
    case attempt
    case body
    case channel
    case code
    case command
    case deadline
    case id
    case kind
    case name
    case nonce
    case pairing
    case remaining
    case reply
    case sealing
    case sequence
}

/// A set of envelope keys.
struct EnvelopeKeys: OptionSet {
    let rawValue: UInt32

    init(rawValue: UInt32) { self.rawValue = rawValue }

    init(_ keys: [EnvelopeKey]) { rawValue = keys.reduce(0) { $0 | Self.bit($1) } }

    func contains(_ key: EnvelopeKey) -> Bool { rawValue & Self.bit(key) != 0 }

    mutating func insert(_ key: EnvelopeKey) { self = union(EnvelopeKeys(rawValue: Self.bit(key))) }

    /// The first key of `keys` that is not in this set.
    func firstMissing(of keys: EnvelopeKeys) -> EnvelopeKey? {
        EnvelopeKey.allCases.first { keys.contains($0) && !contains($0) }
    }

    private static func bit(_ key: EnvelopeKey) -> UInt32 {
        switch key {
        case .age: 1 << 0
        case .app: 1 << 1
        case .attempt: 1 << 2
        case .body: 1 << 3
        case .channel: 1 << 4
        case .code: 1 << 5
        case .command: 1 << 6
        case .deadline: 1 << 7
        case .id: 1 << 8
        case .kind: 1 << 9
        case .name: 1 << 10
        case .nonce: 1 << 11
        case .pairing: 1 << 12
        case .reply: 1 << 13
        case .sealing: 1 << 14
        case .sequence: 1 << 15
        case .remaining: 1 << 16
        }
    }
}
