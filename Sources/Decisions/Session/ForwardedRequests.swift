// Daemon's side of open requests (SES-9 to SES-11, LIM-7): the requests that a daemon has forwarded and whose answer is
// still outstanding. Its pair is ``PendingRequests``, the same for the library of the asking app. An answer is accepted
// only from the connection that received the request, and goes only to the connection that asked. The table knows
// connections and apps as numbers, and never sees a body. A frame costs the same however many requests are open; a
// connection that closes costs as much as it had open, and a deadline that passes a look at all. Nothing here is
// reference-counted.

package import TandemBase

/// The open requests that one daemon or simulator has forwarded.
package struct ForwardedRequests: ~Copyable, Sendable {
    package enum Opening: Sendable, Equatable {
        case opened
        /// Answer `failure` 7008 `duplicate-id`.
        case duplicate
        /// Answer `failure` 7001 `too-many-requests`.
        case tooMany
    }

    private var requests = RecordPool<RequestRecord>()
    private var parties = PartyTable()
    /// By their identifiers: two connections may choose the same one.
    private var byIdentifier = HashTable()
    /// Written messages without reply, oldest first.
    private var unanswered = Chain()
    private var unansweredCount = 0
    /// Messages without reply that wait to be written.
    private var unwrittenCount = 0
    /// No open request has an earlier deadline.
    private var earliestDeadline = MonotonicTime(nanoseconds: .max)
    private let capacity: Int
    private let capacityInAll: Int
    private let unansweredCapacity: Int
    private let seed: HashSeed

    /// Written messages without reply whose failure can still find its sender (LIM-78).
    package static var unansweredCapacity: Int { 1024 }

    /// - Parameters:
    ///   - capacity: requests of one app of one owner that may wait for a reply at once (LIM-7).
    ///   - capacityInAll: requests that owners share, beyond what one app may have (LIM-53).
    ///   - unansweredCapacity: written messages without reply whose failure can still find its sender (LIM-78); the
    ///     oldest is evicted. Those that wait to be written are bounded by their bytes (LIM-62).
    ///   - seed: secret, because peers choose the identifiers.
    package init(
        capacity: Int, capacityInAll: Int = .max, unansweredCapacity: Int = ForwardedRequests.unansweredCapacity,
        seed: HashSeed
    ) {
        self.capacity = capacity
        self.capacityInAll = capacityInAll
        self.unansweredCapacity = unansweredCapacity
        self.seed = seed
    }

    package var count: Int { requests.count }

    /// The requests that wait for a reply; messages without are not among them.
    package var waitingCount: Int { requests.count - unansweredCount - unwrittenCount }

    /// Adds a connection, which may ask and answer from now on.
    /// - Parameter user: the user of a host app's connection; nil for a link, which is an owner by itself.
    package mutating func enter(of user: UInt32? = nil) -> RequestParty { parties.insert(of: user) }

    /// Records a request when it is forwarded.
    package mutating func open(_ request: OpenRequest) -> Opening {
        let hash = seed.hash(request.id)
        let known = find(request.id, hash) { $0.origin == request.origin || $0.destination == request.destination }
        guard known == nil else { return .duplicate }
        let asker = parties.asker(request.app, of: request.origin)
        if request.wantsReply {
            guard parties.waiting(asker) < capacity,
                parties.hasShare(of: request.origin, least: capacity, in: capacityInAll)
            else { return .tooMany }
            parties.changeWaiting(asker, by: 1)
        } else if request.isWritten {
            forgetOldestUnanswered()
        }
        enter(RequestRecord(request: request, asker: asker, hash: hash))
        return .opened
    }

    /// Whether a request of this connection has this identifier.
    package func isOpen(_ id: UniqueIdentifier, from party: RequestParty) -> Bool {
        find(id, seed.hash(id)) { $0.origin == party } != nil
    }

    /// The request that a `reply` or `failure` from this connection answers; nil for a stray answer: late, repeated,
    /// from a connection that did not receive the request, or a `reply` to a message that wanted none.
    package mutating func answered(_ id: UniqueIdentifier, by party: RequestParty, isReply: Bool) -> OpenRequest? {
        guard let number = find(id, seed.hash(id), where: { $0.destination == party }) else { return nil }
        let request = requests[number].request
        guard request.wantsReply || !isReply else { return nil }
        forget(number)
        return request
    }

    /// A request that waited has been written to its destination's channel.
    package mutating func wrote(_ id: UniqueIdentifier, to party: RequestParty, endOffset: UInt64) {
        guard let number = find(id, seed.hash(id), where: { $0.destination == party }) else { return }
        let wasWritten = requests[number].request.isWritten
        requests[number].request.endOffset = endOffset
        guard !requests[number].request.wantsReply, !wasWritten else { return }
        unwrittenCount -= 1
        forgetOldestUnanswered()
        appendUnanswered(number)
    }

    /// Drops the requests whose deadline has passed; returns how many. If there may be one it looks at all requests:
    /// that costs less than an order of the deadlines, which each frame would keep.
    package mutating func expire(now: MonotonicTime) -> Int {
        guard earliestDeadline <= now else { return 0 }
        earliestDeadline = MonotonicTime(nanoseconds: .max)
        var expired = 0
        for party in parties.all {
            var next = parties[party].asked.head
            while let number = next {
                next = requests.next(number, .asked)
                let deadline = requests[number].request.deadline
                guard deadline <= now else {
                    earliestDeadline = min(earliestDeadline, deadline)
                    continue
                }
                forget(number)
                expired += 1
            }
        }
        releaseMemory()
        return expired
    }

    /// Removes a connection that has closed: drops what it asked and returns what it had to answer, oldest first. Its
    /// number may be reused.
    package mutating func left(_ party: RequestParty) -> [OpenRequest] {
        while let number = parties[party].asked.head { forget(number) }
        var owed: [OpenRequest] = []
        while let number = parties[party].owed.head {
            owed.append(requests[number].request)
            forget(number)
        }
        parties.remove(party)
        releaseMemory()
        return owed
    }

    /// Releases the memory that a flood needed.
    private mutating func releaseMemory() {
        guard requests.count == 0, requests.capacity > Self.retainedCapacity else { return }
        requests = RecordPool()
        byIdentifier = HashTable()
    }

    /// Records that a busy daemon may have at once without a new allocation.
    private static var retainedCapacity: Int { 16_384 }
}

