// Requests about the settings of apps on paired devices (SES-72): a primary asks over the link, and the secondary
// answers for what its apps have opened to the paired device. Each link has one request at a time in each direction.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSettings
import TandemWire

/// The requests of one device's links; confined to its loop.
final class RemoteSettings {
    /// The device around it.
    struct Surroundings {
        /// This device's role in a pairing; nil for one that is not active.
        let role: (UniqueIdentifier) -> DeviceRole?
        /// The other device's name.
        let name: (UniqueIdentifier) -> String
        /// The user that an app belongs to.
        let owner: (ApplicationIdentifier) -> UInt32?
    }

    /// A link's request that waits for its answer.
    private struct Question {
        let id: UniqueIdentifier
        let answer: Expectation<SettingsAnswerFrame?>
    }

    private struct Path {
        let send: (Envelope) -> Void
        var question: Question?
        /// The request of the other device that is being answered.
        var answering: UniqueIdentifier?
    }

    /// A primary waits for an answer as long as this (LIM-105).
    private static var patience: Duration { .seconds(30) }
    /// Bytes of an answer's body: with the envelope they fit a frame (LIM-105).
    private static var answerLimit: Int { 500_000 }

    private let settings: ApplicationSettings
    private let device: Surroundings
    private let scheduler: any Scheduler
    private var links: [UniqueIdentifier: Path] = [:]

    init(_ settings: ApplicationSettings, device: Surroundings, scheduler: any Scheduler) {
        self.settings = settings
        self.device = device
        self.scheduler = scheduler
    }

    // MARK: links

    /// A link of which both ends know these requests is ready.
    func opened(_ pairing: UniqueIdentifier, send: @escaping (Envelope) -> Void) {
        closed(pairing)
        links[pairing] = Path(send: send)
    }

    /// The link is gone, if there was one.
    func closed(_ pairing: UniqueIdentifier) {
        links.removeValue(forKey: pairing)?.question?.answer.fulfil(nil)
    }

    /// Takes a `query` or an `answer`; false if it has no place on the link.
    func receive(_ envelope: Envelope, from pairing: UniqueIdentifier) -> Bool {
        guard links[pairing] != nil else { return false }
        if envelope.kind == .answer {
            guard let answer = try? SettingsAnswerFrame(envelope) else { return false }
            if let question = links[pairing]?.question, question.id == answer.id { question.answer.fulfil(answer) }
            return true
        }
        guard let query = try? SettingsQueryFrame(envelope) else { return false }
        scheduler.start { [weak self] in await self?.answer(query) }
        return true
    }

    // MARK: asking

    /// Asks a secondary; returns the body of its answer.
    func ask(
        _ command: ControlName, _ body: PropertyListDictionary, of app: ApplicationIdentifier,
        at pairing: UniqueIdentifier
    ) async throws(ControlFailure) -> PropertyListDictionary {
        guard device.role(pairing) == .primary else {
            throw ControlFailure(.wrongRole, "this device is not the primary of that one")
        }
        guard let link = links[pairing] else {
            throw ControlFailure(.unreachable, "the device has no link now, or does not know requests about settings")
        }
        guard link.question == nil else { throw ControlFailure(.full, "another request to the device is open") }
        let question = Question(id: .random(), answer: Expectation(on: scheduler))
        let frame = SettingsQueryFrame(command, id: question.id, app: app, pairing: pairing, body: body)
        guard let envelope = try? frame.envelope, (try? envelope.frame()) != nil else {
            throw ControlFailure(.full, "the request does not fit a frame")
        }
        links[pairing]?.question = question
        link.send(envelope)
        let answer = await question.answer.value(within: Self.patience)
        if links[pairing]?.question?.id == question.id { links[pairing]?.question = nil }
        guard let answer = answer ?? nil else {
            throw ControlFailure(.unreachable, "the device has not answered; whether it took the request is not known")
        }
        guard answer.code == 0 else {
            let name = answer.name.flatMap { ControlFailureName(rawValue: $0) } ?? .badRequest
            throw ControlFailure(name, answer.body[BodyKey.text]?.stringValue ?? "")
        }
        return answer.body
    }

