// Turns of the configurations that apps bring: one is judged at a time, and the next one in a later turn of the loop.
// The judging is a step of the committed state: those that queue there while a commit is under way run back to back at
// its end, and a turn of their beginning alone would bound nothing (SES-93).

import TandemOperations

/// The judgements of brought configurations; confined to the loop.
final class JudgementTurns {
    private let parts: LoopWork
    private var waiting = TurnQueue<UInt32?, UnsafeContinuation<Void, Never>>(total: .max, turn: 1)
    private var isUnderWay = false

    init(_ parts: LoopWork) { self.parts = parts }

    /// Waits until no other judgement is under way, users going round; ``end()`` follows.
    func begin(of user: UInt32?) async {
        guard isUnderWay else { return isUnderWay = true }
        // Unsafe, because a scheduler that stops drops what waits: no misuse to report.
        await withUnsafeContinuation { waiting.append($0, size: 1, of: user) }
    }

    /// The judgement is over; the next one begins in a later turn.
    func end() {
        parts.wait(of: nil) { [weak self] in
            guard let self else { return }
            if let next = waiting.next() { next.element.resume() } else { isUnderWay = false }
        }
    }
}
