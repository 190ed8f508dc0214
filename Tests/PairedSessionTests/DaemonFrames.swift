// Frames as a daemon sends them to a host app, well formed and of every kind, and what damage makes of them: wrong
// values, wrong bytes, wrong lengths. Where a frame answers the app, a placeholder stands for the identifier that the
// app has chosen. The same seed makes the same bytes.

import TandemBase
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire

/// Makes what a hostile daemon sends.
struct DaemonFrames {
    /// The identifiers that the app has sent last, by their number: sixteen equal bytes from this one on.
    static let firstPlaceholder: UInt8 = 0xE0
    static let placeholders = 16

    /// The facts that the frames share with the daemon that sends them.
    struct Facts {
        let app: ApplicationIdentifier
        let device: UniqueIdentifier
        let pairings: [UniqueIdentifier]
        let now = MonotonicTime(nanoseconds: 1)

        init() throws {
            let named = { (byte: UInt8) in UniqueIdentifier(bytes: Array(repeating: byte, count: 16)) ?? .zero }
            app = try ApplicationIdentifier("com.example.app")
            (device, pairings) = (named(0xD0), [named(0xA0), named(0xA1)])
        }
    }

    private let facts: Facts
    private var generator: SeededGenerator

    init(_ facts: Facts, seed: UInt64) {
        self.facts = facts
        generator = SeededGenerator(seed: seed)
    }

