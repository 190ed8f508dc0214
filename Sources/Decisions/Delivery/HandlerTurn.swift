// The turn of an inbound ledger's handler: the item that it has, the pause after a failure, and the attempts that are
// counted before they are made (DEL-11).

import TandemBase
import TandemWire

/// The handler of a ledger: whether there is one, the item it has, and when it may have the next one. An attempt counts
/// only once it is durable (DEL-11); counted one by one, that is a sync for each item. So the attempts of some waiting
/// items are counted together, and bodies that come while there is a handler stay in memory: each item is delivered the
/// moment its predecessor has ended.
struct HandlerTurn: Sendable {
    /// Bytes of bodies in memory (LIM-45): a window of large items.
    private static var bodyLimit: Int { 256 << 10 }

    private struct Delivery: Sendable {
        let ordinal: UInt64
        let number: UInt64
        /// When the handler got the item; nil if it has not got it yet.
        var begun: MonotonicTime?
        /// Why the sender has taken the item back since; nil if it has not.
        var takenBack: GapReason?
    }

    private var hasHandler = false
    /// The handler has put an item off since it arrived.
    private(set) var isPutOff = false
    /// The item that the handler has, or gets once its attempt is durable.
    private var delivery: Delivery?
    /// The number of the delivery that began last. None is used twice: a delivery that was called off must not pass for
    /// a later one of the same item.
    private var deliveries: UInt64 = 0
    /// The item that failed, and the time before which it is not delivered again.
    private var paused: (ordinal: UInt64, until: MonotonicTime)?
    /// The pauses of the item that the handler cannot take.
    private var spacePause = SpacePause()
    /// Waiting items whose next attempt is counted, and whether their count is durable.
    private var counted: [UInt64: Bool] = [:]
    private var bodies: [UInt64: [UInt8]] = [:]
    private var bodyBytes = 0

    /// The item that the handler has, or gets once its attempt is durable.
    var current: UInt64? { delivery?.ordinal }

    /// Whether the handler has got the current item.
    var isHandedOver: Bool { delivery?.begun != nil }

    /// Whether the handler can take an item now.
    var isFree: Bool { hasHandler && current == nil && paused == nil }

    /// The end of the pause after a failure.
    var pausedUntil: MonotonicTime? { paused?.until }

    mutating func handlerArrived() { (hasHandler, isPutOff) = (true, false) }

    mutating func putOff() {
        handlerLeft()
        isPutOff = true
    }

    mutating func putOffEnded() { isPutOff = false }

    mutating func handlerLeft() {
        hasHandler = false
        (bodies, bodyBytes) = ([:], 0)
    }

    /// A delivery begins: its attempt is being written, or is durable already.
    /// - Returns: its number.
    mutating func begin(_ ordinal: UInt64) -> UInt64 {
        deliveries += 1
        delivery = Delivery(ordinal: ordinal, number: deliveries)
        return deliveries
    }

    /// The attempt of the delivery with this number is durable.
    /// - Returns: whether the handler gets the item; false if the delivery was called off meanwhile.
    mutating func handOver(_ number: UInt64, at time: MonotonicTime) -> Bool {
        guard delivery?.number == number else { return false }
        delivery?.begun = time
        return true
    }

    /// Calls off a delivery whose item the handler has not got.
    /// - Returns: the item; nil if there is no such delivery.
    mutating func callOff() -> UInt64? {
        guard let delivery, delivery.begun == nil else { return nil }
        self.delivery = nil
        return delivery.ordinal
    }

    /// The item that the handler has had for at least this long, and since when.
    func inHandler(for time: Duration, at now: MonotonicTime) -> (ordinal: UInt64, since: MonotonicTime)? {
        guard let delivery, let begun = delivery.begun, now.since(begun) >= time else { return nil }
        return (ordinal: delivery.ordinal, since: begun)
    }

    /// The sender takes back the item that the handler has. Not stored: on the next
    /// link the sender sends the `gap` again (DEL-9).
    mutating func takeBack(_ reason: GapReason) { delivery?.takenBack = reason }

    /// The item has ended, or the handler failed. The pause of an item that ends is over: the next one does not wait
    /// for it.
    /// - Returns: why the sender has taken back the item that the handler had; nil if it has not.
    @discardableResult
    mutating func end(_ ordinal: UInt64) -> GapReason? {
        if paused?.ordinal == ordinal { paused = nil }
        guard let delivery, delivery.ordinal == ordinal else { return nil }
        self.delivery = nil
        return delivery.takenBack
    }

    mutating func pause(of ordinal: UInt64, until time: MonotonicTime) { paused = (ordinal, time) }

    /// The handler cannot take the item now.
    mutating func pauseWithoutAttempt(of ordinal: UInt64, at time: MonotonicTime) {
        pause(of: ordinal, until: time + spacePause.next(of: ordinal))
    }

    /// The ledger was read back. The handler goes on with its item if that is still the first one.
    /// - Parameters:
    ///   - isComplete: whether no event since then is lost.
    ///   - head: the first item that has not ended; nil if there is none.
    ///   - counted: the items whose attempts are still counted.
    mutating func goOn(after former: HandlerTurn, isComplete: Bool, head: UInt64?, counted items: [UInt64]) {
        (deliveries, paused, spacePause) = (former.deliveries, former.paused, former.spacePause)
        for ordinal in items { counted[ordinal] = true }
        guard isComplete else { return }
        isPutOff = former.isPutOff
        if former.isHandedOver, former.current == head { delivery = former.delivery }
    }

    mutating func timeAdvanced(to time: MonotonicTime) { if let end = paused?.until, end <= time { paused = nil } }

    // MARK: attempts counted ahead

    var countedCount: Int { counted.count }

    /// How many more attempts may be counted ahead.
    func countable(_ limits: DeliveryLimits) -> Int { hasHandler ? limits.countedAhead - counted.count : 0 }

    /// The items whose attempts are counted, and have not begun.
    var notBegun: [UInt64] {
        if let current, !isHandedOver { counted.keys + [current] } else { Array(counted.keys) }
    }

    mutating func count(_ ordinal: UInt64) { counted[ordinal] = false }

    /// The items whose attempts are counted; none is any longer.
    mutating func takeCounted() -> [UInt64] {
        defer { counted = [:] }
        return counted.keys.sorted()
    }

    /// Their commit is done. Items that were delivered or have ended meanwhile are counted no longer.
    mutating func becameDurable(_ ordinals: [UInt64]) { for ordinal in ordinals { counted[ordinal]? = true } }

    /// Keeps the body of a waiting item for its turn, if there is room: reading it back would wait for a commit.
    mutating func keep(_ body: [UInt8], of ordinal: UInt64) {
        guard hasHandler, current != ordinal, body.count <= Self.bodyLimit - bodyBytes else { return }
        bodies[ordinal] = body
        bodyBytes += body.count
    }

    /// The item is delivered now, or has ended.
    /// - Returns: whether its attempt is counted, and durably; its body if it is in memory.
    mutating func take(_ ordinal: UInt64) -> (isCounted: Bool, isDurable: Bool, body: [UInt8]?) {
        let body = bodies.removeValue(forKey: ordinal)
        bodyBytes -= body?.count ?? 0
        guard let isDurable = counted.removeValue(forKey: ordinal) else { return (false, false, body) }
        return (true, isDurable, body)
    }
}
