// Frames over real sockets: whatever pieces they come in, and what happens to those that are none (FRM-1 to FRM-3).

import TandemBase
import TandemReactor
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct FrameChannelTests {
    private let loop: EventLoop

    init() throws { loop = try EventLoop() }

    private func open(
        options: FrameChannelOptions = FrameChannelOptions()
    ) throws -> (channel: FrameChannel, recorder: ChannelRecorder, peer: RawPeer) {
        let (stream, peer) = try RawPeer.joined(to: loop)
        let channel = FrameChannel(stream: stream, options: options)
        let recorder = ChannelRecorder()
        channel.delegate = recorder
        channel.start()
        return (channel, recorder, peer)
    }

    /// The envelopes that a peer reads to the end.
    private func framesSeen(by peer: RawPeer) throws -> [Envelope] {
        var decoder = FrameDecoder(limit: Limits.frame)
        decoder.append(try peer.receiveAvailable())
        var envelopes: [Envelope] = []
        while let frame = try decoder.next() { envelopes.append(try Envelope(reading: frame)) }
        return envelopes
    }

    private let payloads = [[1], [2, 2, 2], [3], Array(repeating: UInt8(4), count: 9)]

    private var wire: [UInt8] { payloads.flatMap { Bytes.frame($0) } }

    @Test func framesSurviveASplitAtEveryByte() throws {
        let wire = wire
        for split in 0...wire.count {
            let (channel, recorder, peer) = try open()
            try peer.send(Array(wire[..<split]))
            loop.runOnce()
            try peer.send(Array(wire[split...]))
            loop.run { recorder.frames.count == payloads.count }
            #expect(recorder.payloads == payloads, "split at \(split)")
            channel.close()
        }
    }

    @Test func framesSurviveComingByteByByte() throws {
        let (channel, recorder, peer) = try open()
        for byte in wire {
            try peer.send([byte])
            loop.runOnce()
        }
        #expect(recorder.payloads == payloads)
        #expect(recorder.frames.flatMap { $0.bytes.copied() } == wire, "a frame is the bytes that came")
        channel.close()
    }

    @Test func framesOfOneTurnLeaveInOneWrite() throws {
        let (channel, _, peer) = try open()
        loop.runOnce()
        let frames = try payloads.map { try Frame(payload: $0) }
        let counts = SystemCallCounter.counting {
            for frame in frames { channel.send(frame) }
            loop.runOnce()
        }
        #expect(counts.writes == 1)
        #expect(try peer.receiveAvailable() == wire)
        channel.close()
    }

    @Test(arguments: [0, 513, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32])
    func aWrongLengthClosesBeforeItsPayload(length: UInt32) throws {
        let (_, recorder, peer) = try open(options: FrameChannelOptions(limit: 512))
        try peer.send(Bytes.frame([1]) + Bytes.bigEndian(length))
        loop.run { recorder.isClosed }
        #expect(recorder.payloads == [[1]], "what was right before still counts")
        #expect(recorder.closeReasons == [.invalidFrame(.frameLength(length, limit: 512))])
        let refusals = try framesSeen(by: peer)
        #expect(refusals.map(\.kind) == [.refusal], "one refusal, then the end")
        #expect(peer.isEnded)
    }

    @Test func theLimitMayRiseBetweenTwoFrames() throws {
        let (channel, recorder, peer) = try open(options: FrameChannelOptions(limit: 4))
        recorder.onFrame = { channel, _ in channel.limit = 8 }
        try peer.send(Bytes.frame([1, 2, 3, 4]) + Bytes.frame([1, 2, 3, 4, 5, 6, 7, 8]))
        loop.run { recorder.frames.count == 2 }
        #expect(!recorder.isClosed)
        channel.close()
    }

    @Test func anEndInsideAFrameIsNotAnEndBetweenFrames() throws {
        for (bytes, reason) in [(Bytes.frame([1]), CloseReason.closedByPeer), ([0, 0], .truncatedFrame)] {
            let (_, recorder, peer) = try open()
            try peer.send(bytes)
            peer.disappear()
            loop.run { recorder.isClosed }
            #expect(recorder.closeReasons == [reason])
        }
    }

    @Test func aPeerThatDoesNotReadIsClosedAtItsQuota() throws {
        let options = FrameChannelOptions(queueQuota: 1_000_000)
        let (channel, recorder, peer) = try open(options: options)
        let frame = try Frame(payload: [UInt8](repeating: 5, count: 100_000))
        var sent = 0
        while !recorder.isClosed, sent < 100 {
            channel.send(frame)
            sent += 1
            loop.runOnce()
        }
        #expect(recorder.closeReasons == [.slowConsumer])
        #expect(sent >= 10, "less than the quota never closes")
        #expect(CloseReason.slowConsumer.name == "slow-consumer")
        withExtendedLifetime(peer) {}
    }

    @Test func pausingStopsBetweenTwoFramesOfOneRead() throws {
        let (channel, recorder, peer) = try open()
        recorder.onFrame = { channel, _ in channel.pauseReading() }
        try peer.send(wire)
        loop.runOnce()
        loop.runOnce()
        #expect(recorder.payloads == [payloads[0]])
        for count in 2...payloads.count {
            channel.resumeReading()
            loop.runOnce()
            #expect(recorder.payloads == Array(payloads.prefix(count)))
        }
        channel.close()
    }

    @Test func aDelegateThatClosesGetsNothingMore() throws {
        let (_, recorder, peer) = try open()
        recorder.onFrame = { channel, _ in channel.close() }
        try peer.send(wire)
        loop.run { recorder.isClosed }
        #expect(recorder.frames.count == 1)
        #expect(recorder.closeReasons == [.closedHere])
    }

    @Test func aRefusalIsReadByThePeerBeforeTheEnd() throws {
        let (channel, recorder, peer) = try open()
        recorder.onFrame = { channel, frame in
            channel.send(frame)
            channel.closeAfterFlush()
        }
        try peer.send(wire)
        var answer: [UInt8] = []
        while !peer.isEnded {
            loop.runOnce()
            answer += try peer.receiveAvailable()
        }
        #expect(answer == Bytes.frame(payloads[0]))
        peer.disappear()
        loop.run { recorder.isClosed }
        withExtendedLifetime(channel) {}
    }
}