    /// A stream of one to four frames, of which most are damaged.
    mutating func stream() -> [UInt8] {
        if one(in: 12) { return generator.bytes(.random(in: 1...200, using: &generator)) }
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 1...4, using: &generator) { bytes += frame() }
        guard bytes.count > 4 else { return bytes }
        switch Int.random(in: 0..<24, using: &generator) {
        case 0: bytes.removeLast(.random(in: 1...min(40, bytes.count), using: &generator))
        case 1: bytes += generator.bytes(.random(in: 1...20, using: &generator))
        case 2: bytes[Int.random(in: 0..<4, using: &generator)] = .random(in: 0...255, using: &generator)
        default: break
        }
        return bytes
    }

    mutating func frame() -> [UInt8] {
        guard var payload = try? Array(envelope().frame().payload.copied()) else { return [] }
        switch Int.random(in: 0..<8, using: &generator) {
        case 0, 1: break
        case 2...5: payload = withOtherValues(payload) ?? payload
        default: for _ in 0..<Int.random(in: 1...3, using: &generator) { damage(&payload) }
        }
        return (0..<4).reversed().map { UInt8(truncatingIfNeeded: payload.count >> (8 * $0)) } + payload
    }

    // MARK: well-formed frames

    private mutating func envelope() throws -> Envelope {
        let kind = one(in: 16) ? pick(FrameKind.allCases) : pick(Self.kinds)
        var envelope = Envelope(kind)
        switch kind {
        case .hello: return try envelope.with(body: helloBody())
        case .refusal:
            envelope.name = pick(["malformed", "stopping", "too-slow", "app-owned", "version", "newer"])
            return try envelope.with(body: ["text": "no"])
        case .ping, .pong:
            envelope.id = identifier()
            return envelope
        case .bye:
            envelope.name = one(in: 2) ? "stopping" : nil
            return envelope
        default: break
        }
        envelope.app = facts.app
        switch kind {
        case .registered:
            let answer = RegistrationAnswer(
                device: facts.device, role: .primary, directory: "/apps/x", uid: 1, state: state())
            return try envelope.with(body: answer.body(now: facts.now))
        case .state: return try envelope.with(body: state().body(now: facts.now))
        case .answer: return try answer(envelope)
        default: break
        }
        (envelope.pairing, envelope.id) = (pick(facts.pairings), identifier())
        return try itemOrMessage(envelope)
    }

    /// The kinds that a session takes; the others it refuses.
    private static let kinds: [FrameKind] = [
        .hello, .refusal, .ping, .pong, .bye, .registered, .state, .message, .messageData, .configuration, .reply,
        .failure, .accepted, .progress, .delivery, .finished, .context, .answer, .delivery, .finished, .context,
        .answer, .reply, .failure, .state,
    ]

    private mutating func itemOrMessage(_ plain: Envelope) throws -> Envelope {
        var envelope = plain
        switch plain.kind {
        case .message, .messageData, .configuration:
            envelope.reply = one(in: 2)
            envelope.deadline = one(in: 2) ? .milliseconds(Int.random(in: 1...600_000, using: &generator)) : nil
            if plain.kind != .configuration { envelope.topic = one(in: 3) ? "alarms" : nil }
            return try envelope.with(body: content())
        case .reply: return try envelope.with(body: content())
        case .failure:
            envelope.code = .random(in: 7000...7020, using: &generator)
            (envelope.name, envelope.channel) = (pick([nil, "unhandled", "no-link"]), pick([nil, channel()]))
            if one(in: 4) { envelope.pairing = .zero }
            return try envelope.with(body: ["text": "it failed", "retry": true, "actual": 9, "limit": 8, "path": "a.b"])
        default: envelope.channel = channel()
        }
        switch plain.kind {
        case .accepted:
            (envelope.name, envelope.revision) = (pick([nil, "demoted", "unchanged"]), pick([nil, 1, .max]))
            return envelope
        case .progress:
            (envelope.name, envelope.offset) = (pick(["stored", "taking", "transferred"]), pick([0, 1, 5, 1 << 40]))
            return one(in: 2) ? envelope : try envelope.with(body: ["name": "photo.jpg", "size": 5])
        case .delivery:
            envelope.attempt = .random(in: 1...9, using: &generator)
            (envelope.topic, envelope.revision) = (pick([nil, "alarms"]), pick([nil, 3]))
            (envelope.age, envelope.remaining) = (pick([nil, .seconds(3)]), pick([nil, .seconds(9)]))
            return try envelope.with(body: envelope.channel == .file ? file() : content())
        case .finished:
            envelope.name = pick(["handled", "rejected", "dead", "lost", "expired", "cancelled", "superseded", "newer"])
            envelope.code = envelope.name == "rejected" ? 7014 : pick([nil, 7015])
            return one(in: 2) ? envelope : try envelope.with(body: ["refusal": "digest-mismatch"])
        case .context:
            (envelope.channel, envelope.id) = (nil, nil)
            (envelope.name, envelope.revision) = (pick(["sent", "received", "newer"]), pick([1, 2, .max]))
            return try envelope.with(body: content())
        default: return try envelope.with(body: content())
        }
    }

    private mutating func answer(_ plain: Envelope) throws -> Envelope {
        var envelope = plain
        (envelope.id, envelope.command) = (identifier(), pick(["outstanding", "budget", "cancel", "subscribe"]))
        (envelope.code, envelope.name) = (pick([0, 0, 0, 7001]), pick([nil, "cancelled", "asked", "too-late"]))
        var item: PropertyListDictionary = ["id": .data(identifier().bytes), "size": 5, "state": "accepted"]
        item["body"] = .data(try Body.bytes(one(in: 2) ? file() : content()))
        if one(in: 2) { item["current"] = true }
        var body: PropertyListDictionary = [
            "items": .array([.dictionary(item)]), "remaining": 3, "limit": 50, "resets": 1000, "outcome": "handled",
            "unknown": .array([.data(identifier().bytes)]),
        ]
        if one(in: 3) { body["more"] = .integer(.random(in: 0...9, using: &generator)) }
        return try envelope.with(body: body)
    }

    private mutating func state() -> SessionState {
        let pairings = facts.pairings.filter { _ in !one(in: 6) }.map { pairing in
            PairingState(
                pairing: pairing, peer: facts.device, name: "panel", role: one(in: 8) ? .secondary : .primary,
                target: .vendor(facts.device), isInstalled: !one(in: 6), level: pick(ReachabilityLevel.allCases),
                reason: pick(ReachabilityReason.allCases), since: facts.now,
                changes: pick([0, 1, 1 << 62, .max]), seen: pick([nil, .background]),
                features: ApplicationFeatures(hasComplication: one(in: 2)), directory: pick([nil, "/apps/x/1"]))
        }
        return SessionState(
            revision: pick([0, 2, 3, 1000, .max]), active: pick([nil] + facts.pairings), pairings: pairings)
    }

    private func helloBody() -> PropertyListDictionary {
        Hello(.chosen(.first), software: "hostile", role: .primary, device: facts.device).body
    }

    private mutating func content() -> PropertyListDictionary {
        var body: PropertyListDictionary = ["n": 7, "list": .array([1, "a", .data([1])]), "map": ["deep": ["er": 1]]]
        if one(in: 8) { body["tandem.verdict"] = "applied" }
        // Two spellings of one word: equal keys for Foundation, not for the wire.
        if one(in: 8) { (body["caf\u{E9}"], body["cafe\u{301}"]) = (1, 2) }
        if one(in: 8) { (body["d"], body["r"]) = (.date(PropertyListDate(millisecondsSinceReferenceDate: 1)), 1.5) }
        return body
    }

    private func file() -> PropertyListDictionary {
        [
            "path": "/dev/null", "name": "photo.jpg", "size": 5, "digest": .data([1, 2]),
            "metadata": .dictionary(["album": 7]),
        ]
    }

    private mutating func channel() -> Channel { pick(Channel.allCases) }

    /// Mostly one that the app has sent.
    private mutating func identifier() -> UniqueIdentifier {
        let byte =
            one(in: 6)
            ? UInt8.random(in: 1...9, using: &generator)
            : Self.firstPlaceholder + .random(in: 0..<UInt8(Self.placeholders), using: &generator)
        return UniqueIdentifier(bytes: Array(repeating: byte, count: 16)) ?? .zero
    }

    // MARK: damage

    /// The payload with one to three values replaced, removed or added, in the envelope or in its body.
    private mutating func withOtherValues(_ payload: [UInt8]) -> [UInt8]? {
        guard var envelope = try? PropertyListReader.readDictionary(payload) else { return nil }
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            if !one(in: 3), let bytes = envelope["body"]?.dataValue,
                var body = try? PropertyListReader.readDictionary(bytes)
            {
                change(&body)
                if let written = try? PropertyListWriter.write(body) { envelope["body"] = .data(written) }
            } else {
                change(&envelope)
            }
        }
        return try? PropertyListWriter.write(envelope)
    }

    private mutating func change(_ dictionary: inout PropertyListDictionary) {
        let key = dictionary.keys.randomElement(using: &generator)
        switch (Int.random(in: 0..<8, using: &generator), key) {
        case (0, let key?): dictionary[key] = nil
        case (1, _): dictionary[pick(EnvelopeKey.allCases).rawValue] = value()
        case (2, _): dictionary[pick(["name", "size", "more", "active", "revision", "changes", "since"])] = value()
        case (3, let key?):
            if case .array(let elements) = dictionary[key], let element = elements.first?.dictionaryValue {
                var inner = element
                change(&inner)
                dictionary[key] = .array([.dictionary(inner)] + elements)
            }
        case (_, let key?): dictionary[key] = value()
        default: break
        }
    }

    private mutating func value() -> PropertyListValue {
        let numbers: [Int64] = [0, 1, -1, .max, .min, 1 << 32, 600_001]
        switch Int.random(in: 0..<12, using: &generator) {
        case 0...2: return .integer(pick(numbers))
        case 3: return .unsigned(.max)
        case 4: return .real(pick([0, -1.5, 1e300]))
        case 5: return .boolean(one(in: 2))
        case 6: return .string(pick(["", "\u{0}", "immediate", "primary", String(repeating: "x", count: 300)]))
        case 7: return .data(generator.bytes(pick([0, 15, 16, 17, 300])))
        case 8: return .array(Array(repeating: .integer(1), count: pick([0, 1, 700])))
        case 9: return .dictionary(["": .array([.dictionary([:])])])
        case 10: return .date(PropertyListDate(millisecondsSinceReferenceDate: pick([0, -1, 1 << 40])))
        default:
            return (0..<20).reduce(PropertyListValue.integer(1)) { inner, _ in .array([inner]) }
        }
    }

    private mutating func damage(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(.random(in: 0...255, using: &generator), at: place)
        case 2: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &generator)
        case 3: bytes[place] = bytes[place] &+ 1
        default: bytes[place] = .random(in: 0...255, using: &generator)
        }
    }

    private mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }

    /// One of some things, of which there is at least one.
    private mutating func pick<Thing>(_ things: [Thing]) -> Thing {
        things[Int.random(in: things.indices, using: &generator)]
    }
}
