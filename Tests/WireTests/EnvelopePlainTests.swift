// The whole envelope read in place (FRM-6, FRM-8 to FRM-10): what is accepted there, the full reading accepts with the
// same fields; and what our writer writes for durable items is accepted there.

import TandemBase
import TandemTestSupport
import TandemWire
import Testing

@Suite struct EnvelopePlainTests {
    private static func readings(_ payload: [UInt8]) -> TwoReadings {
        let span = payload.span
        return TwoReadings(of: payload, Envelope(plain: span.bytes)) { $0 == $1 }
    }

    private static func envelopes() throws -> [Envelope] {
        let app = try ApplicationIdentifier("com.example.app")
        let place = Envelope(.finishedAck, app: app, pairing: .random(), id: .random(), channel: .userInfo)
        func with(_ kind: FrameKind, _ change: (inout Envelope) -> Void) -> Envelope {
            var envelope = place
            envelope.kind = kind
            change(&envelope)
            return envelope
        }
        return [
            place, with(.accepted) { $0.revision = 70_000 }, with(.finished) { ($0.name, $0.code) = ("rejected", -7) },
            with(.progress) { ($0.name, $0.offset) = ("stored", 3) }, with(.verdict) { $0.name = "handled" },
            with(.submit) {
                ($0.body, $0.topic, $0.key, $0.after) = ([1, 2], "alarms", "state", .random())
                ($0.remaining, $0.name) = (.seconds(9), "main")
            },
            with(.item) {
                ($0.sequence, $0.age, $0.remaining, $0.attempt) = (300, .zero, .seconds(90_000), 2)
                ($0.topic, $0.revision, $0.body) = ("t", 5, [])
            },
            with(.delivery) {
                ($0.attempt, $0.age, $0.body) = (1, .seconds(2), ArraySlice(repeating: 7, count: 70_000))
            },
            with(.stored) { ($0.id, $0.sequence) = (nil, .max / 2) },
            with(.outcome) { ($0.id, $0.sequence, $0.name, $0.code) = (nil, 1, "rejected", .min) },
        ]
    }

    @Test("FRM-7: the frames of durable items, as we write them, are read in place")
    func ourOwnFrames() throws {
        for envelope in try Self.envelopes() {
            let frame = try envelope.frame()
            #expect(frame.withPayload { Envelope(plain: $0) } == envelope, "\(envelope.kind)")
            #expect(try Envelope(payload: frame.payload.copied()[...]) == envelope)
        }
    }

    @Test("FRM-6: no byte of a plain frame can change so that the two readings differ")
    func everyByte() throws {
        for var envelope in try Self.envelopes() {
            if envelope.body != nil { envelope.body = [1, 2, 3] }
            let payload = try envelope.frame().payload.copied()
            for index in payload.indices {
                for change in [1, 2, 4, 16, 64, 128, 255] as [UInt8] {
                    var changed = payload
                    changed[index] &+= change
                    #expect(Self.readings(changed) != .theyDiffer, "\(envelope.kind), byte \(index) plus \(change)")
                }
            }
            for count in payload.indices {
                #expect(Self.readings(Array(payload.prefix(count))) == .bothRefuse)
            }
        }
    }

    @Test("FRM-6, FRM-8: of damaged frames, none is accepted in place that the full reading refuses or reads otherwise")
    func damaged() {
        var frames = MutatedFrames(generator: SeededGenerator(seed: 20_261_122))
        var counts: [TwoReadings: Int] = [:]
        for _ in 0..<24_000 { counts[Self.readings(frames.next()), default: 0] += 1 }
        #expect(counts[.theyDiffer] == nil)
        // Otherwise the test says nothing.
        #expect(counts[.bothAccept, default: 0] > 1000)
        #expect(counts[.bothRefuse, default: 0] > 1000)
        #expect(counts[.onlyTheFullOneAccepts, default: 0] > 100)
    }
}
