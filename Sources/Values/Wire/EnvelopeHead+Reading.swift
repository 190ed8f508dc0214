// One pass over a plain payload: the keys, then the values, each where the one before ended. That proves the rules of
// FRM-6 for this shape (contiguous, every object referenced, no container but the root), and the rules of FRM-8 to FRM-10
// are checked on the way. Accepted here means accepted by `Envelope(reading:)` with the same fields; nil means that it is
// asked. Nothing is allocated, and a body costs nothing.

import TandemBytes
import TandemIdentity

extension EnvelopeHead {
    /// Reads the head of a frame; nil if its payload is not plain or not right.
    package init?(plain frame: borrowing Frame) {
        guard let head = frame.withPayload({ EnvelopeHead(plain: $0) }) else { return nil }
        self = head
    }

    /// Reads the head of a frame's payload; nil if the payload is not plain or not right.
    package init?(plain payload: RawSpan) {
        self.init()
        guard let table = PlainTable(payload) else { return nil }
        var keys = InlineArray<16, EnvelopeKey>(repeating: .kind)
        guard let position = readKeys(&keys, table, payload) else { return nil }
        guard readValues(keys, table, payload, from: position) else { return nil }
        guard present.isSuperset(of: kind.requiredKeys), present.isSubset(of: kind.allowedKeys) else { return nil }
    }

    /// The keys are the objects 1 to n in this order, each known and new.
    @inline(__always)
    private mutating func readKeys(
        _ keys: inout InlineArray<16, EnvelopeKey>, _ table: PlainTable, _ payload: RawSpan
    ) -> Int? {
        var position = table.firstScalar
        for index in 0..<table.pairs {
            guard table.reference(index, in: payload) == index + 1,
                table.offset(of: index + 1, in: payload) == position,
                let scalar = PlainScalar(at: position, before: table.start, in: payload), scalar.kind == .ascii,
                let word = payload.packedWord(at: scalar.content, count: scalar.count),
                let key = EnvelopeKey(word), !present.contains(key)
            else { return nil }
            present.insert(key)
            keys[index] = key
            position = scalar.end
        }
        return position
    }

    /// Each value is the next object or, shared, one that was met before.
    @inline(__always)
    private mutating func readValues(
        _ keys: InlineArray<16, EnvelopeKey>, _ table: PlainTable, _ payload: RawSpan, from first: Int
    ) -> Bool {
        var (position, next) = (first, table.pairs + 1)
        for index in 0..<table.pairs {
            let object = table.reference(table.pairs + index, in: payload)
            guard 1...next ~= object, object < table.count else { return false }
            let offset = table.offset(of: object, in: payload)
            guard object < next || offset == position,
                let scalar = PlainScalar(at: offset, before: table.start, in: payload),
                take(scalar, under: keys[index], payload)
            else { return false }
            guard object == next else { continue }
            (position, next) = (scalar.end, next + 1)
        }
        return next == table.count && position == table.start
    }

    @inline(__always)
    private mutating func take(_ scalar: PlainScalar, under key: EnvelopeKey, _ payload: RawSpan) -> Bool {
        switch key {
        case .kind: return Self.set(&fields.kind, scalar.word(in: payload).flatMap(FrameKind.init))
        case .app: return Self.set(&fields.app, scalar.application(in: payload))
        case .pairing: return Self.set(&fields.pairing, scalar.identifier(in: payload))
        case .id: return Self.set(&fields.id, scalar.identifier(in: payload))
        case .channel: return Self.set(&fields.channel, scalar.word(in: payload).flatMap(Channel.init))
        case .sequence: return Self.set(&fields.sequence, scalar.integer(from: 1, in: payload))
        case .reply: return Self.set(&fields.reply, scalar.boolean(in: payload))
        case .deadline: return Self.set(&fields.deadline, scalar.deadline(in: payload))
        case .age: return Self.set(&fields.age, scalar.integer(from: 0, in: payload))
        case .remaining: return Self.set(&fields.remaining, scalar.integer(from: 0, in: payload))
        case .attempt: return Self.set(&fields.attempt, scalar.integer(from: 1, in: payload))
        case .nonce: return scalar.identifier(in: payload) != nil
        case .code: return scalar.kind == .integer
        case .name, .command: return scalar.isText(in: payload)
        case .sealing: return scalar.integer(from: 0, to: 0, in: payload) != nil
        case .body: return Self.set(&fields.body, scalar.kind == .data ? scalar.place : nil)
        }
    }

    @inline(__always)
    private static func set<Field>(_ field: inout Field, _ value: Field?) -> Bool {
        guard let value else { return false }
        field = value
        return true
    }
}
