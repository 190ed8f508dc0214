// Which requests a daemon has passed on and not yet seen answered (SES-9 to SES-11, LIM-7). An answer is accepted only
// from the connection that the request was delivered to, and goes only to the one that asked; both ends' loss settles
// what they left open. The ledger knows connections and apps as numbers and never sees a body. What it does for a frame
// costs the same however many requests are open; what it does for a connection that leaves, as much as that one had
// open.

package import TandemBase

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

    private var requests = RecordPool<RequestRecord>()
    private var parties = PartyTable()
    private var byOrigin = HashTable()
    private var byDestination = HashTable()
    private var wheel = DeadlineWheel()
    /// Requests that want no reply, oldest first.
    private var unanswered = Chain()
    private var unansweredCount = 0
    private let capacity: Int
    private let unansweredCapacity: Int
    private let seed: HashSeed
    /// Answers that were dropped: late, repeated, or from a connection that was never asked.
    package private(set) var strayAnswers: UInt64 = 0

    /// - Parameters:
    ///   - capacity: requests of one app of one origin that may wait for a reply at once (LIM-7).
    ///   - unansweredCapacity: messages without reply whose failure can still find its sender; the oldest is forgotten.
    ///   - seed: secret, because peers choose the identifiers.
    package init(capacity: Int, unansweredCapacity: Int = 1024, seed: HashSeed) {
        self.capacity = capacity
        self.unansweredCapacity = unansweredCapacity
        self.seed = seed
    }

    package var count: Int { requests.count }

    /// The requests that wait for a reply; messages without are not among them.
    package var waitingCount: Int { requests.count - unansweredCount }

    /// A connection that may ask and answer from now on.
    package mutating func enter() -> RequestParty { parties.insert() }

    /// Records a request at the moment it is passed on.
    package mutating func open(_ request: OpenRequest) -> Opening {
        let asked = seed.hash(request.id, request.origin.index)
        let owed = seed.hash(request.id, request.destination.index)
        guard find(request.id, from: request.origin, asked) == nil,
            find(request.id, to: request.destination, owed) == nil
        else { return .duplicate }
        let asker = parties.asker(request.app, of: request.origin)
        if request.wantsReply {
            guard parties.waiting(asker) < capacity else { return .tooMany }
            parties.changeWaiting(asker, by: 1)
        } else {
            forgetOldestUnanswered()
        }
        let slot = wheel.slot(of: request.deadline)
        enter(RequestRecord(request: request, asker: asker, askedHash: asked, owedHash: owed, slot: slot))
        return .opened
    }

    /// The request that a `reply` or `failure` from this connection answers; nil, and counted, if it may not answer.
    /// A `reply` to a message that wanted none is not an answer.
    package mutating func answered(_ id: UniqueIdentifier, by party: RequestParty, isReply: Bool) -> OpenRequest? {
        guard let number = find(id, to: party, seed.hash(id, party.index)) else { return stray() }
        let request = requests[number].request
        guard request.wantsReply || !isReply else { return stray() }
        forget(number)
        return request
    }

    private mutating func stray() -> OpenRequest? {
        strayAnswers &+= 1
        return nil
    }

    /// Forgets the requests whose caller has stopped waiting; returns how many.
    package mutating func expire(now: MonotonicTime) -> Int {
        var expired = 0
        for slot in wheel.dueSlots(now: now) {
            var next = wheel.slots[slot].head
            while let number = next {
                next = requests.next(number, .deadline)
                guard requests[number].request.deadline <= now else { continue }
                forget(number)
                expired += 1
            }
        }
        giveBack()
        return expired
    }

    /// A connection is gone: what it asked is forgotten, what it should have answered is returned, oldest first. Its
    /// number may be given out again.
    package mutating func left(_ party: RequestParty) -> [OpenRequest] {
        while let number = parties[party].asked.head { forget(number) }
        var owed: [OpenRequest] = []
        while let number = parties[party].owed.head {
            owed.append(requests[number].request)
            forget(number)
        }
        parties.remove(party)
        giveBack()
        return owed
    }

    /// After a flood, the room that it needed.
    private mutating func giveBack() {
        guard requests.count == 0, requests.room > Self.roomKept else { return }
        (requests, byOrigin, byDestination) = (RecordPool(), HashTable(), HashTable())
    }

    /// Records that a busy daemon may have at once without asking for their memory again.
    private static var roomKept: Int { 16_384 }
}

extension RequestLedger {
    private func find(_ id: UniqueIdentifier, from party: RequestParty, _ hash: UInt32) -> Int? {
        byOrigin.find(hash) { requests[$0].request.id == id && requests[$0].request.origin == party }
    }

    private func find(_ id: UniqueIdentifier, to party: RequestParty, _ hash: UInt32) -> Int? {
        byDestination.find(hash) { requests[$0].request.id == id && requests[$0].request.destination == party }
    }

    private mutating func enter(_ record: RequestRecord) {
        let number = requests.insert(record)
        byOrigin.insert(number, record.askedHash)
        byDestination.insert(number, record.owedHash)
        requests.append(number, to: &parties[record.request.origin].asked, .asked)
        requests.append(number, to: &parties[record.request.destination].owed, .owed)
        requests.append(number, to: &wheel.slots[record.slot], .deadline)
        guard !record.request.wantsReply else { return }
        requests.append(number, to: &unanswered, .unanswered)
        unansweredCount += 1
    }

    private mutating func forget(_ number: Int) {
        let record = requests[number]
        byOrigin.remove(number, record.askedHash)
        byDestination.remove(number, record.owedHash)
        requests.remove(number, from: &parties[record.request.origin].asked, .asked)
        requests.remove(number, from: &parties[record.request.destination].owed, .owed)
        requests.remove(number, from: &wheel.slots[record.slot], .deadline)
        if record.request.wantsReply {
            parties.changeWaiting(record.asker, by: -1)
        } else {
            requests.remove(number, from: &unanswered, .unanswered)
            unansweredCount -= 1
        }
        requests.remove(number)
    }

    /// Keeps the messages without reply bounded.
    private mutating func forgetOldestUnanswered() {
        if unansweredCount >= unansweredCapacity, let oldest = unanswered.head { forget(oldest) }
    }
}
