// The stream's way out: one sendmsg at the end of the turn for all that the turn queued; the socket is watched for
// writing only while it is full. A peer that is gone may have said why: when writing fails, what it sent is still read,
// and only the queue is lost.

package import TandemBase
internal import TandemReactor

extension SocketStream {
    package var queuedBytes: Int { queue.byteCount + Int(lostBytes) }

    package func send(_ bytes: ByteSlice) {
        guard phase == .open || phase == .idle else { return }
        queue.append(bytes, loop)
        if isBlocked { keep(bytes.block) }
        isCongested = isCongested || queue.byteCount > marks.high
        scheduleFlush()
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
        while !queue.isEmpty, !isBlocked {
            guard writeOnce() else { break }
        }
        if isBlocked {
            queue.forEachBlock(keep)
            loop.stalls.watch(self, on: loop)
        }
        updateInterest()
        if isCongested, queue.byteCount <= marks.low {
            isCongested = false
            delegate?.streamDidDrain(self)
        }
        if phase == .finishing, queue.isEmpty { beginLinger() }
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
            lostBytes = UInt32(clamping: queuedBytes + bytes.byteCount)
            return bytes.byteCount
        }
    }

    private func block() {
        isBlocked = true
        loop.stalls.watch(self, on: loop)
        updateInterest()
    }

    func loseQueue() {
        lostBytes = UInt32(clamping: queuedBytes)
        queue.removeAll(loop)
    }

    private func beginLinger() {
        phase = .lingering
        loop.atEndOfTurn { [self] in tellClosed(finishReason) }
        guard (try? Linux.shutdownWriting(descriptor?.raw ?? -1)) != nil else { return close(finishReason) }
        setCloseTimer(after: Self.lingerTime)
        charge?.linger(self)
    }
}

extension SocketStream: StallTenant {
    package var bytesInSystem: Int { Linux.unread(descriptor?.raw ?? -1) }

    package func stalled() { close(phase == .open ? .slowConsumer : finishReason) }
}
