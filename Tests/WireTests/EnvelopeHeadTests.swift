// The reading in place (FRM-6, FRM-8 to FRM-10): what it accepts, the full reading accepts with the same fields; and it
// does accept what our writer writes.

import TandemBytes
import TandemIdentity
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct EnvelopeHeadTests {
    private static func application() throws -> ApplicationIdentifier { try ApplicationIdentifier("com.example.app") }

    private static func head(_ envelope: Envelope) throws -> EnvelopeHead? {
        let payload = try envelope.frame().payload.copied()
        let span = payload.span
        return EnvelopeHead(plain: span.bytes)
    }

    /// One envelope of each kind with all the keys that it may have.
    private static func fullest(_ kind: FrameKind) throws -> Envelope {
        var envelope = Envelope(
            kind, app: try application(), pairing: .random(), id: .random(), channel: .configuration, sequence: 300,
            reply: true, deadline: .seconds(600), age: .zero, remaining: .milliseconds(9_000_000_000_000), attempt: 7,
            nonce: Array(0..<16), code: -7, name: "a-name", command: "status", body: Array(repeating: 1, count: 70_000))
        // Without the keys that the kind does not list: each refusal names one.
        for _ in EnvelopeKey.allCases {
            do { _ = try envelope.frame() } catch .unlistedKey(let key, _) { envelope.remove(key) }
        }
        return envelope
    }

    @Test("FRM-10: the head of each kind as we write it says what the envelope says", arguments: FrameKind.allCases)
    func ourOwnFrames(kind: FrameKind) throws {
        let envelope = try Self.fullest(kind)
        let frame = try envelope.frame()
        let head = try #require(try Self.head(envelope))
        #expect(head.isEqual(to: envelope, in: frame.payload.copied()))
        #expect(try Envelope(reading: frame) == envelope)
    }

    @Test("FRM-8: each durable channel is known", arguments: Channel.allCases)
    func channels(channel: Channel) throws {
        let stored = Envelope(.stored, app: try Self.application(), pairing: .random(), channel: channel, sequence: 1)
        #expect(try Self.head(stored)?.channel == channel)
    }

    @Test("FRM-9: a frame with an extension is left to the full reading")
    func extensions() throws {
        var ping = Envelope(.ping, id: .random())
        #expect(try Self.head(ping) != nil)
        ping.extensions["x-trace"] = "abc"
        #expect(try Self.head(ping) == nil)
    }

    @Test("Every payload shorter than an envelope is left to the full reading")
    func short() throws {
        let payload = try Envelope(.ping).frame().payload.copied()
        for count in 0..<payload.count {
            let (front, back) = (Array(payload.prefix(count)), Array(payload.suffix(count)))
            let (frontSpan, backSpan) = (front.span, back.span)
            #expect(EnvelopeHead(plain: frontSpan.bytes) == nil)
            #expect(EnvelopeHead(plain: backSpan.bytes) == nil)
        }
    }

    @Test("FRM-6, FRM-8: of damaged frames, none is accepted in place that the full reading refuses or reads otherwise")
    func damaged() {
        var frames = MutatedFrames(generator: SeededGenerator(seed: 20_261_121))
        var counts: [TwoReadings: Int] = [:]
        for _ in 0..<20_000 { counts[TwoReadings(of: frames.next()), default: 0] += 1 }
        #expect(counts[.theyDiffer] == nil)
        // Otherwise the test says nothing.
        #expect(counts[.bothAccept, default: 0] > 1000)
        #expect(counts[.bothRefuse, default: 0] > 1000)
        #expect(counts[.onlyTheFullOneAccepts, default: 0] > 100)
    }
}

extension Envelope {
    fileprivate mutating func remove(_ key: EnvelopeKey) {
        switch key {
        case .kind, .sealing: break
        case .app: app = nil
        case .pairing: pairing = nil
        case .id: id = nil
        case .channel: channel = nil
        case .sequence: sequence = nil
        case .reply: reply = nil
        case .deadline: deadline = nil
        case .age: age = nil
        case .remaining: remaining = nil
        case .attempt: attempt = nil
        case .nonce: nonce = nil
        case .code: code = nil
        case .name: name = nil
        case .command: command = nil
        case .body: body = nil
        }
    }
}
