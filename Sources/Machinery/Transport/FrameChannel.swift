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

    /// The queue was over its high-water mark and has fallen to the low one, or was awaited and has moved on.
    func channelDidDrain(_ channel: FrameChannel)

    /// The channel is over; called exactly once after `start`, never from inside a call to it.
    func channel(_ channel: FrameChannel, didCloseWith reason: CloseReason)
}

/// A stream of frames; confined to its scheduler's thread.
package final class FrameChannel {
    enum Phase {
        case idle, opening, open, closed
    }

    /// Kept alive until the channel has closed. Unchecked, because it is only taken out and set.
    @exclusivity(unchecked) package var delegate: (any FrameChannelDelegate)?
    package let stream: any ByteStream
    /// Nil without a filter.
    private let filtering: Filtering?
    /// Unchecked, because no method of it calls out.
    @exclusivity(unchecked) private var decoder: FrameDecoder
    // Fields smaller than a word follow a field that ends in the middle of one: an idle channel is to be small.
    let options: FrameChannelOptions
    /// Made when the first frame is waited for, or one is unfinished for the first time.
    private var watch: Watch?
    private var isDelivering = false
    private(set) var isReadingPaused = false
    private var phase = Phase.idle

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

    /// Whether the system takes no more for now.
    package var isBlocked: Bool { stream.isBlocked }

    /// `channelDidDrain` follows once, when the system has taken more of what is queued.
    package func awaitDrain() { stream.awaitDrain() }

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
        var completesFrames = false
        // Its reference is counted once for all frames, and not for each.
        var receiver = delegate
        do throws(WireError) {
            while phase == .open, !isReadingPaused, let frame = try decoder.next() {
                completesFrames = true
                if receiver !== delegate { receiver = delegate }
                receiver?.channel(self, didReceive: frame)
            }
        } catch {
            refuse(Refusal(error), .invalidFrame(error))
        }
        if completesFrames, let watch { completed(watch) }
        keepUnfinished()
        watchPace()
    }

    /// Retains an unfinished frame's bytes in a shared block until the rest arrives or reading resumes.
    private func keepUnfinished() {
        guard phase != .closed, decoder.bufferedCount > 0 else { return }
        decoder.reserve()
        if let block = decoder.block { stream.keep(block) }
    }

    /// Tells the peer why, and ends the channel (FRM-2).
    func refuse(_ refusal: Refusal, _ reason: CloseReason) {
        guard phase == .open, let frame = try? refusal.frame() else { return close(reason) }
        send(frame)
        closeAfterFlush(reason)
    }
}

extension FrameChannel: ByteStreamDelegate {
    package func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice) {
        guard phase != .closed else { return }
        if let filter { receive(bytes, through: filter) } else { accept(bytes) }
    }

    package func stream(_ stream: any ByteStream, roomForBytesBefore block: ByteBlock) -> ByteSlice? {
        filtering == nil ? decoder.room(before: block) : nil
    }

    package func stream(_ stream: any ByteStream, mustLeave block: ByteBlock) { decoder.leave(block) }

    package func streamDidDrain(_ stream: any ByteStream) {
        if phase == .open { delegate?.channelDidDrain(self) }
    }

    package func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason) {
        phase = .closed
        if let watch {
            chargeBegun(0, to: watch)
            watch.cancel(on: scheduler)
        }
        let delegate = delegate
        self.delegate = nil
        delegate?.channel(self, didCloseWith: reason == .closedByPeer ? ended() : reason)
    }
}

/// A channel's limits for its peer, with the protocol's numbers as defaults (Protocol/Limits.md). One object for all
/// channels of a listener, so that a channel that is idle does not carry them.
package final class FrameChannelOptions: Sendable {
    /// The largest payload of a frame, in bytes (LIM-1).
    package let limit: Int
    /// The most bytes that wait for the peer; beyond, it is a slow consumer (LIM-6).
    package let queueQuota: Int
    /// The time until the first frame, handshake included (LIM-4); nil for a side that waits as long as it likes.
    package let firstFrameTime: Duration?

    package init(
        limit: Int = Limits.frame, queueQuota: Int = Limits.queuedBytes, firstFrameTime: Duration? = nil
    ) {
        self.limit = limit
        self.queueQuota = queueQuota
        self.firstFrameTime = firstFrameTime
    }
}

// MARK: - timers
//
// One timer follows unfinished frames lazily: it is set when a frame stays unfinished after a read and not cancelled
// when the frame completes, so that the usual case, frames that come whole, never touches it, and an idle channel has
// none.

extension FrameChannel {
    /// A channel's timers for an expected or unfinished frame: an object of its own, so that an idle channel, and one
    /// whose frames always come whole, does not carry it. Once a frame came in parts it stays.
    private final class Watch {
        /// Unchecked, because no method of it calls out.
        @exclusivity(unchecked) var pace = FramePace()
        /// The bytes of a begun frame that the stream's account counts.
        var charged = 0
        var paceTimer = PendingTimer()
        var firstFrameTimer = PendingTimer()

        func cancel(on scheduler: any Scheduler) {
            paceTimer.cancel(on: scheduler)
            firstFrameTimer.cancel(on: scheduler)
        }
    }

    /// Frames were completed while there is a watch.
    private func completed(_ watch: Watch) {
        watch.pace.completed(leaving: decoder.bufferedCount, now: scheduler.now)
        guard watch.firstFrameTimer.isSet else { return }
        watch.firstFrameTimer.cancel(on: scheduler)
        // Most peers begin with a small frame, and never send one in parts.
        if !watch.paceTimer.isSet { self.watch = nil }
    }

