// A peer has ten seconds for a header and one kibibyte a second for a payload (FRM-4), judged on a manual clock.

import TandemReactor
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct FramePaceTests {
    private let scheduler = ManualScheduler()
    private let peer: InProcessStream
    private let channel: FrameChannel
    private let recorder = ChannelRecorder()

    init() { self.init(options: FrameChannelOptions()) }

    private init(options: FrameChannelOptions) {
        let (near, far) = InProcessStream.pair(on: scheduler)
        channel = FrameChannel(stream: near, options: options)
        channel.delegate = recorder
        channel.start()
        peer = far
        peer.start()
        scheduler.run()
    }

    private func send(_ bytes: [UInt8]) {
        peer.send(bytes)
        scheduler.run()
    }

    @Test func anUnfinishedHeaderIsClosedAfterTenSeconds() {
        send([0, 0])
        scheduler.advance(by: .milliseconds(9_999))
        #expect(!recorder.isClosed)
        scheduler.advance(by: .milliseconds(1))
        #expect(recorder.closeReasons == [.frameTooSlow])
        #expect(CloseReason.frameTooSlow.name == "too-slow")
    }

    @Test func oneByteASecondDoesNotBuyTime() {
        let drip = Bytes.frame([UInt8](repeating: 1, count: 100))
        var seconds = 0
        while !recorder.isClosed, seconds < 100 {
            send([drip[seconds]])
            scheduler.advance(by: .seconds(1))
            seconds += 1
        }
        #expect(seconds == 10)
        #expect(recorder.closeReasons == [.frameTooSlow])
    }

    @Test func aPayloadAtTheLeastRateIsNeverClosed() {
        let payload = [UInt8](repeating: 1, count: 60 * 1024)
        send(Bytes.bigEndian(UInt32(payload.count)))
        for second in 0..<60 {
            send(Array(payload[second * 1024..<(second + 1) * 1024]))
            scheduler.advance(by: .seconds(1))
        }
        let isWhole = recorder.payloads == [payload]
        #expect(isWhole)
        #expect(!recorder.isClosed)
    }

    @Test func aPayloadBelowTheLeastRateIsClosed() {
        send(Bytes.bigEndian(60 * 1024))
        var seconds = 0
        while !recorder.isClosed, seconds < 60 {
            scheduler.advance(by: .seconds(1))
            send([UInt8](repeating: 1, count: 1000))
            seconds += 1
        }
        #expect(recorder.closeReasons == [.frameTooSlow])
        #expect(seconds <= 11)
    }

    @Test func bytesSentEarlyBuyNoSilenceLater() {
        send(Bytes.bigEndian(500 * 1024) + [UInt8](repeating: 1, count: 100 * 1024))
        scheduler.advance(by: .seconds(19))
        #expect(!recorder.isClosed)
        scheduler.advance(by: .seconds(1))
        #expect(recorder.isClosed)
    }

    @Test func anIdleChannelMayBeSilentForEverAndHasNoTimer() {
        send(Bytes.frame([1]))
        #expect(scheduler.timerCount == 0)
        scheduler.advance(by: .seconds(100_000))
        #expect(recorder.frames.count == 1)
        #expect(!recorder.isClosed)
    }

    @Test func framesThatOverlapReadsAreEachJudgedFromTheirOwnStart() {
        send([0, 0, 0, 2, 7])
        for _ in 0..<30 {
            scheduler.advance(by: .seconds(7))
            send([7, 0, 0, 0, 2, 7])
        }
        #expect(recorder.frames.count == 30)
        #expect(!recorder.isClosed)
    }

    @Test func aPauseOfOursIsNotThePeersFault() {
        send([0, 0])
        channel.pauseReading()
        scheduler.advance(by: .seconds(60))
        #expect(!recorder.isClosed)
        channel.resumeReading()
        scheduler.advance(by: .seconds(9))
        #expect(!recorder.isClosed)
        send([0, 1, 9])
        #expect(recorder.payloads == [[9]])
    }

    @Test func aPeerThatSaysNothingWholeInTimeIsClosed() {
        let strict = FramePaceTests(options: FrameChannelOptions(firstFrameTime: Limits.firstFrameTime))
        strict.scheduler.advance(by: .seconds(10))
        #expect(strict.recorder.closeReasons == [.frameTooSlow])
        let quick = FramePaceTests(options: FrameChannelOptions(firstFrameTime: Limits.firstFrameTime))
        quick.send(Bytes.frame([1]))
        quick.scheduler.advance(by: .seconds(10))
        #expect(!quick.recorder.isClosed)
    }
}
