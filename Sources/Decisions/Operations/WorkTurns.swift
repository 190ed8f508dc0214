// Turns of owners at the loop, for work that is more than a look into a table: only so many pieces begin in one turn of
// the loop, and the next ones by owner, so that neither the loop's other events nor another owner's work stand behind
// all that one owner has asked for. The callers bound the cost of a piece, and the number of those that wait.

/// Pieces of work that begin in this turn of the loop, or wait for a later one.
package struct WorkTurns<Owner: Hashable & Sendable, Piece>: ~Copyable {
    /// As many owners as wait have the turn one after the other: a piece is all that each takes of it.
    private var waiting = TurnQueue<Owner, Piece>(total: .max, turn: 1)
    private var begun = 0
    private let limit: Int

    /// - Parameter limit: pieces that begin in one turn.
    package init(limit: Int) { self.limit = limit }

    /// Whether one more piece may begin at once; if so, this turn has it. Otherwise it waits: ``append(_:of:)``.
    package mutating func beginsNow() -> Bool {
        guard begun < limit else { return false }
        begun += 1
        return true
    }

    package mutating func append(_ piece: Piece, of owner: Owner) { waiting.append(piece, size: 1, of: owner) }

    /// The next turn, after one in which pieces have begun.
    /// - Returns: the pieces that begin in it.
    package mutating func nextTurn() -> [Piece] {
        var due: [Piece] = []
        while due.count < limit, let next = waiting.next() { due.append(next.element) }
        begun = due.count
        return due
    }
}
