// Order of questions to the daemon: those of a request one after the other, and requests about one secondary, too,
// since its link has one place. Requests about the own device do not wait for each other, but for those of their
// questions that the daemon answers from the disk: it takes only some of one user at once.

import TandemOperations
import TandemPropertyList
import TandemWire

/// The questions that wait, by device; confined to its owner's thread.
package final class QuestionLine {
    /// Asks one question; the answer may come at any later time, once.
    package typealias Ask = (ConsoleQuestion, @escaping (ConsoleReply) -> Void) -> Void
    private typealias Request = (questions: [ConsoleQuestion], completion: ([ConsoleReply]) -> Void)

    /// Questions about the own device's settings at once: half of LIM-102, since other programs ask as the same user.
    private static let readingLimit = 2

    private let ask: Ask
    /// The requests about each secondary; the first one is under way.
    private var waiting: [[UInt8]: [Request]] = [:]
    /// The questions that read settings of the own device: the number of those under way, and the others.
    private var reading = 0
    private var readers: [(question: ConsoleQuestion, completion: (ConsoleReply) -> Void)] = []

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
        let next = { [self] (reply: ConsoleReply) in
            if case .failure(.silent(_, _)) = reply, question.body["pairing"] == nil {
                // A daemon that stalls would keep the request as long with each of the others.
                return completion(replies + [ConsoleReply](repeating: reply, count: questions.count))
            }
            ask(questions.dropFirst(), replies + [reply], completion)
        }
        if question.isReading { read(question, next) } else { ask(question, next) }
    }

    private func read(_ question: ConsoleQuestion, _ completion: @escaping (ConsoleReply) -> Void) {
        guard reading < Self.readingLimit else { return readers.append((question, completion)) }
        reading += 1
        ask(question) { [self] reply in
            reading -= 1
            if case .failure(.silent(_, _)) = reply {
                // They would wait as long, one after the other.
                let others = readers
                readers = []
                for other in others { other.completion(reply) }
            } else if !readers.isEmpty {
                let first = readers.removeFirst()
                read(first.question, first.completion)
            }
            completion(reply)
        }
    }
}

extension ConsoleQuestion {
    /// Whether it is about settings of the own device, and the daemon answers it from the disk without asking the app.
    fileprivate var isReading: Bool {
        guard body["pairing"] == nil else { return false }
        switch command {
        case .settingsSchema, .settingsGet, .settingsReset: return true
        default: return false
        }
    }
}
