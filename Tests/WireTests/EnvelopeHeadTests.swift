// The reading in place (FRM-6, FRM-8 to FRM-10): what it accepts, the full reading accepts with the same fields; and it
// does accept what our writer writes.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct EnvelopeHeadTests {
    private static func head(_ envelope: Envelope) throws -> EnvelopeHead? {
        let payload = try envelope.frame().payload.copied()
        let span = payload.span
        return EnvelopeHead(plain: span.bytes)
    }

    /// One envelope of each kind with all the keys that it may have.
    private static func fullest(_ kind: FrameKind) throws -> Envelope {
        let row = try #require(FrameTables.kinds[kind.rawValue])
        var pairs: PropertyListDictionary = ["kind": .string(kind.rawValue)]
        for key in row.required + row.optional { pairs[key] = FrameTables.examples[key] }
        var envelope = try EnvelopeTests.envelope(pairs)
        // Large values take all their bytes.
        if envelope.has(.deadline) { envelope.deadline = .seconds(600) }
        if envelope.has(.code) { envelope.code = -7 }
        if envelope.body != nil { envelope.body = ArraySlice(repeating: 1, count: 70_000) }
        // With a channel it answers an item, and is not forwarded.
        if kind == .failure { envelope.channel = nil }
        return envelope
    }

    private static let forwarded: [FrameKind] = [.message, .messageData, .reply, .failure]

    @Test(
        "FRM-12: the head of each kind that is forwarded, as we write it, says what the envelope says",
        arguments: forwarded)
    func ourOwnFrames(kind: FrameKind) throws {
        let envelope = try Self.fullest(kind)
        let frame = try envelope.frame()
        let head = try #require(try Self.head(envelope))
        #expect(head.isEqual(to: envelope, in: frame.payload.copied()))
        #expect(try Envelope(reading: frame) == envelope)
    }

    @Test("FRM-12: frames of all other kinds are left to the full reading", arguments: FrameKind.allCases)
    func otherKinds(kind: FrameKind) throws {
        #expect(try Self.forwarded.contains(kind) || Self.head(Self.fullest(kind)) == nil)
    }

    @Test("FRM-10: a failure that answers an item is left to the full reading")
    func failureOfAnItem() throws {
        var failure = try Self.fullest(.failure)
        failure.channel = .file
        #expect(try Self.head(failure) == nil)
        #expect(try Envelope(reading: failure.frame()) == failure)
    }

    @Test("FRM-7: every size of a body has a head, as its count and the offsets grow")
    func bodies() throws {
        for count in [0, 1, 14, 15, 100, 140, 255, 256, 65_535, 65_536, 400_000] {
            var envelope = try Self.fullest(.reply)
            envelope.body = ArraySlice(repeating: 7, count: count)
            #expect(try Self.head(envelope)?.body?.count == count)
        }
    }

    @Test("FRM-9: a frame with an extension is left to the full reading")
    func extensions() throws {
        var reply = try Self.fullest(.reply)
        #expect(try Self.head(reply) != nil)
        reply.extensions["x-trace"] = "abc"
        #expect(try Self.head(reply) == nil)
    }

    @Test("FRM-6: no plain frame is accepted in place with a piece of either end missing", arguments: forwarded)
    func short(kind: FrameKind) throws {
        var envelope = try Self.fullest(kind)
        if envelope.body != nil { envelope.body = [1, 2, 3] }
        #expect(try Self.head(envelope) != nil)
        let payload = try envelope.frame().payload.copied()
        for count in 0..<payload.count {
            let (front, back) = (Array(payload.prefix(count)), Array(payload.suffix(count)))
            let (frontSpan, backSpan) = (front.span, back.span)
            #expect(EnvelopeHead(plain: frontSpan.bytes) == nil)
            #expect(EnvelopeHead(plain: backSpan.bytes) == nil)
        }
    }

    @Test("FRM-8: an application identifier may have any of its characters at any place, and no other one")
    func applicationCharacters() throws {
        let name = "abcdefghijklmnopqrst"
        for count in [1, 7, 8, 9, 15, 16, 17, 20] {
            let reply = Envelope(
                .reply, app: try ApplicationIdentifier(String(name.prefix(count))), pairing: .random(), id: .random(),
                body: [])
            var payload = try reply.frame().payload.copied()
            let range = try #require(try Self.head(reply)).app
            for index in range {
                for byte in UInt8.min...UInt8.max {
                    payload[index] = byte
                    #expect(
                        TwoReadings(ofHead: payload)
                            == (Self.isAllowed(byte, index - range.lowerBound) ? .bothAccept : .bothRefuse))
                }
                payload[index] = UInt8(ascii: "a")
            }
        }
    }

    private static func isAllowed(_ byte: UInt8, _ index: Int) -> Bool {
        switch Character(Unicode.Scalar(byte)) {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_": byte < 0x80
        case ".": index > 0
        default: false
        }
    }

    @Test("FRM-6: no byte of a plain frame can change so that the two readings differ", arguments: forwarded)
    func everyByte(kind: FrameKind) throws {
        var envelope = try Self.fullest(kind)
        if envelope.body != nil { envelope.body = [1, 2, 3] }
        let payload = try envelope.frame().payload.copied()
        for index in payload.indices {
            for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] as [UInt8] {
                var changed = payload
                changed[index] &+= change
                #expect(TwoReadings(ofHead: changed) != .theyDiffer, "byte \(index) plus \(change)")
            }
        }
    }

    @Test("FRM-6, FRM-8: of damaged frames, none is accepted in place that the full reading refuses or reads otherwise")
    func damaged() {
        var frames = MutatedFrames(generator: SeededGenerator(seed: 20_261_121))
        var counts: [TwoReadings: Int] = [:]
        for _ in 0..<Repetition.times(8_000, long: 24_000) {
            counts[TwoReadings(ofHead: frames.next()), default: 0] += 1
        }
        #expect(counts[.theyDiffer] == nil)
        // Otherwise the test says nothing.
        #expect(counts[.bothAccept, default: 0] > 300)
        #expect(counts[.bothRefuse, default: 0] > 300)
        #expect(counts[.onlyTheFullOneAccepts, default: 0] > 30)
    }
}
