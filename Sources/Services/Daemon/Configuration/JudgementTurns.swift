// Turns of what users have the receiver judge: one judgement at a time, and the next one in a later turn of the loop.
// The judging is a step of the committed state: those that queue there while a commit is under way run back to back at
// its end, and a turn of their beginning alone would bound nothing (SES-93).

import TandemOperations
import TandemSignedConfiguration

/// The judgements that users cause; confined to the loop.
final class JudgementTurns {
    private let parts: LoopWork
    private var waiting = TurnQueue<UInt32?, UnsafeContinuation<Void, Never>>(total: .max, turn: 1)
    /// The anchors that wait, the last one of each app: an app may come and go faster than its turns.
    private var anchors: [KeySubject: String] = [:]
    private var isUnderWay = false

    init(_ parts: LoopWork) { self.parts = parts }

    /// Waits until no other judgement is under way, users going round; ``end()`` follows.
    func begin(of user: UInt32?) async {
        guard isUnderWay else { return isUnderWay = true }
        // Unsafe, because a scheduler that stops drops what waits: no misuse to report.
        await withUnsafeContinuation { waiting.append($0, size: 1, of: user) }
    }

    /// The same for an anchor that an app has registered.
    /// - Returns: the anchor to judge, and ``end()`` follows; nil if an earlier call that still waits will have it.
    func begin(_ anchor: String, of subject: KeySubject, by user: UInt32?) async -> String? {
        guard anchors.updateValue(anchor, forKey: subject) == nil else { return nil }
        await begin(of: user)
        return anchors.removeValue(forKey: subject)
    }

    /// The judgement is over; the next one begins in a later turn.
    func end() {
        parts.wait(of: nil) { [weak self] in
            guard let self else { return }
            if let next = waiting.next() { next.element.resume() } else { isUnderWay = false }
        }
    }
}
