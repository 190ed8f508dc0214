// A stream over a connected socket. Reading: one read for each readiness, into the block that all streams of the loop
// share, so that an idle connection holds none; the rest of an unfinished frame goes straight to its place. Closing:
// what is queued may still leave, and the peer may still read it.

package import TandemBase
package import TandemReactor

/// A connected Unix or TCP socket.
package final class SocketStream: ByteStream, ReadinessTarget, TurnParticipant, BlockTenant {
    /// How long a closing side tries to write what is queued.
    package static var flushTime: Duration { .seconds(5) }
    /// How long the closed stream's socket then waits for the peer to read: closing it at once with unread input would
    /// make TCP throw the last bytes away. Nobody waits for that but the socket and its charge.
    static var lingerTime: Duration { .seconds(2) }

    enum Phase {
        case idle, open, finishing, lingering, closed
    }

    private final class Ending {
        let reason: CloseReason
        var timer: TimerToken?

        init(_ reason: CloseReason) { self.reason = reason }
    }

    // Unchecked, as others below: nothing is called during an access.
    @exclusivity(unchecked) package var delegate: (any ByteStreamDelegate)?
    let loop: EventLoop
    /// Unchecked, because nothing that it calls comes back to it.
    @exclusivity(unchecked) private var queue = SendQueue()
    let marks: WaterMarks
    private var charge: ConnectionCharge?
    /// Charged with what is queued while the socket is full.
    package var account: QueueAccount?
    /// Why and until when the stream waits to be closed; nil until it does.
    private var ending: Ending?
    // Fields smaller than a word follow a field that ends in the middle of one: an idle stream is to be small.
    package let peer: PeerDescription
    private var phase = Phase.idle
    /// Unchecked, as the count of lost bytes: one word, which no called code accesses meanwhile.
    @exclusivity(unchecked) package internal(set) var isCongested = false
    private var isReadingPaused = false
    private var registration: Registration?
    @exclusivity(unchecked) package internal(set) var isBlocked = false
    private var isFlushDue = false
    private var isDrainAwaited = false
    var descriptor: OwnedDescriptor?

    /// Takes over a connected, non-blocking socket.
    package init(
        takingOwnership descriptor: consuming OwnedDescriptor, loop: EventLoop, peer: PeerDescription,
        marks: WaterMarks = .standard, charge: consuming ConnectionCharge? = nil
    ) {
        self.charge = charge
        self.descriptor = consume descriptor
        self.loop = loop
        self.peer = peer
        self.marks = marks
    }

    package var scheduler: any Scheduler { loop }

    var finishReason: CloseReason { ending?.reason ?? .closedHere }

    package func start() {
        precondition(phase == .idle, "a stream is started once")
        phase = .open
        updateInterest()
    }

    package func pauseReading() {
        isReadingPaused = true
        updateInterest()
    }

    package func resumeReading() {
        isReadingPaused = false
        updateInterest()
    }

    package func close(_ reason: CloseReason) {
        guard phase != .closed else { return }
        if phase == .lingering { charge?.endLingering(self) }
        phase = .closed
        if isBlocked { unblock() }
        setCloseTimer(after: nil)
        if let registration { loop.deregister(registration) }
        registration = nil
        if let raw = descriptor?.raw { Linux.hangUp(raw) }
        descriptor = nil
        charge = nil
        loseQueue()
        isCongested = false
        loop.atEndOfTurn { [self] in notifyClosed(reason) }
    }

    package func closeAfterFlush(_ reason: CloseReason) {
        guard phase == .open else { return close(reason) }
        phase = .finishing
        ending = Ending(reason)
        isReadingPaused = false
        setCloseTimer(after: Self.flushTime)
        updateInterest()
        scheduleFlush()
    }

    func setCloseTimer(after time: Duration?) {
        if let timer = ending?.timer { loop.cancel(timer) }
        ending?.timer = time.map { time in loop.schedule(after: time) { [self] in close(finishReason) } }
    }

    /// The first call counts.
    func notifyClosed(_ reason: CloseReason) {
        let delegate = delegate
        self.delegate = nil
        delegate?.stream(self, didCloseWith: reason)
    }

    // MARK: readiness

    package func isReady(_ readiness: Readiness) {
        if readiness.contains(.writable), isBlocked {
            unblock()
            flush()
            updateInterest()
        }
        guard phase != .closed, !readiness.isDisjoint(with: .readableOrFailed) else { return }
        if isReadingPaused { suspendWatch(readiness) } else { read() }
    }

    /// The end of the peer is reported as long as it is watched: without reading, that would turn into a spin.
    private func suspendWatch(_ readiness: Readiness) {
        guard !readiness.isDisjoint(with: .failed), let registration else { return }
        if phase == .finishing { return close(finishReason) }
        loop.deregister(registration)
        self.registration = nil
    }

    private func read() {
        let block = loop.readBlocks.block
        let room = phase == .open ? delegate?.stream(self, roomForBytesBefore: block) : nil
        do throws(SystemError) {
            switch try Linux.receive(descriptor?.raw ?? -1, into: room, then: block, upTo: ReadBlocks.readSize) {
            case .bytes(let count): deliver(count, room, block)
            case .wouldBlock: break
            case .ended: peerEnded()
            }
        } catch {
            close(phase == .open ? .failed(error) : finishReason)
        }
    }

    /// A peer that has finished sending may still read what is left for it.
    private func peerEnded() {
        guard phase == .finishing, !queue.isEmpty else {
            return close(phase == .open ? .closedByPeer : finishReason)
        }
        isReadingPaused = true
        updateInterest()
    }

    private func deliver(_ count: Int, _ room: ByteSlice?, _ block: ByteBlock) {
        let placed = min(count, room?.count ?? 0)
        let behind = block.take(count - placed)
        if let room, phase == .open { delegate?.stream(self, didReceive: room.prefix(placed)) }
        if !behind.isEmpty, phase == .open { delegate?.stream(self, didReceive: behind) }
    }

    package func keep(_ block: ByteBlock) { loop.readBlocks.keep(self, in: block) }

    package func leave(_ block: ByteBlock) {
        queue.leave(block)
        delegate?.stream(self, mustLeave: block)
    }

    /// Updates the operations that the loop watches the socket for.
    func updateInterest() {
        guard phase != .idle, phase != .closed, let raw = descriptor?.raw else { return }
        var interest: Readiness = isReadingPaused ? .nothing : .readable
        if isBlocked { interest.insert(.writable) }
        do {
            if let registration {
                try loop.update(registration, interest: interest)
            } else if !interest.isEmpty {
                registration = try loop.register(raw, for: interest, target: self)
            }
        } catch {
            close(.failed(error))
        }
    }
}

