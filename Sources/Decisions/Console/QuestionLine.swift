// Order of questions to the daemon: those of a request one after the other, and requests about one secondary, too,
// since its link has one place. The own device's requests do not wait for each other.

import TandemPropertyList

/// The questions that wait, by device; confined to its owner's thread.
package final class QuestionLine {
    /// Asks one question; the answer may come at any later time, once.
    package typealias Ask = (ConsoleQuestion, @escaping (ConsoleReply) -> Void) -> Void
    private typealias Request = (questions: [ConsoleQuestion], completion: ([ConsoleReply]) -> Void)

    private let ask: Ask
    /// The requests about each secondary; the first one is under way.
    private var waiting: [[UInt8]: [Request]] = [:]

    /// - Parameter ask: sends a question.
    package init(_ ask: @escaping Ask) { self.ask = ask }

    /// Asks all when their turn comes; calls back with their answers in their order.
    package func ask(_ questions: [ConsoleQuestion], _ completion: @escaping ([ConsoleReply]) -> Void) {
        guard let device = questions.lazy.compactMap({ $0.body["pairing"]?.dataValue }).first else {
            return ask(questions[...], [], completion)
        }
        let isFirst = waiting[device] == nil
        waiting[device, default: []].append((questions, completion))
        if isFirst { begin(device) }
    }

    private func begin(_ device: [UInt8]) {
        guard let request = waiting[device]?.first else { return waiting[device] = nil }
        ask(request.questions[...], []) { [self] replies in
            waiting[device]?.removeFirst()
            begin(device)
            request.completion(replies)
        }
    }

    private func ask(
        _ questions: ArraySlice<ConsoleQuestion>, _ replies: [ConsoleReply],
        _ completion: @escaping ([ConsoleReply]) -> Void
    ) {
        guard let question = questions.first else { return completion(replies) }
        ask(question) { [self] reply in ask(questions.dropFirst(), replies + [reply], completion) }
    }
}
