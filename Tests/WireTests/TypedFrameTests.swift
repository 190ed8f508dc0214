// Frames as values (FRM-10): what one end writes the other reads, and what a newer peer says is no fault.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct TypedFrameTests {
    private let queue: QueueKey
    private let id = UniqueIdentifier.random()

    init() throws {
        queue = QueueKey(pairing: .random(), app: try ApplicationIdentifier("org.example.lamp"), channel: .userInfo)
    }

    private func copy<Frame: TypedFrame>(_ frame: Frame) throws -> Frame {
        try Frame(Envelope(reading: frame.frame()))
    }

    @Test func `FRM-8: each key has a place for its value`() throws {
        // A set of keys has 32 bits.
        #expect(EnvelopeKey.allCases.count <= EnvelopeKey.Words.count && EnvelopeKey.Words.count <= 32)
        var envelope = Envelope(.ping)
        let texts = EnvelopeKey.allCases.filter { key in
            switch FrameTables.rules[key.rawValue] {
            case .text?, .word?: return ![.kind, .app, .channel].contains(key)
            default: return false
            }
        }
        #expect(EnvelopeKey.Texts.count == texts.count)
        for key in texts { envelope[key] = key.rawValue }
        #expect(texts.allSatisfy { envelope[$0] == $0.rawValue })
        for channel in Channel.allCases {
            envelope[.channel] = channel
            #expect(envelope[.channel] == channel)
        }
        #expect(envelope.values.map(\.key) == [.channel] + texts)
    }

    @Test func `a pong has the identifier of its ping`() throws {
        let ping = try copy(PingFrame(id: id))
        #expect(ping.id == id)
        #expect(try copy(ping.answer).envelope.kind == .pong)
        #expect(try copy(ping.answer).id == id)
        #expect(try copy(PingFrame()).id == nil)
    }

    @Test func `SES-86: a ping tells a clock in an extension, and its pong has none`() throws {
        for milliseconds in [0, 1_795_255_200_000, -1, Int64.min, Int64.max] {
            let ping = PingFrame(clock: WallTime(milliseconds: milliseconds))
            #expect(ping.envelope.extensions == ["x-clock": .integer(milliseconds)])
            #expect(try copy(ping).clock == WallTime(milliseconds: milliseconds))
            #expect(try copy(ping).answer.clock == nil)
        }
        #expect(try copy(PingFrame(id: id)).clock == nil)
        var ping = Envelope(.ping)
        ping.extensions["x-clock"] = "noon"
        #expect(try PingFrame(Envelope(reading: ping.frame())).clock == nil)
    }

    @Test func `SES-26: a bye has a known name, or none`() throws {
        for name in [ByeName.stopping, .replaced, .unpaired] { #expect(try copy(ByeFrame(name)).name == name) }
        #expect(try ByeFrame(Envelope(reading: Envelope(.bye, name: "of-tomorrow").frame())).name == nil)
    }

    @Test func `a position keeps its kind`() throws {
        for (frame, kind) in [
            (PositionFrame.stored(queue, through: 7), FrameKind.stored), (.outcomeAck(queue, of: 7), .outcomeAck),
        ] {
            let found = try copy(frame)
            #expect(found.envelope.kind == kind && found.queue == queue && found.sequence == 7)
        }
    }

    @Test func `SES-20: a failure whose facts do not read keeps its code, and is no error with facts`() throws {
        let failure = try FailureFrame(
            Envelope(.failure, app: queue.app, pairing: queue.pairing, id: id, code: 7014, body: [1, 2]))
        #expect(failure.code == 7014 && failure.body.isEmpty && failure.item == nil)
        #expect(throws: WireError.self) { try failure.error() }
    }

    @Test func `a control request whose body does not read says so`() throws {
        #expect(try copy(ControlFrame(.drain, id: id)).body == [:])
        #expect(try ControlFrame(Envelope(.control, id: id, command: "drain", body: [1])).body == nil)
    }
}
