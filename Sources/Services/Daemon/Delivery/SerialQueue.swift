// Effects or frames of a journaled queue in the order of their commits: one after the other, and one that finishes
// later holds up those behind it.

/// Elements that run in their order; confined to its loop.
final class SerialQueue<Element> {
    private let run: (Element, @escaping () -> Void) -> Void
    /// The elements, and how many of them are done: removing each from the front would move all the rest each time.
    private var elements: [Element] = []
    private var done = 0
    private var isRunning = false
    /// The element that began last is done, or is waited for.
    private var isDone = false
    private var isWaiting = false
    /// One closure for all elements: most are done at once, and a closure for each would cost more than they do.
    private lazy var finished: () -> Void = { [weak self] in self?.elementIsDone() }

    /// - Parameter run: runs one element, then calls back.
    init(run: @escaping (Element, @escaping () -> Void) -> Void) { self.run = run }

    var count: Int { elements.count - done }

    func append(_ new: [Element]) {
        guard !new.isEmpty else { return }
        // Mostly no element waits: the queue keeps the new array itself.
        if elements.isEmpty { elements = new } else { elements += new }
        if !isRunning { runAll() }
    }

    /// Drops what has not begun.
    func removeAll() {
        elements = []
        done = 0
    }

    private func runAll() {
        isRunning = true
        while done < elements.count {
            isDone = false
            run(next(), finished)
            guard isDone else {
                isWaiting = true
                return
            }
        }
        removeAll()
        isRunning = false
    }

    private func elementIsDone() {
        isDone = true
        guard isWaiting else { return }
        isWaiting = false
        runAll()
    }

    /// Elements that are done are released when they are the greater part.
    private func next() -> Element {
        if done > 64, done > elements.count / 2 {
            elements.removeFirst(done)
            done = 0
        }
        defer { done += 1 }
        return elements[done]
    }
}
