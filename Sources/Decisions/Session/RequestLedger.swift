// Which requests a daemon has passed on and not yet seen answered (SES-9 to SES-11, LIM-7). An answer is accepted only
// from the connection that the request was delivered to, and goes only to the one that asked; both ends' loss settles
// what they left open. The ledger knows connections as numbers and never sees a body.

package import TandemIdentity

/// A connection of this daemon: a local socket or a device link. Numbers are never used twice.
package struct ConnectionNumber: Sendable, Hashable, Comparable {
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// One request as the ledger keeps it.
package struct OpenRequest: Sendable, Equatable {
    package let id: UniqueIdentifier
    package let app: ApplicationIdentifier
    package let pairing: UniqueIdentifier
    /// Who asked, and who gets the answer.
    package let origin: ConnectionNumber
    /// Where it was delivered, and who may answer.
    package let destination: ConnectionNumber
    /// False: only a failure may come back.
    package let wantsReply: Bool
    /// When the caller stops waiting; the ledger forgets the request then.
    package let deadline: MonotonicTime
    /// Bytes given to the destination's channel up to this frame's last byte, since the channel began.
    package let endOffset: UInt64

    package init(
        id: UniqueIdentifier, app: ApplicationIdentifier, pairing: UniqueIdentifier, origin: ConnectionNumber,
        destination: ConnectionNumber, wantsReply: Bool, deadline: MonotonicTime, endOffset: UInt64 = 0
    ) {
        self.id = id
        self.app = app
        self.pairing = pairing
        self.origin = origin
        self.destination = destination
        self.wantsReply = wantsReply
        self.deadline = deadline
        self.endOffset = endOffset
    }
}

/// The open requests of one daemon or simulator.
package struct RequestLedger: Sendable {
    /// What becomes of a new request.
    package enum Opening: Sendable, Equatable {
        case opened
        /// Answer `failure` 7008 `duplicate-id`.
        case duplicate
        /// Answer `failure` 7001 `too-many-requests`.
        case tooMany
    }

    private struct Key: Hashable {
        let connection: ConnectionNumber
        let id: UniqueIdentifier
    }

    /// An app on a connection: a link carries the requests of many, and one must not use up what the others may ask.
    private struct Asker: Hashable {
        let connection: ConnectionNumber
        let app: ApplicationIdentifier

        init(_ request: OpenRequest) {
            connection = request.origin
            app = request.app
        }
    }

    private var requests: [Key: OpenRequest] = [:]  // by who may answer
    private var asked: [Key: ConnectionNumber] = [:]  // by who asked: where it went
    private var waiting: [Asker: Int] = [:]  // by who asked: how many want a reply
    private let capacity: Int
    private let unansweredCapacity: Int
    private var unanswered: [Key] = []  // requests that want no reply, oldest first
    /// Answers that were dropped: late, repeated, or from a connection that was never asked.
    package private(set) var strayAnswers: UInt64 = 0

    /// - Parameters:
    ///   - capacity: requests of one app of one origin that may wait for a reply at once (LIM-7).
    ///   - unansweredCapacity: messages without reply whose failure can still find its sender; the oldest is forgotten.
    package init(capacity: Int, unansweredCapacity: Int = 1024) {
        self.capacity = capacity
        self.unansweredCapacity = unansweredCapacity
    }

    package var count: Int { requests.count }

    /// The requests that wait for a reply; messages without are not among them.
    package private(set) var waitingCount = 0

    /// Records a request at the moment it is passed on.
    package mutating func open(_ request: OpenRequest) -> Opening {
        let answerKey = Key(connection: request.destination, id: request.id)
        let askKey = Key(connection: request.origin, id: request.id)
        guard requests[answerKey] == nil, asked[askKey] == nil else { return .duplicate }
        if request.wantsReply {
            guard waiting[Asker(request), default: 0] < capacity else { return .tooMany }
            waiting[Asker(request), default: 0] += 1
            waitingCount += 1
        } else {
            forgetOldestUnanswered()
            unanswered.append(answerKey)
        }
        requests[answerKey] = request
        asked[askKey] = request.destination
        return .opened
    }

    /// The request that a `reply` or `failure` from this connection answers; nil, and counted, if it may not answer.
    /// A `reply` to a message that wanted none is not an answer.
    package mutating func answered(
        _ id: UniqueIdentifier, by connection: ConnectionNumber, isReply: Bool
    ) -> OpenRequest? {
        let key = Key(connection: connection, id: id)
        guard let request = requests[key], request.wantsReply || !isReply else {
            strayAnswers &+= 1
            return nil
        }
        forget(key, request)
        return request
    }

    /// Forgets the requests whose caller has stopped waiting; returns how many.
    package mutating func expire(now: MonotonicTime) -> Int { remove { $0.deadline <= now }.count }

    /// A connection is gone: what it asked is forgotten, what it should have answered is returned in no stated order.
    package mutating func closed(_ connection: ConnectionNumber) -> [OpenRequest] {
        remove { $0.origin == connection || $0.destination == connection }
            .filter { $0.destination == connection && $0.origin != connection }
    }

    private mutating func remove(where condition: (OpenRequest) -> Bool) -> [OpenRequest] {
        let gone = requests.filter { condition($0.value) }
        for (key, request) in gone { forget(key, request) }
        return Array(gone.values)
    }

    private mutating func forget(_ key: Key, _ request: OpenRequest) {
        requests[key] = nil
        asked[Key(connection: request.origin, id: request.id)] = nil
        guard request.wantsReply, let count = waiting[Asker(request)] else { return }
        waiting[Asker(request)] = count > 1 ? count - 1 : nil
        waitingCount -= 1
    }
}

extension RequestLedger {
    /// Keeps the list of messages without reply bounded; entries that were settled already cost nothing but their
    /// place.
    private mutating func forgetOldestUnanswered() {
        guard unanswered.count >= unansweredCapacity else { return }
        let half = unanswered.prefix(max(unansweredCapacity / 2, 1))
        for key in half {
            guard let request = requests[key], !request.wantsReply else { continue }
            forget(key, request)
        }
        unanswered.removeFirst(half.count)
    }
}