    // MARK: answering

    private func answer(_ query: SettingsQueryFrame) async {
        let pairing = query.pairing
        guard let link = links[pairing] else { return }
        guard link.answering == nil else {
            return send(.failure(ControlFailure(.full, "another request is open")), to: query, link.send)
        }
        links[pairing]?.answering = query.id
        let result: Result<PropertyListDictionary, ControlFailure>
        do throws(ControlFailure) { result = .success(try await carryOut(query)) } catch { result = .failure(error) }
        // The answer to a link that has ended is not for the next one.
        guard let link = links[pairing], link.answering == query.id else { return }
        links[pairing]?.answering = nil
        send(result, to: query, link.send)
    }

    private func send(
        _ result: Result<PropertyListDictionary, ControlFailure>, to query: SettingsQueryFrame,
        _ send: (Envelope) -> Void
    ) {
        var frame: SettingsAnswerFrame
        switch result {
        case .success(let body): frame = SettingsAnswerFrame(to: query, body: body)
        case .failure(let failure):
            frame = SettingsAnswerFrame(to: query, name: failure.name, body: [BodyKey.text: .string(failure.text)])
        }
        if (try? PropertyListWriter.write(frame.body))?.count ?? .max > Self.answerLimit {
            let text = "the answer does not fit a frame"
            frame = SettingsAnswerFrame(
                to: query, name: ControlFailureName.full.rawValue, body: [BodyKey.text: .string(text)])
        }
        if let envelope = try? frame.envelope { send(envelope) }
    }

    /// Only a primary may ask, and only for what the app has opened to it.
    private func carryOut(_ query: SettingsQueryFrame) async throws(ControlFailure) -> PropertyListDictionary {
        guard device.role(query.pairing) == .secondary else {
            throw ControlFailure(.wrongRole, "a primary's settings are its own")
        }
        guard let owner = device.owner(query.app) else { throw ControlFailure(.noSchema) }
        let editor = SettingsEditor(user: owner, access: .counterpart, name: device.name(query.pairing))
        do throws(SettingsFailure) {
            switch ControlName(rawValue: query.command) {
            case .settingsGet:
                let state = try await settings.state(of: query.app, for: owner)
                guard let open = state.forCounterpart else { throw SettingsFailure.noSchema }
                return [
                    "settings": .array(state.rowsForCounterpart.map { .dictionary($0) }), "digest": .data(open.digest),
                ]
            case .settingsSchema:
                guard let state = try await settings.state(of: query.app, for: owner).forCounterpart else {
                    throw SettingsFailure.noSchema
                }
                return state.schemaBody
            case .settingsSet:
                let converted = try await settings.set(
                    query.body["values"]?.dictionaryValue ?? [:], isLoose: query.body["import"] == true, of: query.app,
                    by: editor)
                return ["converted": .array(converted.map { .string($0) })]
            case .settingsReset:
                let keys = query.body["keys"]?.arrayValue?.compactMap(\.stringValue)
                let done = try await settings.reset(keys, of: query.app, by: editor)
                return ["keys": .array(done.map { .string($0) })]
            default: break
            }
        } catch .file {
            // Its text has paths of this device.
            throw ControlFailure(.store, "the device cannot read or write the app's settings")
        } catch {
            throw ControlFailure(error)
        }
        throw ControlFailure(.unknownCommand, "this device does not know the request")
    }
}

extension ControlFailure {
    /// The failure of a request about settings.
    init(_ failure: SettingsFailure) {
        let text = failure.description
        switch failure {
        case .noSchema: self.init(.notFound, text)
        case .refused: self.init(.schema, text)
        case .document, .file: self.init(.store, text)
        case .tooLarge, .busy: self.init(.full, text)
        }
    }
}