    /// Sets the timer if an unfinished frame is here and none runs.
    func watchPace() {
        guard phase != .closed, let watch = watch ?? watchUnfinished() else { return }
        // While reading is paused, whole frames are here too, and they are this daemon's own doing.
        chargeBegun(isReadingPaused ? 0 : decoder.bufferedCount, to: watch)
        guard phase != .closed else { return }
        if !watch.paceTimer.isSet, let deadline = watch.pace.deadline { setPaceTimer(of: watch, at: deadline) }
    }

    /// The bytes that the stream's account counts for this channel.
    var begunBytes: Int { watch?.charged ?? 0 }

    /// Charges what is here of a large frame that is not whole (LIM-70). May end the channel.
    private func chargeBegun(_ count: Int, to watch: Watch) {
        let (count, before) = (count > Self.begunFree ? count : 0, watch.charged)
        guard count != before, let account = stream.account else { return }
        watch.charged = count
        if count > 0 { account.begin(self, count - before) } else { account.end(self, before) }
    }

    /// The owner of the stream has begun more than it may.
    func refuseBegun() {
        if let watch { chargeBegun(0, to: watch) }
        // Now, and not when the peer has read the refusal.
        decoder = FrameDecoder(limit: limit)
        refuse(Refusal(.tooSlow, "the unfinished frames of one user take more than they may"), .frameTooSlow)
    }

    /// A begun frame of this size is not counted (LIM-70).
    private static var begunFree: Int { 16 * 1024 }

    private func watchUnfinished() -> Watch? {
        guard decoder.bufferedCount > 0 else { return nil }
        let made = Watch()
        made.pace.gained(decoder.bufferedCount, now: scheduler.now)
        watch = made
        return made
    }

    private func setPaceTimer(of watch: Watch, at deadline: MonotonicTime) {
        watch.paceTimer.token = scheduler.schedule(after: deadline.since(scheduler.now)) { [self] in judgePace(watch) }
    }

    private func judgePace(_ watch: Watch) {
        watch.paceTimer.token = nil
        guard phase != .closed, !isReadingPaused else { return }
        switch watch.pace.judge(now: scheduler.now) {
        case .idle: break
        case .judgeAgain(let time): setPaceTimer(of: watch, at: time)
        case .tooSlow: refuse(Refusal(.tooSlow, "a frame came too slowly"), .frameTooSlow)
        }
    }

    /// Closes a peer that says nothing whole in time (LIM-4).
    func watchForFirstFrame(within time: Duration) {
        let watch = Watch()
        self.watch = watch
        watch.firstFrameTimer.token = scheduler.schedule(after: time) { [self] in
            refuse(Refusal(.tooSlow, "nothing whole came in time"), .frameTooSlow)
        }
    }
}

// MARK: - the filter
//
// Plain bytes are read to where their frame ends and cut where they are; frames that one turn queues go through the
// filter together at the end of the turn, and leave as one write. The filter's failures close the channel, after its
// last output (an alert) has left.

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
            progress = try filter.read { block in decoder.room(before: block) }
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

    /// The peer has ended and reads no more: the channel does not wait for the stream to end as well. A paused channel
    /// first delivers the bytes that are here already, then the stream's own end.
    private func peerEnded() {
        guard !isReadingPaused else { return }
        finishFilter()
        guard phase != .closed else { return }
        phase = .closed
        stream.closeAfterFlush(ended())
    }

    /// The reason for the stream's end: cut off inside TLS, inside a frame, or between two of them.
    func ended() -> CloseReason {
        do throws(StreamFilterError) {
            try filter?.receiveEnd()
        } catch {
            return .filterFailed(error.description)
        }
        return decoder.bufferedCount > 0 ? .truncatedFrame : .closedByPeer
    }

    private func scheduleFlush(of filtering: Filtering) {
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

    /// Output that waits for a slow peer is copied: it would block the filters' shared memory for all other
    /// connections.
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

extension FrameChannel {
    /// A channel's filter and the frames for it: they go through it together at the end of the turn, as few large
    /// records. An object of its own, so that thousands of idle plain channels do not carry it. Moved eagerly: nothing
    /// depends on when it is freed, and so a frame counts no reference to keep it to the end of a scope.
    @_eagerMove
    private final class Filtering {
        let filter: any StreamFilter
        // Unchecked, because no method here calls out.
        @exclusivity(unchecked) private var frames: [ByteSlice] = []
        @exclusivity(unchecked) private(set) var queuedBytes = 0
        var isFlushDue = false

        init(_ filter: any StreamFilter) { self.filter = filter }

        /// Neighbours become one piece, so that a burst is encrypted where it lies.
        func append(_ bytes: ByteSlice) {
            queuedBytes += bytes.count
            if frames.isEmpty || !frames[frames.count - 1].join(bytes) { frames.append(bytes) }
        }

        /// All frames, for the filter.
        func takeAll() -> [ByteSlice] {
            defer { (frames, queuedBytes) = ([], 0) }
            return frames
        }

        /// Takes back the array: a busy channel keeps its capacity; the first quiet turn gives it up.
        func giveBack(_ taken: consuming [ByteSlice]) {
            let isKept = taken.count * 4 >= taken.capacity || taken.capacity <= Self.capacityKept
            taken.removeAll(keepingCapacity: isKept)
            if frames.isEmpty { frames = taken }
        }

        private static var capacityKept: Int { 8 }
    }
}
