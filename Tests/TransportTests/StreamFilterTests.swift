// A channel through a filter: opened by the handshake, one output for each turn, and a failure that still says goodbye.

import TandemBase
import TandemReactor
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

/// Stands in for TLS: each side says hello, then every byte is inverted; a zero byte is a forgery.
private final class InvertingFilter: StreamFilter {
    private(set) var isEstablished = false
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    private(set) var writes = 0
    private var hasPeerEnded = false

    func start() { output += Bytes.text("H") }

    func withInput(_ bytes: ByteSlice, _ body: () -> Void) {
        input += bytes.copied()
        body()
        input = []
    }

    /// "H" is the hello, "E" the end, in pieces of their own.
    func read(_ room: (ByteBlock) -> ByteSlice?) throws(StreamFilterError) -> StreamFilterProgress {
        guard let first = input.first else { return .needsMore }
        if !isEstablished {
            guard first == UInt8(ascii: "H") else { throw refuse("no hello") }
            isEstablished = true
            input.removeFirst()
            return .established
        }
        guard !input.contains(0) else { throw refuse("forged") }
        hasPeerEnded = input == Bytes.text("E")
        return hasPeerEnded ? .ended : plaintext()
    }

    private func plaintext() -> StreamFilterProgress {
        defer { input = [] }
        return .plaintext(ByteSlice(copying: input.map { ~$0 }))
    }

    private func refuse(_ reason: String) -> StreamFilterError {
        output += Bytes.text("ALERT")
        return StreamFilterError(reason)
    }

    func receiveEnd() throws(StreamFilterError) {
        if isEstablished, !hasPeerEnded { throw StreamFilterError("cut off") }
    }

    func write(_ frames: [ByteSlice]) {
        writes += 1
        for frame in frames { output += frame.copied().map { ~$0 } }
    }

    func takeOutput(_ body: (ByteSlice) -> Void) {
        if !output.isEmpty { body(ByteSlice(copying: output)) }
        output = []
    }

    func finish() {
        output += Bytes.text("BYE")
        hasPeerEnded = true
    }
}

@Suite struct StreamFilterTests {
    private let scheduler = ManualScheduler()
    private let filter = InvertingFilter()
    private let channel: FrameChannel
    private let recorder = ChannelRecorder()
    private let peer: InProcessStream
    private let seen = StreamRecorder()

    init() {
        let (near, far) = InProcessStream.pair(on: scheduler)
        channel = FrameChannel(stream: near, filter: filter)
        channel.delegate = recorder
        peer = far
        peer.delegate = seen
        peer.start()
        channel.start()
        scheduler.run()
    }

    private func send(_ bytes: [UInt8]) {
        peer.send(bytes)
        scheduler.run()
    }

    @Test func aChannelOpensWithTheHandshakeAndNotBefore() {
        #expect(seen.bytes == Bytes.text("H"))
        #expect(recorder.opens == 0)
        send(Bytes.text("H") + Bytes.frame([5]).map { ~$0 })
        #expect(recorder.opens == 1)
        #expect(recorder.payloads == [[5]])
    }

    @Test func framesSentBeforeTheHandshakeWaitForIt() throws {
        channel.send(try Frame(payload: [5]))
        scheduler.run()
        #expect(seen.bytes == Bytes.text("H"))
        #expect(channel.queuedBytes == 5)
        send(Bytes.text("H"))
        #expect(seen.bytes == Bytes.text("H") + Bytes.frame([5]).map { ~$0 })
        #expect(channel.queuedBytes == 0)
    }

    @Test func framesOfOneTurnGoThroughTheFilterTogether() throws {
        send(Bytes.text("H"))
        for number in 1...20 { channel.send(try Frame(payload: [UInt8(number)])) }
        scheduler.run()
        #expect(filter.writes == 1)
        #expect(seen.pieces == 2)
    }

    @Test func lentFramesGoThroughTheFilterAtOnceBehindThoseThatWait() throws {
        channel.write(Bytes.frame([1]).span.bytes)
        #expect(channel.queuedBytes == 5, "before the handshake they wait like all others")
        send(Bytes.text("H"))
        channel.send(try Frame(payload: [2]))
        channel.write((Bytes.frame([3]) + Bytes.frame([4])).span.bytes)
        #expect(filter.writes == 3)
        channel.send(try Frame(payload: [5]))
        scheduler.run()
        #expect(seen.bytes == Bytes.text("H") + (1...5).flatMap { Bytes.frame([$0]) }.map { ~$0 })
    }

    @Test func aFailureClosesWithItsReasonAfterTheAlert() {
        send(Bytes.text("H") + [0])
        #expect(seen.bytes == Bytes.text("HALERT"))
        #expect(recorder.closeReasons == [.filterFailed("forged")])
        #expect(recorder.closeReasons.first?.name == "tls-failed")
    }

    @Test func closingSaysGoodbyeThroughTheFilter() throws {
        send(Bytes.text("H"))
        channel.send(try Frame(payload: [5]))
        channel.closeAfterFlush()
        scheduler.run()
        #expect(seen.bytes == Bytes.text("H") + Bytes.frame([5]).map { ~$0 } + Bytes.text("BYE"))
        #expect(recorder.closeReasons == [.closedHere])
        #expect(seen.closeReasons == [.closedByPeer])
    }

    @Test func thePeersGoodbyeClosesTheChannelAtOnce() {
        send(Bytes.text("H"))
        send(Bytes.text("E"))
        #expect(recorder.closeReasons == [.closedByPeer])
        #expect(seen.bytes == Bytes.text("HBYE"))
    }

    @Test func aGoodbyeInTheMiddleOfAFrameIsTruncation() {
        send(Bytes.text("H") + Bytes.frame([5, 6]).dropLast().map { ~$0 })
        send(Bytes.text("E"))
        #expect(recorder.closeReasons == [.truncatedFrame])
    }

    @Test func anEndWithoutTheFiltersGoodbyeIsNamed() {
        send(Bytes.text("H") + Bytes.frame([5]).map { ~$0 })
        peer.close(.closedHere)
        scheduler.run()
        #expect(recorder.payloads == [[5]])
        #expect(recorder.closeReasons == [.filterFailed("cut off")])
    }

    @Test func aPausedReaderGetsItsFramesBeforeTheEnd() {
        send(Bytes.text("H"))
        recorder.onFrame = { channel, _ in channel.pauseReading() }
        send((Bytes.frame([5]) + Bytes.frame([6])).map { ~$0 })
        send(Bytes.text("E"))
        peer.close(.closedHere)
        scheduler.run()
        #expect(recorder.payloads == [[5]])
        recorder.onFrame = nil
        channel.resumeReading()
        scheduler.run()
        #expect(recorder.payloads == [[5], [6]])
        #expect(recorder.closeReasons == [.closedByPeer])
    }

    @Test func bytesThatAreNoHandshakeNeverOpen() {
        send(Bytes.text("GET / HTTP/1.1"))
        #expect(recorder.opens == 0)
        #expect(recorder.closeReasons == [.filterFailed("no hello")])
    }
}
