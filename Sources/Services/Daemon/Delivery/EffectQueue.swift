// What is to be done after commits, in their order: one effect after the other, and one that finishes later holds up those
// behind it.

/// The effects of one lane; confined to its loop.
final class EffectQueue<Effect> {
    private enum Entry {
        case effect(Effect)
        /// Whoever wants to be behind the effects before it.
        case word(() -> Void)
    }

    private let run: (Effect, @escaping () -> Void) -> Void
    /// What is to be done, and how much of it was: taking from the front would move all the rest each time.
    private var entries: [Entry] = []
    private var done = 0
    private var isRunning = false

    /// - Parameter run: carries out one effect, then calls back.
    init(run: @escaping (Effect, @escaping () -> Void) -> Void) { self.run = run }

    func append(_ new: [Effect]) {
        entries += new.map { .effect($0) }
        if !isRunning { runAll() }
    }

    /// Calls back when the effects before it are done.
    func append(_ word: @escaping () -> Void) {
        entries.append(.word(word))
        if !isRunning { runAll() }
    }

    /// Drops what was not begun.
    func removeAll() {
        entries = []
        done = 0
    }

    /// Runs effects one after another; one that finishes later goes on from there.
    private func runAll() {
        isRunning = true
        while done < entries.count {
            var isDone = false
            var isWaiting = false
            let finished: () -> Void = { [weak self] in
                isDone = true
                if isWaiting { self?.runAll() }
            }
            switch next() {
            case .effect(let effect): run(effect, finished)
            case .word(let word):
                word()
                finished()
            }
            guard isDone else {
                isWaiting = true
                return
            }
        }
        removeAll()
        isRunning = false
    }

    /// Those that are done are let go when they are the greater part.
    private func next() -> Entry {
        if done > 64, done > entries.count / 2 {
            entries.removeFirst(done)
            done = 0
        }
        defer { done += 1 }
        return entries[done]
    }
}
