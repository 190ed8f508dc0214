// Real sockets on a real loop, with the test as the other end.

import Glibc
import TandemBase
import TandemReactor
import TandemTestSupport
import TandemTransport
import Testing

@Suite(.timeLimit(.minutes(10))) struct SocketStreamTests {
    private let loop: EventLoop
    private let stream: SocketStream
    private let peer: RawPeer
    private let recorder = StreamRecorder()

    init() throws {
        loop = try EventLoop()
        (stream, peer) = try RawPeer.joined(to: loop, marks: WaterMarks(low: 100_000, high: 400_000))
        stream.delegate = recorder
        stream.start()
    }

    /// Runs turns, reading at the other end, until all is there.
    private func collect(_ count: Int) throws -> [UInt8] {
        var received: [UInt8] = []
        while received.count < count, !peer.isEnded {
            loop.runOnce()
            received += try peer.receiveAvailable()
        }
        return received
    }

    @Test func bytesGoBothWays() throws {
        stream.send(Bytes.text("ping"))
        #expect(try collect(4) == Bytes.text("ping"))
        try peer.send(Bytes.text("pong"))
        loop.run { recorder.bytes.count == 4 }
        #expect(recorder.bytes == Bytes.text("pong"))
    }

    @Test func `a closed stream has ended for its peer, although a child has a copy of its socket`() throws {
        let pair = try DescriptorPair.socketPair()
        let credentials = try Linux.peerCredentials(pair.first.raw)
        let copy = dup(pair.first.raw)
        defer { close(copy) }
        let (stream, peer) = pair.split { first, second in
            (
                SocketStream(takingOwnership: first, loop: loop, peer: .local(credentials)),
                RawPeer(takingOwnership: second)
            )
        }
        stream.start()
        stream.close(.closedHere)
        loop.runOnce()
        #expect(try peer.receiveAvailable().isEmpty)
        #expect(copy >= 0 && peer.isEnded)
    }

    @Test func `SES-59: bytes that are sent while a full stream drains are charged once, and given back`() throws {
        let account = QueueAccount()
        stream.account = account
        recorder.onDrain = { [recorder] stream in
            recorder.onDrain = nil
            stream.send(Bytes.text("more"))
        }
        stream.awaitDrain()
        stream.send(ByteSlice(copying: [UInt8](repeating: 7, count: 4_000_000).span.bytes))
        loop.runOnce()
        #expect(account.byteCount == stream.queuedBytes && account.byteCount > 0)
        #expect(try collect(4_000_004).count == 4_000_004)
        #expect(account.byteCount == 0)
    }

    @Test func allThatATurnSendsLeavesInOneWrite() throws {
        loop.runOnce()
        let counts = SystemCallCounter.counting {
            for number in 0..<40 { stream.send([UInt8(number)]) }
            loop.runOnce()
        }
        #expect(counts.writes == 1)
        #expect(counts.interestChanges == 0)
        #expect(try peer.receiveAvailable() == Array(0..<40))
    }

    @Test func anAnswerCostsOneReadAndOneWrite() throws {
        recorder.onBytes = { $0.send(Bytes.text("answer")) }
        try peer.send(Bytes.text("question"))
        let counts = SystemCallCounter.counting { loop.runOnce() }
        #expect(counts == SystemCallCounts(reads: 1, writes: 1, waits: 1))
        #expect(try peer.receiveAvailable() == Bytes.text("answer"))
    }

    @Test func aQueueOfMoreThanOneWriteTakesArrivesWholeAndInOrder() throws {
        var generator = SeededGenerator(seed: 1)
        let parts = (0..<300).map { _ in generator.bytes(Int.random(in: 0...9000, using: &generator)) }
        for part in parts { stream.send(part) }
        let sent = Array(parts.joined())
        #expect(stream.queuedBytes == sent.count)
        #expect(try collect(sent.count) == sent)
        #expect(stream.queuedBytes == 0)
    }

    @Test func lentBytesLeaveAtOnceBehindWhatIsQueued() throws {
        loop.runOnce()
        stream.send(Bytes.text("first, "))
        let counts = SystemCallCounter.counting { stream.write(Bytes.text("second, ").span.bytes) }
        #expect(counts.writes == 2 && counts.interestChanges == 0)
        #expect(try peer.receiveAvailable() == Bytes.text("first, second, "))
        stream.send(Bytes.text("third"))
        #expect(try collect(5) == Bytes.text("third"))
    }

    @Test func lentBytesThatASocketDoesNotTakeAreCopiedAndKeepTheirOrder() throws {
        var generator = SeededGenerator(seed: 30)
        var (lent, sent, received) = (generator.bytes(64 * 1024), [UInt8](), [UInt8]())
        for round in 0..<40 {
            let count = Int.random(in: 1...lent.count, using: &generator)
            sent += lent[..<count]
            stream.write(lent.span.bytes.extracting(first: count))
            // The memory is the next stream's now.
            lent.swapAt(Int.random(in: 0..<lent.count, using: &generator), round)
            lent[0] &+= 1
            if round.isMultiple(of: 3) {
                stream.send([UInt8(round)])
                sent.append(UInt8(round))
            }
            if round == 20 { received += try peer.receiveAvailable() }
            if round.isMultiple(of: 7) { loop.runOnce() }
        }
        #expect(stream.isCongested && stream.queuedBytes > 400_000)
        received += try collect(sent.count - received.count)
        #expect(received == sent)
        #expect(stream.queuedBytes == 0 && recorder.drains == 1)
    }

    @Test func aBlockedStreamTakesBytesWithoutWriting() throws {
        stream.send([UInt8](repeating: 7, count: 1_000_000))
        loop.runOnce()
        let queued = stream.queuedBytes
        let counts = SystemCallCounter.counting {
            stream.write(Bytes.text("lent").span.bytes)
            stream.send([1])
            loop.runOnce()
            loop.runOnce()
        }
        #expect(counts.writes == 0 && stream.queuedBytes == queued + 5)
    }

    @Test func lentBytesForAPeerThatIsGoneAreKnownAsNeverSent() throws {
        peer.disappear()
        stream.write(Bytes.text("too late").span.bytes)
        #expect(stream.queuedBytes == 8)
        stream.close(.closedHere)
        stream.write(Bytes.text("closed").span.bytes)
        #expect(stream.queuedBytes == 8)
        loop.runOnce()
    }

    @Test func aFullSocketIsCongestedUntilThePeerReads() throws {
        stream.send([UInt8](repeating: 7, count: 1_000_000))
        #expect(stream.isCongested)
        loop.runOnce()
        #expect(stream.queuedBytes > 100_000)
        let received = try collect(1_000_000)
        #expect(received.count == 1_000_000)
        #expect(!stream.isCongested)
        #expect(recorder.drains == 1)
    }

    @Test func `an awaited drain is told once, when the system has taken more`() throws {
        stream.send([UInt8](repeating: 7, count: 4_000_000))
        loop.runOnce()
        #expect(stream.isBlocked && recorder.drains == 0)
        stream.awaitDrain()
        var received = try peer.receiveAvailable().count
        loop.run { recorder.drains > 0 }
        #expect(stream.queuedBytes > 400_000 && stream.isCongested)
        received += try collect(4_000_000 - received).count
        #expect(recorder.drains == 2, "once because it was awaited, and once below the low mark")
    }

    @Test func whatIsQueuedAtTheCloseStaysKnownAsNeverSent() throws {
        stream.send([UInt8](repeating: 7, count: 1_000_000))
        loop.runOnce()
        let queued = stream.queuedBytes
        #expect(queued > 100_000)
        stream.close(.closedHere)
        #expect(stream.queuedBytes == queued)
        loop.runOnce()
    }

    @Test func aPausedStreamLeavesTheBytesToThePeer() throws {
        stream.pauseReading()
        while try peer.send([UInt8](repeating: 9, count: 50_000)) > 0 {}
        for _ in 0..<3 { loop.runOnce() }
        #expect(recorder.bytes.isEmpty, "the kernel's buffer is full and nothing was read")
        stream.resumeReading()
        loop.run { recorder.bytes.count >= 50_000 }
        #expect(try peer.send([1]) == 1)
    }

    @Test func aPeerThatLeavesAPausedStreamDoesNotKeepTheLoopBusy() throws {
        stream.pauseReading()
        try peer.send(Bytes.text("last words"))
        peer.disappear()
        var isOver = false
        loop.schedule(after: .milliseconds(20)) { isOver = true }
        let counts = SystemCallCounter.counting { loop.run { isOver } }
        #expect(counts.waits < 10)
        stream.resumeReading()
        loop.run { recorder.isClosed }
        #expect(recorder.bytes == Bytes.text("last words"))
        #expect(recorder.closeReasons == [.closedByPeer])
    }

    @Test func whatAPeerSaidBeforeItLeftIsReadAlthoughWritingFails() throws {
        try peer.send(Bytes.text("refused"))
        peer.disappear()
        stream.send(Bytes.text("too late"))
        loop.run { recorder.isClosed }
        #expect(recorder.bytes == Bytes.text("refused"))
        #expect(recorder.closeReasons.count == 1)
    }

    @Test func closingTellsTheDelegateOnceAndLater() throws {
        stream.close(.slowConsumer)
        stream.close(.closedHere)
        #expect(recorder.closeReasons.isEmpty, "never from inside the call")
        loop.runOnce()
        loop.runOnce()
        #expect(recorder.closeReasons == [.slowConsumer])
        #expect(stream.delegate == nil)
        #expect(try peer.receiveAvailable().isEmpty)
        #expect(peer.isEnded)
        stream.send([1])
        #expect(stream.queuedBytes == 0)
    }

    @Test func closingAfterFlushWritesAllAndLetsThePeerRead() throws {
        stream.send([UInt8](repeating: 3, count: 700_000))
        stream.closeAfterFlush(.closedHere)
        try peer.send(Bytes.text("ignored"))
        let received = try collect(700_000)
        #expect(received.count == 700_000)
        loop.run { recorder.isClosed }
        #expect(recorder.closeReasons == [.closedHere])
        #expect(recorder.bytes.isEmpty)
        #expect(try peer.receiveAvailable().isEmpty && peer.isEnded)
        #expect(try peer.send([1]) == 1, "the socket lingers until the peer has closed too")
        peer.disappear()
        loop.runOnce()
        #expect(recorder.closeReasons.count == 1)
    }

    @Test func aPeerThatHasFinishedSendingStillGetsTheRest() throws {
        stream.send([UInt8](repeating: 3, count: 700_000))
        stream.closeAfterFlush(.closedHere)
        try peer.finish()
        #expect(try collect(700_000).count == 700_000)
        loop.run { recorder.isClosed }
        #expect(recorder.closeReasons == [.closedHere])
    }

    @Test func aPeerThatIsGoneEndsTheFlush() throws {
        stream.send([UInt8](repeating: 3, count: 700_000))
        loop.runOnce()
        stream.closeAfterFlush(.closedHere)
        peer.disappear()
        loop.run { recorder.isClosed }
        #expect(recorder.closeReasons == [.closedHere])
    }

    @Test func aStreamLivesByItselfUntilItIsClosed() throws {
        weak var kept: SocketStream?
        let closed = StreamRecorder()
        let other: RawPeer
        do {
            let (stream, peer) = try RawPeer.joined(to: loop)
            kept = stream
            other = peer
            stream.delegate = closed
            stream.start()
        }
        #expect(kept != nil)
        other.disappear()
        loop.run { closed.isClosed }
        #expect(kept == nil)
    }
}