// MARK: writing
//
// One call at the end of the turn for all that the turn queued; the socket is watched for writing only while it is
// full. A peer that is gone may have said why: when writing fails, what it sent is still read, and only the queue is
// lost.

extension SocketStream {
    package var queuedBytes: Int { queue.byteCount + Int(queue.lostBytes) }

    package func send(_ bytes: ByteSlice) {
        guard phase == .open || phase == .idle else { return }
        queue.append(bytes, loop)
        if isBlocked { keep(bytes.block) }
        isCongested = isCongested || queue.byteCount > marks.high
        scheduleFlush()
        if isBlocked { account?.charge(bytes.count) }
    }

    package func write(_ bytes: RawSpan) {
        // Order: what is queued goes first.
        if !queue.isEmpty, !isBlocked { flush() }
        let count = phase == .open && queue.isEmpty && !isBlocked ? written(bytes) : 0
        if count < bytes.byteCount { send(ByteSlice(copying: bytes.extracting(droppingFirst: count))) }
    }
}

// MARK: the end of a turn

extension SocketStream {
    package func awaitDrain() {
        isDrainAwaited = true
        scheduleFlush()
    }

    func scheduleFlush() {
        guard !isFlushDue, !isBlocked else { return }
        isFlushDue = true
        loop.atEndOfTurn(self)
    }

    package func turnDidEnd() {
        isFlushDue = false
        flush()
    }

    func flush() {
        guard phase == .open || phase == .finishing else { return }
        let wasBlocked = isBlocked
        while !queue.isEmpty, !isBlocked {
            guard writeOnce() else { break }
        }
        if isBlocked {
            queue.leaveWrittenBlock()
            queue.forEachBlock(keep)
            loop.stalls.watch(self, on: loop)
            // Before the delegate sends more, which is charged then. An owner over its part closes the stream.
            if !wasBlocked { account?.block(self, queue.byteCount) }
            updateInterest()
            guard phase == .open || phase == .finishing else { return }
        }
        let hasDrained = isCongested && queue.byteCount <= marks.low
        if hasDrained { isCongested = false }
        if hasDrained || isDrainAwaited {
            isDrainAwaited = false
            delegate?.streamDidDrain(self)
        }
        if phase == .finishing, queue.isEmpty { beginLinger() }
    }

    /// The socket takes bytes again, or is closed.
    private func unblock() {
        isBlocked = false
        loop.stalls.forget(self)
        account?.unblock(self, queue.byteCount)
    }

    /// Whether another write may follow at once.
    private func writeOnce() -> Bool {
        do {
            switch try queue.write(to: descriptor?.raw ?? -1, loop) {
            case .taken: break
            case .full: isBlocked = true
            case .ended: loseQueue()
            }
        } catch {
            loseQueue()
        }
        return !isBlocked
    }

    /// How many bytes are done with after one write: taken by the system, or lost because the peer is gone.
    private func written(_ bytes: RawSpan) -> Int {
        switch try? Linux.send(descriptor?.raw ?? -1, bytes) {
        case .bytes(bytes.byteCount): return bytes.byteCount
        case .bytes(let count):
            block()
            return count
        case .wouldBlock:
            block()
            return 0
        case .ended, nil:
            queue.lose(queuedBytes + bytes.byteCount)
            return bytes.byteCount
        }
    }

    private func block() {
        isBlocked = true
        loop.stalls.watch(self, on: loop)
        updateInterest()
        account?.block(self, queue.byteCount)
    }

    func loseQueue() {
        queue.lose(queuedBytes)
        queue.removeAll(loop)
    }

    private func beginLinger() {
        phase = .lingering
        loop.atEndOfTurn { [self] in notifyClosed(finishReason) }
        guard (try? Linux.shutdownWriting(descriptor?.raw ?? -1)) != nil else { return close(finishReason) }
        setCloseTimer(after: Self.lingerTime)
        charge?.linger(self)
    }
}

extension SocketStream: StallTenant {
    package var bytesInSystem: Int { Linux.unread(descriptor?.raw ?? -1) }

    package func stalled() { close(phase == .open ? .slowConsumer : finishReason) }
}
