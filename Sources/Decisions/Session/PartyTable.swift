// The connections of a ledger, by number: the chains of what each has asked and owes, and how many replies each of its
// apps waits for. A link carries the requests of many apps, and one must not use up what the others may ask (LIM-7).

/// What the ledger keeps of one connection.
struct Party: Sendable {
    /// The requests that it asked.
    var asked = Chain()
    /// The requests that were delivered to it.
    var owed = Chain()
    /// The first of its apps; the others follow by `Asker.next`.
    fileprivate var firstAsker: Int32 = -1
}

/// An app on a connection.
private struct Asker: Sendable {
    let party: RequestParty
    let app: ApplicationNumber
    var waiting = 0
    /// The next app of the same connection.
    let next: Int32

    /// Both numbers are ours, small and dense.
    static func hash(_ party: RequestParty, _ app: ApplicationNumber) -> UInt32 {
        UInt32(truncatingIfNeeded: party.index) &* 0x9E37_79B1 ^ UInt32(truncatingIfNeeded: app.index)
    }
}

struct PartyTable: Sendable {
    private var parties: [Party] = []
    private var free: [Int32] = []
    private var askers: [Asker] = []
    private var freeAskers: [Int32] = []
    private var byApp = HashTable()

    subscript(party: RequestParty) -> Party {
        get { parties[party.index] }
        _modify { yield &parties[party.index] }
    }

    mutating func insert() -> RequestParty {
        guard let number = free.popLast() else {
            parties.append(Party())
            return RequestParty(parties.count - 1)
        }
        parties[Int(number)] = Party()
        return RequestParty(Int(number))
    }

    /// Removes a connection that has no requests any more.
    mutating func remove(_ party: RequestParty) {
        var next = parties[party.index].firstAsker
        while next >= 0 {
            byApp.remove(Int(next), Asker.hash(party, askers[Int(next)].app))
            freeAskers.append(next)
            next = askers[Int(next)].next
        }
        free.append(Int32(truncatingIfNeeded: party.index))
    }

    /// The number of an app on a connection. A host app's connection has only one.
    mutating func asker(_ app: ApplicationNumber, of party: RequestParty) -> Int {
        let first = Int(parties[party.index].firstAsker)
        if first >= 0, askers[first].app == app { return first }
        let hash = Asker.hash(party, app)
        return byApp.find(hash) { askers[$0].party == party && askers[$0].app == app } ?? insert(app, party, hash)
    }

    /// How many replies the app waits for.
    func waiting(_ asker: Int) -> Int { askers[asker].waiting }

    mutating func changeWaiting(_ asker: Int, by difference: Int) { askers[asker].waiting += difference }

    private mutating func insert(_ app: ApplicationNumber, _ party: RequestParty, _ hash: UInt32) -> Int {
        let asker = Asker(party: party, app: app, next: parties[party.index].firstAsker)
        let number: Int
        if let free = freeAskers.popLast() {
            number = Int(free)
            askers[number] = asker
        } else {
            number = askers.count
            askers.append(asker)
        }
        byApp.insert(number, hash)
        parties[party.index].firstAsker = Int32(truncatingIfNeeded: number)
        return number
    }
}
