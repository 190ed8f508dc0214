// The channel's way through a filter. Plain bytes are read to where their frame ends and cut where they are; frames
// that one turn queues go through it together at the end of the turn, and leave as one write. The filter's failures
// close the channel, after what it still had to say (an alert) is out.

internal import TandemBase
internal import TandemReactor
internal import TandemWire

extension FrameChannel: TurnParticipant {
    func startFilter() {
        step { filter throws(StreamFilterError) in try filter.start() }
        sendOutput()
    }

    func receive(_ bytes: ByteSlice, through filter: any StreamFilter) {
        filter.withInput(bytes) {
            while phase == .opening || phase == .open, readOnce() {}
        }
    }

    /// One step of reading; whether another may bring more.
    private func readOnce() -> Bool {
        var progress = StreamFilterProgress.needsMore
        step { filter throws(StreamFilterError) in
            progress = try filter.read { block in decoder.place(before: block) }
        }
        // Before anyone else is called, whose filter may share the memory that this is in.
        sendOutput()
        switch progress {
        case .needsMore: return false
        case .established: filterOpened()
        case .plaintext(let bytes): accept(bytes)
        case .ended:
            peerEnded()
            return false
        }
        return true
    }

    private func filterOpened() {
        if let filtering, filtering.queuedBytes > 0 { scheduleFlush(of: filtering) }
        opened()
    }

    /// Nothing more will come and nobody is left to read: no waiting for the stream to say the same. Who has paused
    /// gets first what is here already, and the stream's own end after that.
    private func peerEnded() {
        guard !isReadingPaused else { return }
        finishFilter()
        guard phase != .closed else { return }
        phase = .closed
        stream.closeAfterFlush(ended())
    }

    /// How the stream's end is told: cut off inside TLS, inside a frame, or between two of them.
    func ended() -> CloseReason {
        do throws(StreamFilterError) {
            try filter?.receiveEnd()
        } catch {
            return .filterFailed(error.description)
        }
        return decoder.bufferedCount > 0 ? .truncatedFrame : .closedByPeer
    }

    func scheduleFlush(of filtering: Filtering) {
        guard !filtering.isFlushDue else { return }
        filtering.isFlushDue = true
        scheduler.atEndOfTurn(self)
    }

    package func turnDidEnd() {
        filtering?.isFlushDue = false
        guard phase != .closed else { return }
        flushFilter()
    }

    /// Sends all that is queued and the filter's closing message.
    func finishFilter() {
        guard let filter else { return }
        flushFilter()
        filter.finish()
        sendOutput()
    }

    private func flushFilter() {
        guard let filtering, filtering.filter.isEstablished, filtering.queuedBytes > 0 else { return }
        let frames = filtering.takeAll()
        step { filter throws(StreamFilterError) in try filter.write(frames) }
        sendOutput()
        filtering.giveBack(frames)
    }

    /// Takes lent frames through the filter at once, behind those that wait, and their output out of its shared memory.
    func writeFiltered(_ frames: RawSpan) {
        guard filter?.isEstablished == true else { return put(ByteSlice(copying: frames)) }
        flushFilter()
        step { filter throws(StreamFilterError) in
            try filter.write(frames)
            filter.takeOutput { $0.withBytes(stream.write) }
        }
    }

    /// What has to wait for a slow peer is copied: it would keep the filters' shared memory from all others.
    private func sendOutput() {
        var isBehind: Bool?
        filter?.takeOutput { bytes in
            let copies = isBehind ?? (stream.queuedBytes > 0)
            isBehind = copies
            stream.send(copies ? ByteSlice(copying: bytes.copied()) : bytes)
        }
    }

    private func step(_ step: (any StreamFilter) throws(StreamFilterError) -> Void) {
        guard let filter, phase != .closed else { return }
        do throws(StreamFilterError) {
            try step(filter)
        } catch {
            sendOutput()
            phase = .closed
            stream.closeAfterFlush(.filterFailed(error.description))
        }
    }
}
