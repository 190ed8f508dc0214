// Broadcasts of one connection that leave together (SES-30): their frames lie one behind the other, so that each
// receiver is given all of them in one write, and whom they reached is noted once for all. The batch waits for more
// until something else comes that must not overtake it, and at most until the end of the turn. It decides nothing about
// receivers.

import TandemBase
import TandemSession
import TandemWire

/// Broadcasts that wait to leave.
struct BroadcastBatch {
    /// The most bytes that wait, unless a single frame is longer: enough for a burst to be one write, little enough for
    /// the cache that all receivers' writes are read from.
    private static var capacity: Int { 128 * 1024 }
    /// The most failures that one batch may lead to, unless a single message does: half of what makes a sender's queue
    /// congested, so that a sender whose messages reach nobody is held back before its failures overflow.
    private static var mostFailures: Int { 2048 }

    /// Whose they are; nil while there are none.
    private(set) var origin: RelayPort?
    private(set) var frames = BroadcastFrames()
    private(set) var messages: [BroadcastLedger.Message] = []
    private var passages: [Passage] = []
    /// Pairings that could not take the first message; each of them fails each message.
    private var unreachable = 0
    private var hasData = false
    private var hasMessages = false
    private var hasTopics = false

    var isEmpty: Bool { messages.isEmpty }

    /// Whether a frame of a connection may join; none need be here.
    func hasRoom(for frame: Frame, from port: RelayPort) -> Bool {
        guard !isEmpty else { return true }
        return origin === port && frames.bytes.count + frame.count <= Self.capacity
            && (messages.count + 1) * unreachable <= Self.mostFailures
    }

    func contains(_ id: UniqueIdentifier) -> Bool { messages.contains { $0.id == id } }

    /// Adds a broadcast of the connection whose they all are.
    /// - Returns: false, and nothing has changed, if another value shares the bytes of `pairing`.
    mutating func add(_ frame: Frame, _ passage: Passage, _ message: BroadcastLedger.Message, from port: RelayPort)
        -> Bool
    {
        guard frames.append(frame) else { return false }
        if isEmpty { unreachable = port.application?.routes.unreachableCount ?? 0 }
        origin = port
        messages.append(message)
        passages.append(passage)
        if case .messageData = passage.kind { hasData = true } else { hasMessages = true }
        hasTopics = hasTopics || passage.hasTopic
        return true
    }

    mutating func address(to pairing: UniqueIdentifier) { frames.address(to: pairing) }

    /// Whether a receiver agreed to one of the messages.
    func isAgreed(_ index: Int, with port: RelayPort) -> Bool { port.takes(passages[index]) }

    /// Whether a receiver can take all frames.
    func fits(_ port: RelayPort) -> Bool {
        (port.takesTopics || !hasTopics) && (!hasMessages || port.takes(.message))
            && (!hasData || port.takes(.messageData)) && port.endpoint.isWritable(frames.bytes.count)
    }

    /// A receiver got one of the messages and not all.
    mutating func delivered(_ index: Int, _ delivery: BroadcastLedger.Delivery) {
        messages[index].deliveries.append(delivery)
    }

    /// Forgets all and keeps the room for the next ones.
    mutating func removeAll() {
        origin = nil
        frames.removeAll()
        messages.removeAll(keepingCapacity: true)
        passages.removeAll(keepingCapacity: true)
        (hasData, hasMessages, hasTopics) = (false, false, false)
    }
}
