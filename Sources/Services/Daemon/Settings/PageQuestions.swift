// Questions to running apps about their pages (PAG-24): each is one reserved session message with a deadline. An asker
// has one question at a time open at an app, and few that wait; an app that does not answer costs its asker the time of
// one question, and nobody else anything.

import TandemBase
import TandemPages
import TandemPropertyList
import TandemReactor
import TandemWire

/// Why an app has not answered a question.
enum PageQuestionFailure: Error, Equatable {
    case notRunning
    /// It runs, and does not answer questions of this kind.
    case notAsked
    /// The asker has as many questions under way as one may have, or this one waited for them until its time was over
    /// or the app had another owner; the app has not seen it.
    case busy
    /// It has not answered in time, or has ended.
    case noAnswer
    /// Its answer does not read.
    case wrongAnswer
    /// It has answered a failure, with these words.
    case failed(String)
}

/// The open questions of one daemon; confined to its loop.
final class PageQuestions {
    /// The device around it.
    struct Surroundings {
        /// The owner of a connected app, and the kinds of questions that it answers; nil for one that is not connected.
        let connected: (ApplicationIdentifier) -> (user: UInt32, kinds: [String])?
        /// Offers the body to the app as a reserved message.
        let offer:
            (
                _ body: [UInt8], ApplicationIdentifier, _ deadline: Duration,
                _ completion: @escaping (OfferOutcome) -> Void
            ) -> Void
    }

    private struct Asker: Hashable {
        let app: ApplicationIdentifier
        let payer: SettingsPayer
    }

    /// Bytes of an app's words about its failure.
    private static let reasonLimit = 200

    private let device: Surroundings
    private let scheduler: any Scheduler
    /// The first one of an asker is asked, and the others wait for their turns.
    private var turns: [Asker: [Expectation<Void>]] = [:]

    init(to device: Surroundings, scheduler: any Scheduler) {
        self.device = device
        self.scheduler = scheduler
    }

    /// Whether an app runs and answers this kind of question.
    func isAnswered(_ kind: PageQuestion.Kind, by app: ApplicationIdentifier) -> Bool {
        device.connected(app)?.kinds.contains(kind.rawValue) == true
    }

    /// The owner of an app that runs and answers this kind of question.
    private func owner(
        of app: ApplicationIdentifier, answering kind: PageQuestion.Kind
    ) throws(PageQuestionFailure) -> UInt32 {
        guard let connected = device.connected(app) else { throw .notRunning }
        guard connected.kinds.contains(kind.rawValue) else { throw .notAsked }
        return connected.user
    }

    /// Asks an app; returns the body of its answer. The question's time counts from now on.
    /// - Parameters:
    ///   - person: the one who presses or edits, whom the app is to know; nil for a question about a page.
    ///   - isStillAllowed: called when the question's turn has come, before the app sees it.
    func ask(
        _ question: PageQuestion, of app: ApplicationIdentifier, for payer: SettingsPayer,
        by person: PagePerson? = nil, isStillAllowed: () -> Bool = { true }
    ) async throws(PageQuestionFailure) -> PropertyListDictionary {
        let owner = try owner(of: app, answering: question.kind)
        let end = scheduler.now + question.timeLimit
        let (asker, turn) = (Asker(app: app, payer: payer), Expectation<Void>(on: scheduler))
        guard turns[asker, default: []].count <= PageQuestion.waitingLimit else { throw .busy }
        turns[asker, default: []].append(turn)
        defer { leave(asker, turn) }
        let hasWaited = turns[asker]?.first !== turn
        if hasWaited { _ = await turn.value(within: question.timeLimit) }
        do throws(PageQuestionFailure) {
            let rest = end.since(scheduler.now)
            guard turns[asker]?.first === turn, rest > .zero else { throw .busy }
            // It may have left meanwhile, and the operator may have given it to another user.
            guard try self.owner(of: app, answering: question.kind) == owner else { throw .busy }
            guard isStillAllowed() else { throw .notRunning }
            return try await send(question.message(by: person), to: app, within: rest)
        } catch {
            // An asker must not get around the checks by questions that take their time (PAG-26).
            throw hasWaited && question.kind == .validate && error == .noAnswer ? .busy : error
        }
    }

    private func leave(_ asker: Asker, _ turn: Expectation<Void>) {
        turns[asker]?.removeAll { $0 === turn }
        if let next = turns[asker]?.first { next.fulfil(()) } else { turns[asker] = nil }
    }

    private func send(
        _ message: PropertyListDictionary, to app: ApplicationIdentifier, within time: Duration
    ) async throws(PageQuestionFailure) -> PropertyListDictionary {
        guard let body = try? PropertyListWriter.write(message) else { throw .noAnswer }
        // Unsafe, because a scheduler that stops drops the offer.
        let outcome = await withUnsafeContinuation { continuation in
            device.offer(body, app, time) { continuation.resume(returning: $0) }
        }
        switch outcome {
        case .reply(let bytes):
            guard let answer = PageQuestion.answer(in: bytes) else { throw .wrongAnswer }
            return answer
        case .notConnected: throw .notRunning
        case .failed(let error): throw .failed(OutsideText.line(error.reason, atMost: Self.reasonLimit))
        case .disconnected, .expired: throw .noAnswer
        }
    }
}

extension ControlFailure {
    init(_ failure: PageQuestionFailure) {
        switch failure {
        case .notRunning: self.init(.notRunning, failure.description)
        case .notAsked: self.init(.notFound, failure.description)
        case .busy: self.init(.full, failure.description)
        case .noAnswer, .wrongAnswer, .failed: self.init(.noAnswer, failure.description)
        }
    }
}

extension PageQuestionFailure: CustomStringConvertible {
    var description: String {
        switch self {
        case .notRunning: "the app does not run"
        case .notAsked: "the app takes no presses and has no checks of its own while it runs"
        case .busy: "other questions of this user or device to the app are under way; the app has not got this one"
        case .noAnswer: "the app has not answered in time; whether it has done anything is not known"
        case .wrongAnswer: "the app's answer does not read; whether it has done anything is not known"
        case .failed(let text): "the app has failed: \(text); whether it has done anything is not known"
        }
    }
}
