// The link to the peer as an outbound queue sees it: closed or open, and the pause after a refusal, which may outlast
// it. It decides which refusal blocks an item on space, when the queue may send and when it must send again.

import TandemBase
import TandemPropertyList
import TandemWire

/// Why a peer did not take an item (DEL-12). The sender keeps the last refusal, because it explains the end of an item
/// that was given up (DEL-25).
package struct ItemRefusal: Sendable, Hashable {
    /// One of the error codes.
    package let code: Int64
    /// A more exact reason; nil if the peer sent none.
    package let name: String?

    package init(code: Int64, name: String? = nil) {
        self.code = code
        self.name = name
    }

    /// Whether the peer's disk has no space for the item.
    package var isInsufficientSpace: Bool { code == Int64(SessionError.Code.insufficientSpace.rawValue) }

    /// The refusal that a `failure` reports. A name that does not read is dropped.
    init(_ failure: FailureFrame) {
        self.init(code: Int64(failure.code), name: failure.name.flatMap { $0.isShortText ? $0 : nil })
    }
}

extension FailureFrame {
    /// Whether it says that there is no room now, and that there may be later.
    var isBlockedOnSpace: Bool {
        guard code == SessionError.Code.insufficientSpace.rawValue || name == ErrorName.queueFull.rawValue else {
            return false
        }
        return body[BodyKey.retry]?.booleanValue == true
    }
}

/// The pauses between attempts at one item.
enum RetryPause {
    /// After a first failed attempt; it doubles with each further one.
    private static var first: Duration { .seconds(1) }

    static func after(attempts: Int) -> Duration { first * (1 << min(max(attempts - 1, 0), 10)) }
}

/// The pauses of an item that the peer, or the handler, has no room for. Each further time for the same item makes its
/// pause longer; a restart begins with short ones again.
struct SpacePause: Sendable {
    /// The longest (LIM-15): soon enough once there is room, and not worth a frame meanwhile.
    private static var longest: Duration { .seconds(60) }

    private var last: (ordinal: UInt64, times: Int)?

    /// The pause of this item from now on.
    mutating func next(of ordinal: UInt64) -> Duration {
        let times = (last?.ordinal == ordinal ? last?.times ?? 0 : 0) + 1
        last = (ordinal, times)
        return min(RetryPause.after(attempts: times), Self.longest)
    }
}

/// The state of a queue's link, and the pause after a refusal.
struct PeerLink: Sendable {
    /// The peer refused an item: nothing is sent before the end.
    private struct Pause: Sendable {
        let ordinal: UInt64
        let end: MonotonicTime
        /// The peer had no room: a new link asks at once. A pause after an attempt outlasts the link, or a link that
        /// comes and goes would use up all attempts in seconds.
        let endsWithLink: Bool
    }

    /// When the peer last acknowledged something, everything was last sent again, or the peer began to owe an answer.
    /// Later frames do not count: a queue in use would never repeat what the peer lacks. Nil without a link.
    private var silentSince: MonotonicTime?
    private var pause: Pause?
    private var spacePause = SpacePause()

    var isOpen: Bool { silentSince != nil }

    /// Whether the link is open and no pause lasts.
    var maySend: Bool { isOpen && pause == nil }

    /// The item whose refusal has begun the pause that lasts.
    var pausedFor: UInt64? { pause?.ordinal }

    mutating func opened(at time: MonotonicTime) {
        closed()
        silentSince = time
        if let pause, pause.end <= time { self.pause = nil }
    }

    mutating func closed() {
        silentSince = nil
        if pause?.endsWithLink == true { pause = nil }
    }

    /// The link as it is for a queue that takes the place of another.
    var whenClosed: Self {
        var link = self
        link.closed()
        return link
    }

    /// Everything is sent again, if there is a link.
    mutating func repeated(at time: MonotonicTime) {
        awaitsPeer(from: time)
        pause = nil
    }

    /// The peer has stored something that it had not, or owes an answer and owed none before.
    mutating func awaitsPeer(from time: MonotonicTime) { if isOpen { silentSince = time } }

    /// The peer did not take the item, for the last of so many attempts.
    mutating func pause(after attempts: Int, at ordinal: UInt64, from time: MonotonicTime) {
        let end = time + RetryPause.after(attempts: attempts)
        pause = Pause(ordinal: ordinal, end: end, endsWithLink: false)
    }

    mutating func pause(withoutSpaceFor ordinal: UInt64, at time: MonotonicTime) {
        pause = Pause(ordinal: ordinal, end: time + spacePause.next(of: ordinal), endsWithLink: true)
    }

    /// When everything unacknowledged is sent again; nil if nothing depends on time.
    /// - Parameter isAwaitingPeer: whether the peer still has to answer something that was sent.
    func resendTime(isAwaitingPeer: Bool, limits: DeliveryLimits) -> MonotonicTime? {
        guard let silentSince else { return nil }
        return pause?.end ?? (isAwaitingPeer ? silentSince + limits.resendAfter : nil)
    }
}
