// Payloads that look like envelopes: built byte by byte with forms that some writer might use, then damaged a little.
// So most are nearly right, which is where two readers of one format would differ.

import TandemBase
import TandemTestSupport
import TandemWire

/// Makes such payloads, the same ones for the same generator.
struct MutatedFrames<Generator: RandomNumberGenerator> {
    var generator: Generator

    /// A payload with 0 to 3 bytes changed, or cut or lengthened.
    mutating func next() -> [UInt8] {
        var bytes = payload()
        for _ in 0..<pick([0, 0, 1, 1, 2, 3]) { mutate(&bytes) }
        return bytes
    }

    /// A property list of envelope keys with values that mostly fit.
    mutating func payload() -> [UInt8] {
        // Half of them of the kinds that are forwarded, which are read in place.
        let kind =
            one(in: 2)
            ? pick(FrameKind.allCases + [.submit, .chunk]) : pick([.message, .messageData, .reply, .failure])
        var keys = keys(of: kind)
        if one(in: 5) { keys.removeAll { $0 != "kind" && one(in: 4) } }
        if one(in: 8) { keys.append(pick(EnvelopeKey.allCases).rawValue) }
        if one(in: 20) { keys.append("x-trace") }
        if one(in: 8) { keys.shuffle(using: &generator) }
        return assemble(keys.map { (text($0), value($0, kind)) })
    }

    /// The required keys of the kind and some of its optional ones, in the order of a frame.
    private mutating func keys(of kind: FrameKind) -> [String] {
        let row = FrameTables.kinds[kind.rawValue] ?? ([], [])
        let sealing = row.required.contains("body") ? ["sealing"] : []
        return (["kind"] + row.required + (row.optional + sealing).filter { _ in !one(in: 3) }).sorted()
    }

    private mutating func value(_ key: String, _ kind: FrameKind) -> [UInt8] {
        if one(in: 60) { return pick([[8], [9], [0x10, 0], text("reply"), data(16), [0x33] + data(8).dropFirst()]) }
        switch (key, FrameTables.rules[key]) {
        case ("kind", _): return text(kind.rawValue)
        case ("app", _) where one(in: 12): return text(pick([".a", "a/b", "", String(repeating: "x", count: 129)]))
        case ("app", _):
            return text(pick(["com.example.app", "a", "kind", "A_-.9", String(repeating: "x", count: 128)]))
        case ("channel", _): return text(one(in: 20) ? "fil" : pick(Channel.allCases).rawValue)
        case ("sealing", _): return one(in: 20) ? integer() : [0x10, 0]
        case (_, .word(let most)?):
            let long = String(repeating: "x", count: most + (one(in: 12) ? 1 : 0))
            return text(pick(["status", "kind", "a\u{0}b", "", "no-link", "\u{E9}", long]))
        case (_, .text(nil)?): return text(pick(["status", "kind", "a\u{0}b", "", "no-link"]))
        case (_, .text?):
            let wrong = ["", "a\u{0}b", String(repeating: "x", count: 129)]
            return text(one(in: 12) ? pick(wrong) : pick(["alarms", "a"]))
        case (_, .data(nil)?): return data(pick([0, 1, 14, 15, 16, 17, 200, 300]))
        case (_, .data?): return one(in: 40) ? data(.random(in: 14...18, using: &generator)) : data(16)
        case (_, .boolean?): return pick([[8], [9]])
        case (_, .integer?), (_, nil): return integer()
        }
    }

    /// One of some things, of which there is at least one.
    private mutating func pick<Thing>(_ things: [Thing]) -> Thing {
        things[Int.random(in: things.indices, using: &generator)]
    }

