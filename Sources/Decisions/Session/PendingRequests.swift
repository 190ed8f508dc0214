// Library's side of open requests (SES-9): the requests of one app that wait for their reply. Its pair is
// ``ForwardedRequests``, the same for the daemon between the apps. The token of a request (a continuation or a closure)
// leaves the table exactly once, whichever comes first: answer, deadline, loss of the daemon, end of the session. A
// later answer finds nothing, and the library counts it. Every request has a deadline.

package import TandemBase

/// The open requests of one app by identifier, each with the one token that completes it.
package struct PendingRequests<Token>: ~Copyable {
    fileprivate struct Entry {
        let token: Token
        let pairing: UniqueIdentifier
        let deadline: MonotonicTime
        let followsActive: Bool
    }

    private var entries: [UniqueIdentifier: Entry] = [:]
    private let capacity: Int

    /// - Parameter capacity: most requests at once (LIM-7).
    package init(capacity: Int) { self.capacity = capacity }

    package var count: Int { entries.count }

    /// When the request ends at the latest; nil if it does not wait.
    package func deadline(of id: UniqueIdentifier) -> MonotonicTime? { entries[id]?.deadline }

    /// The earliest deadline of an open request; O(count).
    package var nextDeadline: MonotonicTime? { entries.values.lazy.map(\.deadline).min() }

    /// Adds a request; false, and the token stays with the caller, if the table is full or the identifier is open.
    /// - Parameter followsActive: asked by the default session: a switch ends it.
    package mutating func open(
        _ id: UniqueIdentifier, to pairing: UniqueIdentifier, deadline: MonotonicTime, followsActive: Bool = true,
        token: Token
    ) -> Bool {
        guard entries.count < capacity, entries[id] == nil else { return false }
        entries[id] = Entry(token: token, pairing: pairing, deadline: deadline, followsActive: followsActive)
        return true
    }

    /// The token of the request that this answers; nil, for the caller to count, if no such request to this pairing is
    /// open.
    package mutating func answered(_ id: UniqueIdentifier, from pairing: UniqueIdentifier) -> Token? {
        guard let entry = entries[id], entry.pairing == pairing else { return nil }
        entries[id] = nil
        return entry.token
    }

    /// Abandons a request, for example because its task was cancelled; nil if it has ended.
    package mutating func abandoned(_ id: UniqueIdentifier) -> Token? { entries.removeValue(forKey: id)?.token }

    package mutating func expired(now: MonotonicTime) -> [Token] { remove { $0.deadline <= now } }

    /// The tokens of the default session's requests to a pairing that was switched away from.
    package mutating func left(pairing: UniqueIdentifier) -> [Token] {
        remove { $0.pairing == pairing && $0.followsActive }
    }

    /// The tokens of all requests to one pairing: it was removed.
    package mutating func closed(pairing: UniqueIdentifier) -> [Token] { remove { $0.pairing == pairing } }

    /// All tokens: the daemon is gone or the session ends.
    package mutating func closedAll() -> [Token] { remove { _ in true } }

    private mutating func remove(where condition: (Entry) -> Bool) -> [Token] {
        let gone = entries.filter { condition($0.value) }
        for id in gone.keys { entries[id] = nil }
        return gone.values.map(\.token)
    }
}

extension PendingRequests.Entry: Sendable where Token: Sendable {}
extension PendingRequests: Sendable where Token: Sendable {}
