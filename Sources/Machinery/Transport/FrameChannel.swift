// Frames over any byte stream, plain or through a filter: the one place where bytes from outside become frames. It
// enforces what the protocol demands of any peer (length, pace, reading what it asked for) and closes with a named
// reason; what a frame says is for others. Frames go on as the bytes they came in.

package import TandemBase
internal import TandemReactor
package import TandemWire

/// Receives what happens on a channel; on the scheduler's thread.
package protocol FrameChannelDelegate: AnyObject {
    /// Frames may go both ways now: at once without a filter, after the handshake with one.
    func channelDidOpen(_ channel: FrameChannel)

    func channel(_ channel: FrameChannel, didReceive frame: Frame)

    /// The queue was over its high-water mark and has fallen to the low one.
    func channelDidDrain(_ channel: FrameChannel)

    /// The channel is over; called exactly once after `start`, never from inside a call to it.
    func channel(_ channel: FrameChannel, didCloseWith reason: CloseReason)
}

/// A stream of frames; confined to its scheduler's thread.
package final class FrameChannel {
    enum Phase {
        case idle, opening, open, closed
    }

    /// Kept alive until the channel has closed.
    package var delegate: (any FrameChannelDelegate)?
    package let stream: any ByteStream
    /// Nil without a filter.
    let filtering: Filtering?
    /// Unchecked, because no method of it calls out.
    @exclusivity(unchecked) var decoder: FrameDecoder
    // What is smaller than a word follows what ends in the middle of one: an idle channel is to be small.
    let options: FrameChannelOptions
    /// Made when the first frame is waited for, or one is unfinished for the first time.
    var watch: Watch?
    private var isDelivering = false
    private(set) var isReadingPaused = false
    var phase = Phase.idle

    /// A channel over a stream that has not started.
    package init(
        stream: any ByteStream, filter: (any StreamFilter)? = nil, options: FrameChannelOptions = FrameChannelOptions()
    ) {
        self.stream = stream
        filtering = filter.map(Filtering.init)
        decoder = FrameDecoder(limit: options.limit)
        self.options = options
    }

    var scheduler: any Scheduler { stream.scheduler }

    var filter: (any StreamFilter)? { filtering?.filter }

    package var peer: PeerDescription { stream.peer }

    /// The largest payload accepted from now on, in bytes.
    package var limit: Int {
        get { decoder.limit }
        set { decoder.limit = newValue }
    }

    /// The bytes of accepted frames that the system has not taken yet.
    package var queuedBytes: Int { stream.queuedBytes + (filtering?.queuedBytes ?? 0) }

    /// Whether a sender should wait for `channelDidDrain`.
    package var isCongested: Bool { stream.isCongested }

    /// Begins; without a filter `channelDidOpen` is called before it returns. The delegate is set before.
    package func start() {
        precondition(phase == .idle, "a channel is started once")
        phase = .opening
        stream.delegate = self
        stream.start()
        if let time = options.firstFrameTime { watchForFirstFrame(within: time) }
        if filtering == nil { opened() } else { startFilter() }
    }

    /// Queues a frame; it leaves at the end of the turn. A peer with more than the quota waiting is closed.
    package func send(_ frame: Frame) {
        if takes(frame.count) { put(frame.bytes) }
    }

    /// Gives frames in memory that is only lent to the system now, behind what is queued; otherwise as ``send(_:)``.
    package func write(_ frames: RawSpan) {
        guard takes(frames.byteCount) else { return }
        if filtering == nil { stream.write(frames) } else { writeFiltered(frames) }
    }

    private func takes(_ count: Int) -> Bool {
        guard phase == .opening || phase == .open else { return false }
        guard queuedBytes + count > options.queueQuota else { return true }
        close(.slowConsumer)
        return false
    }

    func put(_ bytes: ByteSlice) {
        guard let filtering else { return stream.send(bytes) }
        filtering.append(bytes)
        scheduleFlush(of: filtering)
    }

    /// Delivers no more frames, and reads no more, until `resumeReading`.
    package func pauseReading() {
        isReadingPaused = true
        stream.pauseReading()
    }

    /// Goes on, first with the frames that are here already, from the end of the turn.
    package func resumeReading() {
        guard isReadingPaused else { return }
        isReadingPaused = false
        watch?.pace.restart(isUnfinished: decoder.bufferedCount > 0, now: scheduler.now)
        scheduler.atEndOfTurn { [self] in
            guard !isReadingPaused, phase == .open || phase == .opening else { return }
            deliver()
            if !isReadingPaused { stream.resumeReading() }
        }
    }

    /// Ends the channel now; what is queued is lost.
    package func close(_ reason: CloseReason = .closedHere) {
        guard phase != .closed else { return }
        phase = .closed
        stream.close(reason)
    }

    /// Ends the channel when what is queued has been written; no more frames are delivered.
    package func closeAfterFlush(_ reason: CloseReason = .closedHere) {
        guard phase == .opening || phase == .open else { return }
        finishFilter()
        // A filter that failed has closed the channel, and what it still had to say must leave.
        guard phase != .closed else { return }
        phase = .closed
        stream.closeAfterFlush(reason)
    }

    /// Both ways are open.
    func opened() {
        phase = .open
        delegate?.channelDidOpen(self)
    }

    /// Takes plain bytes and gives out the frames that they complete.
    func accept(_ bytes: ByteSlice) {
        decoder.append(bytes)
        watch?.pace.gained(bytes.count, now: scheduler.now)
        deliver()
    }

    func deliver() {
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        do throws(WireError) {
            while phase == .open, !isReadingPaused, let frame = try decoder.next() { received(frame) }
        } catch {
            refuse(Refusal(error), .invalidFrame(error))
        }
        keepUnfinished()
        watchPace()
    }

    /// What is left in a shared block waits for the rest of its frame, or for reading to go on.
    private func keepUnfinished() {
        guard phase != .closed, decoder.bufferedCount > 0 else { return }
        decoder.reserve()
        if let block = decoder.block { stream.keep(block) }
    }

    /// Tells the peer why, and ends the channel (FRM-2).
    func refuse(_ refusal: Refusal, _ reason: CloseReason) {
        guard phase == .open, let frame = try? refusal.envelope().frame() else { return close(reason) }
        send(frame)
        closeAfterFlush(reason)
    }

    private func received(_ frame: Frame) {
        if let watch { completed(watch) }
        delegate?.channel(self, didReceive: frame)
    }
}

extension FrameChannel: ByteStreamDelegate {
    package func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice) {
        guard phase != .closed else { return }
        if let filter { receive(bytes, through: filter) } else { accept(bytes) }
    }

    package func stream(_ stream: any ByteStream, placeForBytesBefore block: ByteBlock) -> ByteSlice? {
        filtering == nil ? decoder.place(before: block) : nil
    }

    package func stream(_ stream: any ByteStream, mustLeave block: ByteBlock) { decoder.leave(block) }

    package func streamDidDrain(_ stream: any ByteStream) {
        if phase == .open { delegate?.channelDidDrain(self) }
    }

    package func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason) {
        phase = .closed
        watch?.cancel(on: scheduler)
        let delegate = delegate
        self.delegate = nil
        delegate?.channel(self, didCloseWith: reason == .closedByPeer ? ended() : reason)
    }
}