    private mutating func integer() -> [UInt8] {
        let width = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 4].randomElement(using: &generator) ?? 0
        let least: Int64 = one(in: 30) ? -3 : 1
        let most: Int64 = width == 0 ? 127 : one(in: 12) ? 700_000 : 600_000
        var value = UInt64(bitPattern: .random(in: least...most, using: &generator))
        if width == 3, one(in: 20) { value = .max / 2 &+ UInt64.random(in: 0...1, using: &generator) }
        let bytes = (0..<UInt64(1 << width)).map { (index: UInt64) -> UInt8 in
            index < 8 ? UInt8(truncatingIfNeeded: value >> (8 * index)) : 0
        }
        return [0x10 | UInt8(width)] + bytes.reversed()
    }

    private mutating func data(_ count: Int) -> [UInt8] {
        // Few different ones, so that equal values are shared now and then.
        counted(0x40, Array(repeating: .random(in: 1...9, using: &generator), count: count))
    }

    private mutating func text(_ text: String) -> [UInt8] { counted(0x50, Array(text.utf8)) }

    private mutating func counted(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        if content.count < 15, !one(in: 60) { return [marker | UInt8(content.count)] + content }
        let width = one(in: 12) ? UInt8.random(in: 0...4, using: &generator) : content.count < 256 ? 0 : 1
        let size = (0..<(1 << Int(width))).map { index in
            index < 8 ? UInt8(truncatingIfNeeded: content.count >> (8 * index)) : 0
        }
        return [marker | 0x0F, 0x10 | width] + size.reversed() + content
    }

    /// Keys first, then values, equal objects once; sometimes in another order or with other sizes.
    private mutating func assemble(_ pairs: [(key: [UInt8], value: [UInt8])]) -> [UInt8] {
        var objects: [[UInt8]] = []
        var references: [Int] = []
        let isSharing = !one(in: 10)
        for object in pairs.map(\.key) + pairs.map(\.value) {
            if isSharing, let known = objects.firstIndex(of: object) {
                references.append(known + 1)
            } else {
                objects.append(object)
                references.append(objects.count)
            }
        }
        if one(in: 30), let extra = objects.randomElement(using: &generator) { objects.append(extra) }
        let referenceSize = one(in: 25) ? 2 : 1
        let root = [0xD0 | UInt8(min(pairs.count, 14))]
        let encoded = references.flatMap { reference in
            (0..<referenceSize).reversed().map { UInt8(truncatingIfNeeded: reference >> (8 * $0)) }
        }
        return withTable([root + encoded] + objects, referenceSize: referenceSize)
    }

    private mutating func withTable(_ objects: [[UInt8]], referenceSize: Int) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let start = bytes.count
        let offsetSize = one(in: 12) ? Int.random(in: 1...8, using: &generator) : start < 256 ? 1 : 2
        func number(_ value: Int, _ size: Int) -> [UInt8] {
            (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        for offset in offsets { bytes += number(offset, offsetSize) }
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
        return bytes + number(objects.count, 8) + number(0, 8) + number(start, 8)
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        // The root, the table and the trailer are where the structure is.
        let count = bytes.count
        let indices = [0..<count, min(8, count)..<min(count, 60), max(0, count - 60)..<count].filter { !$0.isEmpty }
        guard let index = indices.randomElement(using: &generator)?.randomElement(using: &generator), index < count
        else {
            return
        }
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: bytes.remove(at: index)
        case 1: bytes.insert(.random(in: 0...255, using: &generator), at: index)
        case 2: bytes.removeLast(min(count, .random(in: 1...40, using: &generator)))
        case 3...5: bytes[index] = bytes[index] &+ 1
        case 6...7: bytes[index] = bytes[index] &- 1
        case 8: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &generator)
        case 9: bytes[index] = bytes.randomElement(using: &generator) ?? 0
        default: bytes[index] = .random(in: 0...255, using: &generator)
        }
    }

    private mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
}

/// The verdicts of the two readers of an envelope on the same payload.
enum TwoReadings {
    case bothRefuse
    /// Valid, but not in the plain shape.
    case onlyTheFullOneAccepts
    case bothAccept
    case theyDiffer

    /// Of what is read in place, if anything, and of the full reading.
    init<InPlace>(of payload: [UInt8], _ inPlace: InPlace?, areEqual: (InPlace, Envelope) -> Bool) {
        switch (inPlace, try? Envelope(payload: payload[...])) {
        case (nil, nil): self = .bothRefuse
        case (nil, _?): self = .onlyTheFullOneAccepts
        case (let inPlace?, let envelope?) where areEqual(inPlace, envelope): self = .bothAccept
        default: self = .theyDiffer
        }
    }

    /// Of the head of an envelope, which counts as refused if its application identifier is not one.
    init(ofHead payload: [UInt8]) {
        let span = payload.span
        let head = EnvelopeHead(plain: span.bytes).flatMap { $0.isAppRight(in: payload) ? $0 : nil }
        self.init(of: payload, head) { $0.isEqual(to: $1, in: payload) }
    }
}

extension EnvelopeHead {
    /// Whether each field says the same as the envelope's.
    func isEqual(to envelope: Envelope, in payload: [UInt8]) -> Bool {
        kind == envelope.kind && pairing == envelope.pairing && id == envelope.id && wantsReply == envelope.wantsReply
            && deadline.map { Duration.milliseconds($0) } == envelope.deadline
            && String(decoding: payload[app], as: UTF8.self) == envelope.app?.description
            && body.map { payload[$0] } == envelope.body && !envelope.has(.channel)
            && has(.topic) == envelope.has(.topic) && has(.code) == envelope.has(.code)
    }
}