extension ForwardedRequests {
    @inline(__always)
    private func find(_ id: UniqueIdentifier, _ hash: UInt32, where isMeant: (OpenRequest) -> Bool) -> Int? {
        byIdentifier.find(hash) { requests[$0].request.id == id && isMeant(requests[$0].request) }
    }

    private mutating func enter(_ record: RequestRecord) {
        let number = requests.insert(record)
        earliestDeadline = min(earliestDeadline, record.request.deadline)
        byIdentifier.insert(number, record.hash)
        requests.append(number, to: &parties[record.request.origin].asked, .asked)
        requests.append(number, to: &parties[record.request.destination].owed, .owed)
        guard !record.request.wantsReply else { return }
        if record.request.isWritten { appendUnanswered(number) } else { unwrittenCount += 1 }
    }

    private mutating func appendUnanswered(_ number: Int) {
        requests.append(number, to: &unanswered, .unanswered)
        unansweredCount += 1
    }

    private mutating func forget(_ number: Int) {
        let record = requests[number]
        byIdentifier.remove(number, record.hash)
        requests.remove(number, from: &parties[record.request.origin].asked, .asked)
        requests.remove(number, from: &parties[record.request.destination].owed, .owed)
        if record.request.wantsReply {
            parties.changeWaiting(record.asker, by: -1)
        } else if !record.request.isWritten {
            unwrittenCount -= 1
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

/// A connection that asks or answers, as the table numbers it: small, dense, and reused after the connection has
/// closed.
package struct RequestParty: Sendable, Hashable {
    private let number: UInt32

    package init(_ index: Int) { number = UInt32(index) }

    /// From 0.
    package var index: Int { Int(number) }
}

/// An application identifier, as its relay numbers it.
package struct ApplicationNumber: Sendable, Hashable {
    private let number: UInt32

    package init(_ index: Int) { number = UInt32(index) }

    /// From 0.
    package var index: Int { Int(number) }
}

package struct OpenRequest: Sendable, Equatable {
    package let id: UniqueIdentifier
    package let pairing: UniqueIdentifier
    /// When the caller stops waiting; the next sweep forgets the request, and until then an answer still passes.
    package let deadline: MonotonicTime
    /// Offset of the frame's end in the bytes written to the destination's channel; ``unwritten`` while it waits.
    package fileprivate(set) var endOffset: UInt64
    package let app: ApplicationNumber
    /// The connection that asked and gets the answer.
    package let origin: RequestParty
    /// The connection that received the request and may answer.
    package let destination: RequestParty
    /// False: only a failure may come back.
    package let wantsReply: Bool

    /// The offset of a request that waits to be written.
    package static var unwritten: UInt64 { .max }

    /// It does not wait for its turn at a link.
    package var isWritten: Bool { endOffset != Self.unwritten }

    package init(
        id: UniqueIdentifier, app: ApplicationNumber, pairing: UniqueIdentifier, origin: RequestParty,
        destination: RequestParty, wantsReply: Bool, deadline: MonotonicTime, endOffset: UInt64 = 0
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

/// A request with what the table needs to remove it without a search. Small numbers, so that a record fits two cache
/// lines and is moved without a call.
private struct RequestRecord: ChainedRecord {
    enum Links: Int {
        case asked, owed, unanswered
    }

    var request: OpenRequest
    private let askerNumber: Int32
    let hash: UInt32
    var links = InlineArray<3, ChainLink>(repeating: ChainLink())

    init(request: OpenRequest, asker: Int, hash: UInt32) {
        self.request = request
        askerNumber = Int32(asker)
        self.hash = hash
    }

    /// The app that asked, in the table's parties.
    var asker: Int { Int(askerNumber) }
}

/// The table's state of one connection.
private struct Party: Sendable {
    /// The requests that it sent.
    var asked = Chain()
    /// The requests that were delivered to it.
    var owed = Chain()
    /// The app that asked last. A host app's connection has only one.
    var lastAsker: Int32 = -1
    /// The owner of what it asks, inverted for a link: one word, because each idle connection has one.
    private let ownerWord: Int32

    init(owner: Int32, isLink: Bool) { ownerWord = isLink ? ~owner : owner }

    var isLink: Bool { ownerWord < 0 }
    var owner: Int32 { isLink ? ~ownerWord : ownerWord }
}

/// An app of a user, on all of its connections, or on a link.
private struct Asker: Sendable {
    let owner: Int32
    let app: ApplicationNumber
    var waiting = 0
    /// The next app of the same owner.
    let next: Int32

    /// Both numbers are ours, small and dense.
    static func hash(_ owner: Int32, _ app: ApplicationNumber) -> UInt32 {
        UInt32(truncatingIfNeeded: owner) &* 0x9E37_79B1 ^ UInt32(truncatingIfNeeded: app.index)
    }
}

/// All connections of a user, or one link.
private struct RequestOwner: Sendable {
    /// The requests that it waits for.
    var waiting: Int32 = 0
    /// The first of its apps; the others follow by `Asker.next`. Those of a user stay: LIM-11 bounds them.
    var firstAsker: Int32 = -1
}

/// The connections of a table, by number: the chains of what each has asked and owes, and how many replies each app
/// waits for. A link carries the requests of many apps, and one app must not use up the limit of the others (LIM-7).
private struct PartyTable: ~Copyable, Sendable {
    private var parties = RecordPool<Party>()
    private var askers = RecordPool<Asker>()
    private var byApp = HashTable()
    private var owners = RecordPool<RequestOwner>()
    private var users: [UInt32: Int32] = [:]
    private var waitingOwners = 0
    private var waitingInAll = 0

    /// All connections, and numbers that are free.
    var all: some Sequence<RequestParty> { (0..<parties.capacity).lazy.map { RequestParty($0) } }

    subscript(party: RequestParty) -> Party {
        get { parties[party.index] }
        _modify { yield &parties[party.index] }
    }

    mutating func insert(of user: UInt32?) -> RequestParty {
        let party = Party(owner: owner(user), isLink: user == nil)
        return RequestParty(parties.insert(party))
    }

    private mutating func owner(_ user: UInt32?) -> Int32 {
        if let user, let known = users[user] { return known }
        let number = Int32(truncatingIfNeeded: owners.insert(RequestOwner()))
        if let user { users[user] = number }
        return number
    }

    /// Whether the owner of a connection may wait for one more reply: it has fewer than an app may have, or less than
    /// its share of what the others leave (LIM-47).
    func hasShare(of party: RequestParty, least: Int, in total: Int) -> Bool {
        let own = Int(owners[Int(parties[party.index].owner)].waiting)
        return own < least || own < (total - (waitingInAll - own)) / (waitingOwners + 1)
    }

    /// Removes a connection that has no requests left.
    mutating func remove(_ party: RequestParty) {
        if parties[party.index].isLink { remove(owner: parties[party.index].owner) }
        parties.remove(party.index)
    }

    private mutating func remove(owner: Int32) {
        var next = owners[Int(owner)].firstAsker
        while next >= 0 {
            let asker = askers[Int(next)]
            byApp.remove(Int(next), Asker.hash(owner, asker.app))
            askers.remove(Int(next))
            next = asker.next
        }
        owners.remove(Int(owner))
    }

    /// The number of an app of a connection's owner.
    mutating func asker(_ app: ApplicationNumber, of party: RequestParty) -> Int {
        let last = Int(parties[party.index].lastAsker)
        if last >= 0, askers[last].app == app { return last }
        let owner = parties[party.index].owner
        let hash = Asker.hash(owner, app)
        let found =
            byApp.find(hash) { askers[$0].owner == owner && askers[$0].app == app } ?? insert(app, owner, hash)
        parties[party.index].lastAsker = Int32(truncatingIfNeeded: found)
        return found
    }

    /// How many replies the app waits for.
    func waiting(_ asker: Int) -> Int { askers[asker].waiting }

    mutating func changeWaiting(_ asker: Int, by difference: Int) {
        askers[asker].waiting += difference
        let owner = Int(askers[asker].owner)
        let before = owners[owner].waiting
        owners[owner].waiting = before + Int32(truncatingIfNeeded: difference)
        waitingInAll += difference
        if before == 0 { waitingOwners += 1 } else if owners[owner].waiting == 0 { waitingOwners -= 1 }
    }

    private mutating func insert(_ app: ApplicationNumber, _ owner: Int32, _ hash: UInt32) -> Int {
        let number = askers.insert(Asker(owner: owner, app: app, next: owners[Int(owner)].firstAsker))
        byApp.insert(number, hash)
        owners[Int(owner)].firstAsker = Int32(truncatingIfNeeded: number)
        return number
    }
}
