// Two streams joined inside one process: the same behaviour as sockets (queues, marks, pausing, one end, the end of the
// other) on any scheduler, with faults when asked for. For tests, which must not depend on a kernel's
// timing.

internal import Glibc
package import TandemBase
package import TandemReactor
package import TandemTransport

/// One end of a pair; confined to the scheduler's thread.
package final class InProcessStream: ByteStream, TurnParticipant {
    /// The bytes under way or unread before the sender has to queue, as a socket's buffer would hold.
    static var capacity: Int { 128 * 1024 }

    private enum Phase {
        case idle, open, finishing, closed
    }

    private enum Arrival {
        case bytes([UInt8])
        case end
    }

    package var delegate: (any ByteStreamDelegate)?
    package private(set) var isCongested = false
    package private(set) var queuedBytes = 0
    package var account: QueueAccount?
    /// As much as a socket's buffer holds is under way, and more is queued.
    package private(set) var isBlocked = false
    private var isDrainAwaited = false
    package let scheduler: any Scheduler
    private let marks: WaterMarks
    private var dice: FaultDice
    private var other: InProcessStream?
    private var phase = Phase.idle
    private var finishReason = CloseReason.closedHere
    private var queue: [[UInt8]] = []
    private var underWay = 0
    private var lineIsBusyUntil: MonotonicTime
    private var lineIsFree: MonotonicTime
    private var arrivals: [Arrival] = []
    private var isReadingPaused = false
    private var isTurnEndDue = false

    private init(scheduler: any Scheduler, faults: FaultPlan, marks: WaterMarks) {
        self.scheduler = scheduler
        self.marks = marks
        dice = FaultDice(faults)
        lineIsBusyUntil = scheduler.now
        lineIsFree = scheduler.now
    }

    /// Two joined ends; each sends with its own faults.
    package static func pair(
        on scheduler: any Scheduler, faults: FaultPlan = .none, marks: WaterMarks = .standard
    ) -> (InProcessStream, InProcessStream) {
        var back = faults
        back.seed &+= 1
        let first = InProcessStream(scheduler: scheduler, faults: faults, marks: marks)
        let second = InProcessStream(scheduler: scheduler, faults: back, marks: marks)
        first.other = second
        second.other = first
        return (first, second)
    }

    package var peer: PeerDescription { .inProcess }

    package func start() {
        precondition(phase == .idle, "a stream is started once")
        phase = .open
        endTurnLater()
    }

    package func send(_ bytes: ByteSlice) {
        guard phase == .open || phase == .idle, !bytes.isEmpty else { return }
        queue.append(bytes.copied())
        queuedBytes += bytes.count
        isCongested = isCongested || queuedBytes > marks.high
        endTurnLater()
        if isBlocked { account?.charge(bytes.count) }
    }

    package func awaitDrain() {
        isDrainAwaited = true
        if !isBlocked { endTurnLater() }
    }

    package func keep(_ block: ByteBlock) {}

    package func pauseReading() { isReadingPaused = true }

    package func resumeReading() {
        isReadingPaused = false
        endTurnLater()
    }

    package func close(_ reason: CloseReason) {
        guard phase != .closed else { return }
        phase = .closed
        if isBlocked { unblock() }
        queue = []
        isCongested = false
        arrivals = []
        let other = other
        self.other = nil
        scheduler.schedule(after: lineIsBusyUntil.since(scheduler.now)) { other?.arrive(.end) }
        scheduler.atEndOfTurn { [self] in
            let delegate = delegate
            self.delegate = nil
            delegate?.stream(self, didCloseWith: reason)
        }
    }

    package func closeAfterFlush(_ reason: CloseReason) {
        guard phase == .open else { return close(reason) }
        phase = .finishing
        finishReason = reason
        scheduler.schedule(after: SocketStream.flushTime) { [self] in close(reason) }
        endTurnLater()
    }

    // MARK: the end of a turn

    private func endTurnLater() {
        guard !isTurnEndDue else { return }
        isTurnEndDue = true
        scheduler.atEndOfTurn(self)
    }

    package func turnDidEnd() {
        isTurnEndDue = false
        receiveArrivals()
        sendQueued()
    }

    private func sendQueued() {
        if isBlocked, underWay < Self.capacity { unblock() }
        let canDrain = !isBlocked
        while phase == .open || phase == .finishing, underWay < Self.capacity, !queue.isEmpty {
            let piece = queue.removeFirst()
            queuedBytes -= piece.count
            put(dice.roll(for: piece))
        }
        let hasDrained = isCongested && queuedBytes <= marks.low
        if hasDrained { isCongested = false }
        if hasDrained || (isDrainAwaited && canDrain) {
            isDrainAwaited = false
            delegate?.streamDidDrain(self)
        }
        if phase == .finishing, queue.isEmpty { close(finishReason) }
        guard !isBlocked, !queue.isEmpty, phase != .idle, phase != .closed else { return }
        isBlocked = true
        account?.block(self, queuedBytes)
    }

    private func unblock() {
        isBlocked = false
        account?.unblock(self, queuedBytes)
    }

    private func put(_ outcome: FaultDice.Outcome) {
        // The line takes one piece after the other, and each then needs its time to the other end.
        lineIsFree = max(lineIsFree, scheduler.now) + outcome.duration
        let arrival = lineIsFree + outcome.delay + (outcome.stalls ? dice.stallTime : .zero)
        let inOrder = max(arrival, lineIsBusyUntil)
        if !outcome.mayOvertake { lineIsBusyUntil = inOrder }
        let delay = (outcome.mayOvertake ? arrival : inOrder).since(scheduler.now)
        for copy in outcome.copies {
            underWay += copy.count
            scheduler.schedule(after: delay) { [other] in other?.arrive(.bytes(copy)) }
        }
        if outcome.isCut { close(.failed(SystemError(call: "recv", errno: ECONNRESET))) }
    }

    // MARK: receiving

    private func arrive(_ arrival: Arrival) {
        guard phase != .closed else { return }
        arrivals.append(arrival)
        if phase != .idle { receiveArrivals() }
    }

    /// The other end has read that much of what is under way to it.
    private func wasRead(_ count: Int) {
        underWay -= count
        if !queue.isEmpty { endTurnLater() }
    }

    private func receiveArrivals() {
        while phase != .idle, phase != .closed, !isReadingPaused, !arrivals.isEmpty {
            switch arrivals.removeFirst() {
            case .bytes(let bytes):
                other?.wasRead(bytes.count)
                guard phase == .open else { continue }
                delegate?.stream(self, didReceive: ByteSlice(copying: bytes))
            case .end: close(phase == .open ? .closedByPeer : finishReason)
            }
        }
    }
}
