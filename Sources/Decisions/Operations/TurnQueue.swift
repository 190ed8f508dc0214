// Turns of owners in front of something narrow: each in its turn takes about as many bytes as every other, so that an
// owner with much that waits delays the others by one turn and not by all of it. The rule of shares (LIM-47) bounds the
// elements that wait. It is surplus round robin: an element that is larger than the rest of a turn leaves, and its
// owner passes the turns that it has used up.

/// Elements that wait for their owners' turns.
package struct TurnQueue<Owner: Hashable & Sendable, Element>: ~Copyable {
    private struct Turns {
        /// Nil where it was taken, so that nothing is kept beyond its turn.
        private var waiting: [(element: Element, size: Int)?] = []
        private var taken = 0
        /// Bytes that are left of the owner's turn; not above zero after its end.
        private var credit: Int

        init(credit: Int) { self.credit = credit }

        mutating func append(_ element: Element, _ size: Int) { waiting.append((element, size)) }

        /// False at the end of the owner's turn: the next one begins behind the others.
        mutating func continuesTurn(orAdds turn: Int) -> Bool {
            if credit > 0 { return true }
            credit += turn
            return false
        }

        /// Nil if nothing waits.
        mutating func take() -> (element: Element, size: Int)? {
            guard taken < waiting.count, let next = waiting[taken] else { return nil }
            waiting[taken] = nil
            taken += 1
            if taken > 64, taken > waiting.count / 2 {
                waiting.removeFirst(taken)
                taken = 0
            }
            credit -= next.size
            return next
        }
    }

    private var turns: [Owner: Turns] = [:]
    /// The owners with something that waits or with turns to pass; the first one has the turn.
    private var order: [Owner] = []
    private var shares: SharedResource<Owner>
    private let turn: Int

    /// - Parameters:
    ///   - total: bytes of all owners, which they share.
    ///   - turn: bytes of one turn.
    package init(total: Int, turn: Int) {
        shares = SharedResource(total: total)
        self.turn = turn
    }

    package var isEmpty: Bool { shares.used == 0 }

    package var byteCount: Int { shares.used }

    package func byteCount(of owner: Owner) -> Int { shares.used(by: owner) }

    /// Whether an owner's share has room for one more element. There is always room for the first.
    package func hasRoom(for size: Int, of owner: Owner) -> Bool {
        let used = shares.used(by: owner)
        return used == 0 || used + size <= shares.limit(of: owner)
    }

    package mutating func append(_ element: Element, size: Int, of owner: Owner) {
        precondition(size > 0, "an element takes room")
        shares.record(size, of: owner)
        if turns[owner] == nil {
            turns[owner] = Turns(credit: turn)
            order.append(owner)
        }
        turns[owner]?.append(element, size)
    }

    package mutating func next() -> (owner: Owner, element: Element)? {
        guard !isEmpty else { return nil }
        while let owner = order.first {
            guard turns[owner]?.continuesTurn(orAdds: turn) == true else {
                order.append(order.removeFirst())
                continue
            }
            // An owner of which nothing waits stays for as long as it has to pass turns.
            guard let (element, size) = turns[owner]?.take() else {
                turns[owner] = nil
                order.removeFirst()
                continue
            }
            shares.release(size, of: owner)
            return (owner, element)
        }
        preconditionFailure("an owner of which something waits has a turn")
    }
}
