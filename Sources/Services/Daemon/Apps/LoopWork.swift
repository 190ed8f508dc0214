// Work of users on the loop: control commands, and what apps have the daemon judge. A piece begins at once where the
// turn of the loop has had none, else in a later turn, one user's after another's (SES-93).

import TandemOperations
import TandemReactor

/// The work of one loop that waits for its turn; confined to it.
final class LoopWork {
    /// Pieces that begin in one turn of the loop (LIM-158).
    private static var pieces: Int { 1 }
    /// Bytes of requests that wait, of all users (LIM-159).
    private static var bytes: Int { 4 << 20 }

    private let scheduler: any Scheduler
    private let operators: Set<UInt32>
    private var turns = WorkTurns<UInt32?, () -> Void>(limit: LoopWork.pieces)
    private var held: SharedResource<UInt32>
    private var isNextTurnDue = false

    /// - Parameter operators: users whose requests may wait up to all that the others' leave (LIM-47).
    init(on scheduler: any Scheduler, operators: Set<UInt32> = []) {
        (self.scheduler, self.operators) = (scheduler, operators)
        held = SharedResource(total: Self.bytes, privileged: operators)
    }

    /// Whether a piece may begin now; if so, it is the caller's to do, and else it waits by ``wait(of:_:)``.
    func beginsNow() -> Bool {
        guard turns.beginsNow() else { return false }
        awaitNextTurn()
        return true
    }

    /// Does a piece in a later turn.
    /// - Parameters:
    ///   - user: nil for work of this device's operators, and for what goes on whoever has asked for it.
    ///   - isControl: a control request; those alternate with the user's other work (SES-93).
    func wait(of user: UInt32?, isControl: Bool = false, _ piece: @escaping () -> Void) {
        turns.append(piece, of: user, isControl: isControl)
        awaitNextTurn()
    }

    /// Does a piece in a later turn, for which so many bytes of a user's request are held until then.
    /// - Returns: false if the user's requests that wait already leave no room; the first one has room in any case, and
    ///   so has one that holds no bytes.
    func wait(
        of user: UInt32, holding bytes: Int, isControl: Bool = false, _ piece: @escaping () -> Void
    ) -> Bool {
        if bytes == 0 || held.used(by: user) == 0 {
            held.record(bytes, of: user)
        } else if !held.charge(bytes, to: user) {
            return false
        }
        wait(of: user, isControl: isControl) { [self] in
            held.release(bytes, of: user)
            piece()
        }
        return true
    }

    /// No connection is left that could want what waits. Pieces hold their connections, and through them this queue: a
    /// loop that stops would keep them for ever.
    func removeAll() {
        // The pieces that are dropped here end after the access to the queue.
        var dropped = WorkTurns<UInt32?, () -> Void>(limit: Self.pieces)
        swap(&dropped, &turns)
        held = SharedResource(total: Self.bytes, privileged: operators)
    }

    /// Waits for a later turn, in which work that is under way goes on.
    /// - Parameter user: as in ``wait(of:_:)``.
    func nextPiece(of user: UInt32?) async {
        // Unsafe, because a scheduler that stops drops what waits: no misuse to report.
        await withUnsafeContinuation { continuation in wait(of: user) { continuation.resume() } }
    }

    /// The timer is set at the end of the turn, and so is due in the next one, after the events of that.
    private func awaitNextTurn() {
        guard !isNextTurnDue else { return }
        isNextTurnDue = true
        scheduler.atEndOfTurn { [self] in scheduler.schedule(after: .zero) { [self] in nextTurn() } }
    }

    private func nextTurn() {
        isNextTurnDue = false
        let due = turns.nextTurn()
        guard !due.isEmpty else { return }
        awaitNextTurn()
        for piece in due { piece() }
    }
}
