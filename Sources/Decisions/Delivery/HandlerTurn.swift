// The handler of an inbound ledger: whether there is one, the item it has, and when it may have the next one. One item
// at a time is with it. An attempt counts only once it is durable (DEL-11); counted one by one, that is a sync for each
// item. So the attempts of some waiting items are counted together, and their bodies kept in memory: each is delivered
// the moment its predecessor has ended.

import TandemBase

/// Whose turn it is at a ledger's handler.
struct HandlerTurn: Sendable {
    /// Bytes of bodies in memory (LIM-45): a window of large items.
    private static var bodyLimit: Int { 256 << 10 }

    private var hasHandler = false
    /// The item that the handler has.
    private(set) var current: UInt64?
    /// The head failed: it is not delivered again before this.
    private(set) var pausedUntil: MonotonicTime?
    /// Waiting items whose next attempt is counted, and whether their count is durable.
    private var counted: [UInt64: Bool] = [:]
    private var bodies: [UInt64: [UInt8]] = [:]
    private var bodyBytes = 0

    /// Whether the handler can be given an item now.
    var isFree: Bool { hasHandler && current == nil && pausedUntil == nil }

    mutating func handlerArrived() { hasHandler = true }

    mutating func handlerLeft() { hasHandler = false }

    mutating func begin(_ ordinal: UInt64) { current = ordinal }

    /// The item has ended, or the handler failed.
    mutating func end(_ ordinal: UInt64) { if current == ordinal { current = nil } }

    mutating func pause(until time: MonotonicTime) { pausedUntil = time }

    mutating func timeAdvanced(to time: MonotonicTime) { if let end = pausedUntil, end <= time { pausedUntil = nil } }

    // MARK: attempts counted ahead

    var countedCount: Int { counted.count }

    /// How many more attempts may be counted ahead.
    func countable(_ limits: DeliveryLimits) -> Int { hasHandler ? limits.countedAhead - counted.count : 0 }

    mutating func count(_ ordinal: UInt64) { counted[ordinal] = false }

    /// Their commit is done. Items that were delivered or have ended meanwhile are counted no longer.
    mutating func becameDurable(_ ordinals: [UInt64]) { for ordinal in ordinals { counted[ordinal]? = true } }

    /// Keeps the body of a counted item for its turn, if there is room.
    mutating func keep(_ body: [UInt8], of ordinal: UInt64) {
        guard counted[ordinal] != nil, body.count <= Self.bodyLimit - bodyBytes else { return }
        bodies[ordinal] = body
        bodyBytes += body.count
    }

    /// The item is delivered now, or has ended.
    /// - Returns: whether its attempt is counted, and durably; its body if it is in memory.
    mutating func take(_ ordinal: UInt64) -> (isCounted: Bool, isDurable: Bool, body: [UInt8]?) {
        guard let isDurable = counted.removeValue(forKey: ordinal) else { return (false, false, nil) }
        let body = bodies.removeValue(forKey: ordinal)
        bodyBytes -= body?.count ?? 0
        return (true, isDurable, body)
    }
}
