// Attempts that are counted before they are made. The handler may see an item only when its attempt is counted durably
// (DEL-11); counted one by one, that is a sync for each item. So the attempts of some items that wait are counted
// together, and their bodies kept at hand: each is given the moment its predecessor has ended.

/// Items that wait with their next attempt in the count, and as many of their bodies as are allowed.
struct CountedAttempts: Sendable {
    /// Bytes of bodies at hand (LIM-45): a window of large items.
    static var bodyLimit: Int { 256 << 10 }

    /// Whether the count of each is durable.
    private var isDurable: [UInt64: Bool] = [:]
    private var bodies: [UInt64: [UInt8]] = [:]
    private var bodyBytes = 0

    var count: Int { isDurable.count }

    func contains(_ ordinal: UInt64) -> Bool { isDurable[ordinal] != nil }

    mutating func add(_ ordinal: UInt64) { isDurable[ordinal] = false }

    /// Their commit is done. Those that were given or have ended meanwhile do not count any more.
    mutating func becameDurable(_ ordinals: [UInt64]) { for ordinal in ordinals { isDurable[ordinal]? = true } }

    /// Keeps a body for the moment when its item is given, if there is room.
    mutating func keep(_ body: [UInt8], of ordinal: UInt64) {
        guard contains(ordinal), body.count <= Self.bodyLimit - bodyBytes else { return }
        bodies[ordinal] = body
        bodyBytes += body.count
    }

    /// The item is given now, or has ended.
    /// - Returns: whether its attempt is counted, and durably; its body if it is at hand.
    mutating func take(_ ordinal: UInt64) -> (isCounted: Bool, isDurable: Bool, body: [UInt8]?) {
        guard let isDurable = isDurable.removeValue(forKey: ordinal) else { return (false, false, nil) }
        let body = bodies.removeValue(forKey: ordinal)
        bodyBytes -= body?.count ?? 0
        return (true, isDurable, body)
    }
}
