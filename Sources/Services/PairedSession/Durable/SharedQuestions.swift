// Questions to the daemon that several calls share, because it answers few lists of one connection at once (LIM-24). A
// call that comes while its question is under way shares the next one: that is asked after all that the caller has
// submitted, so the answer includes it.

import TandemWire

/// The open calls for answers by key; confined to the session's scheduler.
final class SharedQuestions<Key: Hashable, Answer> {
    typealias Ask = (_ part: @escaping (Answer) -> Void, _ ended: @escaping Completion<Answer>) -> Void

    private struct Call {
        let part: (Answer) -> Void
        let ended: Completion<Answer>
    }

    private let atOnce: Int
    /// The calls whose question is under way, by its key.
    private var underWay: [Key: [Call]] = [:]
    /// Those that wait for their question, which the last of them asks.
    private var waiting: [Key: (calls: [Call], ask: Ask)] = [:]
    /// The keys that wait, in their order.
    private var order: [Key] = []
    private var count = 0

    /// - Parameter atOnce: questions under way, at most.
    init(atOnce: Int) { self.atOnce = atOnce }

    /// Asks, or waits for the turn; 7001 `too-many-requests` beyond 1,024 open calls.
    /// - Parameters:
    ///   - part: called for each part of an answer that comes in several, at once when it has come.
    ///   - completion: called once, with the whole.
    ///   - ask: asks the daemon, and calls `ended` once, behind each `part`.
    func ask(
        _ key: Key, part: @escaping (Answer) -> Void = { _ in }, then completion: @escaping Completion<Answer>,
        by ask: @escaping Ask
    ) {
        guard count < Limits.openRequests else { return completion(.failure(.tooManyRequests(nil))) }
        count += 1
        if waiting[key] == nil { order.append(key) }
        waiting[key, default: ([], ask)].calls.append(Call(part: part, ended: completion))
        waiting[key]?.ask = ask
        begin()
    }

    private func begin() {
        while underWay.count < atOnce, let index = order.firstIndex(where: { underWay[$0] == nil }) {
            let key = order.remove(at: index)
            guard let (calls, ask) = waiting.removeValue(forKey: key) else { continue }
            underWay[key] = calls
            ask({ [weak self] in self?.came(key, $0) }, { [weak self] in self?.ended(key, $0) })
        }
    }

    private func came(_ key: Key, _ part: Answer) {
        for call in underWay[key] ?? [] { call.part(part) }
    }

    private func ended(_ key: Key, _ result: Result<Answer, SessionError>) {
        var calls = underWay.removeValue(forKey: key) ?? []
        // A daemon that does not answer is not asked again for those that have waited for it meanwhile.
        if case .failure = result, let behind = waiting.removeValue(forKey: key) {
            order.removeAll { $0 == key }
            calls += behind.calls
        }
        count -= calls.count
        for call in calls { call.ended(result) }
        begin()
    }
}
