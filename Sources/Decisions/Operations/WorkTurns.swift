// Turns of owners at the loop, for work that is more than a look into a table: only so many pieces begin in one turn of
// the loop, and the next ones by owner, so that neither the loop's other events nor another owner's work stand behind
// all that one owner has asked for. The callers bound the cost of a piece, and the number of those that wait.

/// Pieces of work that begin in this turn of the loop, or wait for a later one.
package struct WorkTurns<Owner: Hashable & Sendable, Piece>: ~Copyable {
    /// Pieces of one owner. Its control requests alternate with its other work: hundreds of registrations would delay
    /// its `status`.
    private struct OwnPieces {
        /// Each with the next one last.
        private var (control, others): ([Piece], [Piece]) = ([], [])
        private var wasControl = false

        var isEmpty: Bool { control.isEmpty && others.isEmpty }

        mutating func append(_ piece: Piece, isControl: Bool) {
            if isControl { control.insert(piece, at: 0) } else { others.insert(piece, at: 0) }
        }

        mutating func next() -> Piece? {
            wasControl = others.isEmpty || !control.isEmpty && !wasControl
            return wasControl ? control.popLast() : others.popLast()
        }
    }

    /// As many owners as wait have the turn one after the other: a piece is all that each takes of it.
    private var order = TurnQueue<Owner, Void>(total: .max, turn: 1)
    private var waiting: [Owner: OwnPieces] = [:]
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

    /// - Parameter isControl: a control request; those alternate with the owner's other work.
    package mutating func append(_ piece: Piece, of owner: Owner, isControl: Bool = false) {
        order.append((), size: 1, of: owner)
        waiting[owner, default: OwnPieces()].append(piece, isControl: isControl)
    }

    /// The next turn, after one in which pieces have begun.
    /// - Returns: the pieces that begin in it.
    package mutating func nextTurn() -> [Piece] {
        var due: [Piece] = []
        while due.count < limit, let owner = order.next()?.owner, let piece = waiting[owner]?.next() {
            if waiting[owner]?.isEmpty == true { waiting[owner] = nil }
            due.append(piece)
        }
        begun = due.count
        return due
    }
}
