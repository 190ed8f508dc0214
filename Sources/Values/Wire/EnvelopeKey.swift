// The table of envelope keys (FRM-8): one row for each, with its word, its bit and the type and range of its value.
// Reading, writing, checking and dumping go by this table. To add a key:
// 1. Here: a case in the order of the words, of at most 14 characters, and its row in `type`; for a text one more entry
//    in `Texts`.
// 2. In ``FrameKind``'s table: the key in the rows of the kinds that have it. A frame with more than 14 keys is read on
//    the slow path.
// 3. In Protocol: its rows in FRM-8 and FRM-10, which the tests read.
// With that it is read, written, checked and forwarded, also to an older end, which refuses it and closes the
// connection. So do not ship it without a capability:
// 4. In ``Hello`` and SES-3: the capability. The relay asks for it before it forwards (`RelayPort.Abilities`, set in
//    the port's initialiser, and `RoutingHeader.needs`), the library before it sends (`SendAdmission`).
// 5. Its use: a field in the typed frame of each of these kinds, and from there as far as its meaning goes; for a
//    message as `topic` does, for an item also through `OutboundRecord`, `InboundRecord` and `RecordField`. A value
//    that decides the route has a field in ``EnvelopeHead``.

/// A key of the envelope; its raw value is the word on the wire. The cases stand in the order of their words, in which
/// a frame has them.
package enum EnvelopeKey: String, Sendable, Hashable, CaseIterable {
    case after, age, app, attempt, body, channel, code, command, deadline, id, key, kind, name, nonce, offset, pairing
    case remaining, reply, revision, sealing, sequence, topic

    /// A word for the value of each key, with room for two more: the compiler takes only a literal as the count.
    /// TypedFrameTests compares this count and the next with the table.
    package typealias Words = InlineArray<24, UInt128>
    /// An entry for the value of each key of a text.
    package typealias Texts = InlineArray<4, String>

    /// The type and the range of the key's value.
    @inline(__always)
    var type: EnvelopeValue.Kind {
        switch self {
        case .after: .identifier
        case .age: .integer(0...Int64.max, "an integer from 0")
        case .app: .application
        case .attempt: .integer(1...Int64.max, "an integer from 1")
        case .body: .body
        case .channel: .channel
        case .code: .integer(Int64.min...Int64.max, "an integer")
        case .command: .text(0)
        case .deadline: .integer(1...Limits.deadlineMilliseconds, "an integer from 1 to 600000")
        case .id: .identifier
        case .key: .shortText(1)
        case .kind: .kind
        case .name: .text(2)
        case .nonce: .identifier
        case .offset: .integer(0...Int64.max, "an integer from 0")
        case .pairing: .identifier
        case .remaining: .integer(0...Int64.max, "an integer from 0")
        case .reply: .boolean
        case .revision: .integer(1...Int64.max, "an integer from 1")
        case .sealing: .zero
        case .sequence: .integer(1...Int64.max, "an integer from 1")
        case .topic: .shortText(3)
        }
    }

    /// The key's number in the order of the words.
    @inline(__always)
    var number: UInt8 {
        // An enum of up to 256 cases without payloads is a byte that counts them; EnvelopeTests proves it.
        unsafe unsafeBitCast(self, to: UInt8.self)
    }

    /// The key of a number in that order.
    @inline(__always)
    init(number: Int) {
        precondition(number < Self.plainWords.count, "a key has this number")
        // As above.
        self = unsafe unsafeBitCast(UInt8(truncatingIfNeeded: number), to: EnvelopeKey.self)
    }
}

/// A set of envelope keys.
struct EnvelopeKeys: Sendable, Equatable, ExpressibleByArrayLiteral {
    private var bits: UInt32 = 0

    init() {}

    init(arrayLiteral keys: EnvelopeKey...) { for key in keys { insert(key) } }

    @inline(__always)
    private static func bit(_ key: EnvelopeKey) -> UInt32 { 1 &<< UInt32(key.number) }

    @inline(__always)
    var count: Int { bits.nonzeroBitCount }

    /// The number of the last key; 0 if there is none.
    @inline(__always)
    var last: Int { max(0, UInt32.bitWidth - 1 - bits.leadingZeroBitCount) }

    @inline(__always)
    func contains(_ key: EnvelopeKey) -> Bool { bits & Self.bit(key) != 0 }

    @inline(__always)
    func isSuperset(of other: EnvelopeKeys) -> Bool { bits & other.bits == other.bits }

    @inline(__always)
    mutating func insert(_ key: EnvelopeKey) { bits |= Self.bit(key) }

    @inline(__always)
    mutating func remove(_ key: EnvelopeKey) { bits &= ~Self.bit(key) }

    mutating func formUnion(_ other: EnvelopeKeys) { bits |= other.bits }

    /// Lends the keys in their order.
    @inline(__always)
    func forEach<Failure>(_ body: (EnvelopeKey) throws(Failure) -> Void) throws(Failure) {
        var rest = bits
        while rest != 0 {
            try body(EnvelopeKey(number: rest.trailingZeroBitCount))
            rest &= rest &- 1
        }
    }

    /// The keys of this set that come before one.
    func before(_ key: EnvelopeKey) -> EnvelopeKeys {
        var keys = EnvelopeKeys()
        keys.bits = bits & (Self.bit(key) &- 1)
        return keys
    }

    /// The first key of `keys` that is not in this set.
    func firstMissing(of keys: EnvelopeKeys) -> EnvelopeKey? {
        EnvelopeKey.allCases.first { keys.contains($0) && !contains($0) }
    }
}
