// Judges whether an unfinished frame comes fast enough (FRM-4). Time is cut into windows that begin with the frame's
// first byte; a frame that is unfinished at the end of a window must have gained the least rate's worth of bytes in it.
// So a header, and any small frame, has one window; a large payload keeps its rate in every window, and bytes sent
// early buy no silence later. No clock here, and nothing to do for a frame that comes whole.

internal import TandemBase
import TandemWire

struct FramePace {
    enum Verdict: Equatable {
        /// No frame is unfinished.
        case idle
        /// To be judged again at this time.
        case judgeAgain(at: MonotonicTime)
        case tooSlow
    }

    /// When the window began, in nanoseconds; the end of time while no frame is unfinished.
    private var start = UInt64.max
    /// At most as much as is asked for counts.
    private var counted: UInt32 = 0

    /// The bytes that an unfinished payload gains at least in one window (LIM-3).
    private static let leastGain = Int(Limits.headerTime.saturatingMilliseconds) * Limits.payloadRate / 1000

    private var windowStart: MonotonicTime? {
        get { start == .max ? nil : MonotonicTime(nanoseconds: start) }
        set { start = newValue?.nanoseconds ?? .max }
    }

    private var gain: Int {
        get { Int(counted) }
        set { counted = UInt32(clamping: newValue) }
    }

    /// When an unfinished frame is to be judged; nil if there is none.
    var deadline: MonotonicTime? { windowStart.map { $0 + Limits.headerTime } }

    /// Bytes came that completed no frame.
    mutating func gained(_ count: Int, now: MonotonicTime) {
        if windowStart == nil {
            windowStart = now
            gain = 0
        }
        gain += count
    }

    /// A frame was completed, and this many bytes of the next one are there.
    mutating func completed(leaving rest: Int, now: @autoclosure () -> MonotonicTime) {
        windowStart = rest > 0 ? now() : nil
        gain = rest
    }

    /// The measurement pauses, or resumes with a new window, because this side did not read.
    mutating func restart(isUnfinished: Bool, now: MonotonicTime) {
        windowStart = isUnfinished ? now : nil
        gain = Self.leastGain
    }

    /// Judges at or after the deadline.
    mutating func judge(now: MonotonicTime) -> Verdict {
        guard let deadline else { return .idle }
        if now < deadline { return .judgeAgain(at: deadline) }
        guard gain >= Self.leastGain else { return .tooSlow }
        windowStart = now
        gain = 0
        return .judgeAgain(at: now + Limits.headerTime)
    }
}
