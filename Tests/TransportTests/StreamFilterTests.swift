// A channel through a filter: opened by the handshake, one output for each turn, and a failure that still says goodbye.

import TandemReactor
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

/// Stands in for TLS: each side says hello, then every byte is inverted; a zero byte is a forgery.
private final class InvertingFilter: StreamFilter {
    private(set) var isEstablished = false
    private var output: [UInt8] = []
    private var plaintext: [UInt8] = []
    private(set) var writes = 0

    func start() { output += Bytes.text("H") }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(StreamFilterError) {
        var bytes = Array(bytes)
        if !isEstablished {
            guard bytes.first == UInt8(ascii: "H") else { throw refuse("no hello") }
            isEstablished = true
            bytes.removeFirst()
        }
        guard !bytes.contains(0) else { throw refuse("forged") }
        plaintext += bytes.map { ~$0 }
    }

    private func refuse(_ reason: String) -> StreamFilterError {
        output += Bytes.text("ALERT")
        return StreamFilterError(reason)
    }

    func takePlaintext() -> [UInt8] {
        defer { plaintext = [] }
        return plaintext
    }

    func write(_ plaintext: [UInt8]) {
        writes += 1
        output += plaintext.map { ~$0 }
    }

    func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    func finish() { output += Bytes.text("BYE") }
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
        channel = FrameChannel(stream: near, scheduler: scheduler, filter: filter)
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

    @Test func bytesThatAreNoHandshakeNeverOpen() {
        send(Bytes.text("GET / HTTP/1.1"))
        #expect(recorder.opens == 0)
        #expect(recorder.closeReasons == [.filterFailed("no hello")])
    }
}
