// Requests about the settings of apps on paired devices (SES-72): a primary asks over the link, and the secondary
// answers for what its apps have opened to the paired device. A primary keeps the schemas by digest, so that an answer
// has values only. Edits, presses and pages have a pace, and each link has few requests at a time in each direction.

import TandemBase
import TandemOperations
import TandemPages
import TandemPropertyList
import TandemReactor
import TandemSettings
import TandemWire

/// The requests of one device's links; confined to its loop.
final class RemoteSettings {
    struct Surroundings {
        /// This device's role in a pairing; nil for one that is not active.
        let role: (UniqueIdentifier) -> DeviceRole?
        /// The other device's name.
        let name: (UniqueIdentifier) -> String
        /// The digest of the schema that a secondary has announced for its app.
        let schema: (UniqueIdentifier, ApplicationIdentifier) -> [UInt8]?
        /// The side that an app is on here: a primary asks for those of the secondary's (SES-83).
        private(set) var side: (ApplicationIdentifier) -> DeviceRole = { _ in .secondary }

        /// Whether the other device may still ask: the pairing, or the app on this side, may have gone meanwhile.
        fileprivate func allows(_ query: SettingsQueryFrame) -> Bool {
            role(query.pairing) == .secondary && side(query.app) == .secondary
        }
    }

    /// The requests that both ends of a link know.
    struct Scope {
        /// Whether a running app is asked about its pages, too (SES-82).
        let hasPages: Bool

        /// nil for none.
        init?(_ capabilities: Set<Capability>) {
            guard capabilities.contains(.edits) else { return nil }
            hasPages = capabilities.contains(.pageQuestions)
        }
    }

    /// The paces of a primary's edits and presses, and of its looks at pages.
    private struct Paces {
        var edits = EditPace()
        var pages = EditPace()
    }

    private struct Path {
        let scope: Scope
        let send: (Envelope) -> Void
        /// This device's requests.
        var asking = LinkRequests()
        /// Those that wait for their turn, or for the end of the link.
        var waiting: [UniqueIdentifier: Expectation<Void>] = [:]
        /// Those that wait for their answer; nil at the end of the link.
        var answers: [UniqueIdentifier: Expectation<SettingsAnswerFrame?>] = [:]
        /// The requests of the other device that are being answered.
        var answering = LinkRequests()
    }

    /// A client's request about an app on a secondary.
    private struct Request {
        let app: ApplicationIdentifier
        let pairing: UniqueIdentifier
        /// When it ends, however many frames it takes.
        let deadline: MonotonicTime
    }

    /// A request of a client ends after this time (LIM-105).
    private static var patience: Duration { .seconds(30) }
    /// Bytes of an answer's body: with the envelope they fit a frame (LIM-105).
    private static var answerLimit: Int { 500_000 }
    /// A request over a link waits for a change at most this long (LIM-118).
    private static var waitLimit: Duration { .seconds(20) }

    private let settings: ApplicationSettings
    private let device: Surroundings
    private let scheduler: any Scheduler
    private var links: [UniqueIdentifier: Path] = [:]
    /// Of the primaries that have edited, or looked at pages. A link that is made again begins no burst.
    private var paces: [UniqueIdentifier: Paces] = [:]
    private var schemas = SchemaCache()

    init(_ settings: ApplicationSettings, device: Surroundings, scheduler: any Scheduler) {
        self.settings = settings
        self.device = device
        self.scheduler = scheduler
    }

    // MARK: links

    /// A link of which both ends know these requests is ready.
    func opened(_ pairing: UniqueIdentifier, _ scope: Scope, send: @escaping (Envelope) -> Void) {
        closed(pairing)
        links[pairing] = Path(scope: scope, send: send)
    }

    /// The link is gone, if there was one.
    func closed(_ pairing: UniqueIdentifier) {
        guard let link = links.removeValue(forKey: pairing) else { return }
        for granted in link.waiting.values { granted.fulfil(()) }
        for answer in link.answers.values { answer.fulfil(nil) }
    }

    func unpaired(_ pairing: UniqueIdentifier) { paces[pairing] = nil }

    /// Takes a `query` or an `answer`; false if it has no place on the link.
    /// - Throws: the fault of a frame that does not read.
    func receive(_ envelope: Envelope, from pairing: UniqueIdentifier) throws(WireError) -> Bool {
        guard let link = links[pairing] else { return false }
        if envelope.kind == .answer {
            let answer = try SettingsAnswerFrame(envelope)
            link.answers[answer.id]?.fulfil(answer)
            return true
        }
        let query = try SettingsQueryFrame(envelope)
        scheduler.start { [weak self] in await self?.answer(query) }
        return true
    }

    // MARK: asking

    /// Carries out a request about an app on a secondary; returns the body of the result (CTL-42). Its times begin now:
    /// an edit must not be sent long after its client has given up.
    func perform(
        _ command: ControlName, _ body: PropertyListDictionary, of app: ApplicationIdentifier,
        at pairing: UniqueIdentifier
    ) async throws(ControlFailure) -> PropertyListDictionary {
        guard device.role(pairing) == .primary else {
            throw ControlFailure(.wrongRole, "this device is not the primary of that one")
        }
        let request = Request(app: app, pairing: pairing, deadline: scheduler.now + Self.patience)
        switch command {
        case .settingsSchema:
            let schema = try await schema(for: request)
            return ["schema": .data(schema.document.bytes), "digest": .data(schema.digest)]
        case .settingsGet where device.schema(pairing, app) != nil:
            return try await rows(body, for: request)
        default:
            let kind = LinkRequests.Kind(app, command, body)
            let id: UniqueIdentifier
            do throws(ControlFailure) { id = try await admit(kind, at: pairing) } catch {
                throw Self.isChange(command) ? error.notSent : error
            }
            defer { end(id, at: pairing) }
            return try await send(command, body, for: request, as: id)
        }
    }

    private static func isChange(_ command: ControlName) -> Bool {
        [.settingsSet, .settingsReset, .settingsPress].contains(command)
    }

    /// The rows of an app whose schema the secondary has announced. A prompt request keeps its turn from the schema to
    /// the rows: a second turn might come too late. One that waits for a change has its schema first, as a request by
    /// itself, because it does not count among the prompt ones.
    private func rows(
        _ body: PropertyListDictionary, for request: Request
    ) async throws(ControlFailure) -> PropertyListDictionary {
        let kind = LinkRequests.Kind(request.app, .settingsGet, body)
        var found: NamedSchema?
        if kind.group != .prompt { found = try await schema(for: request) }
        let id = try await admit(kind, at: request.pairing)
        defer { end(id, at: request.pairing) }
        if found == nil { found = try await schema(for: request, as: id) }
        var asked = body
        asked["digest"] = (found?.digest).map { .data($0) }
        var answer = try await send(.settingsGet, asked, for: request, as: id)
        guard answer["short"] == true, let found else { return answer }
        let short = answer["settings"]?.arrayValue ?? []
        answer["settings"] = .array(SettingsState.rows(short, of: found.document).map { .dictionary($0) })
        answer["short"] = nil
        return answer
    }

    /// The schema with the digest that a secondary has announced for its app; nil if it is unknown here.
    private func knownSchema(for request: Request) -> NamedSchema? {
        guard let digest = device.schema(request.pairing, request.app), let document = schemas.document(digest)
        else { return nil }
        return NamedSchema(document: document, digest: digest)
    }

    /// The schema of an app on a secondary: asked for only if the announced digest is unknown here. The request keeps
    /// its turn until the document has been read: of several at once the others find it then (SES-78).
    private func schema(for request: Request) async throws(ControlFailure) -> NamedSchema {
        if let known = knownSchema(for: request) { return known }
        let id = try await admit(LinkRequests.Kind(request.app, .settingsSchema, [:]), at: request.pairing)
        defer { end(id, at: request.pairing) }
        return try await schema(for: request, as: id)
    }

    /// The same by a request whose turn has come.
    private func schema(for request: Request, as id: UniqueIdentifier) async throws(ControlFailure) -> NamedSchema {
        if let known = knownSchema(for: request) { return known }
        let answer = try await send(.settingsSchema, [:], for: request, as: id)
        guard let bytes = answer["schema"]?.dataValue else {
            throw ControlFailure(.unreachable, "the device's answer has no schema")
        }
        do throws(SettingsFailure) {
            let schema = try await settings.read(bytes, for: .pairing(request.pairing))
            schemas.insert(schema.document, schema.digest)
            return schema
        } catch { throw ControlFailure(error) }
    }

    /// Waits until the link has room for a request, or the time for that is over (LIM-118); the first step of each
    /// request that waits.
    /// - Returns: the request's identifier; it is open until ``end(_:at:)``.
    private func admit(
        _ kind: LinkRequests.Kind, at pairing: UniqueIdentifier
    ) async throws(ControlFailure) -> UniqueIdentifier {
        guard let link = links[pairing] else { throw Self.noLink }
        guard kind.group != .question || link.scope.hasPages else {
            throw ControlFailure(.notHere, "the app runs on another device, whose daemon does not ask it for others")
        }
        let id = UniqueIdentifier.random()
        switch links[pairing]?.asking.ask(id, kind) {
        case .open: return id
        case .full, nil: throw ControlFailure(.full, "other requests to the device are open")
        case .waits: break
        }
        let granted = Expectation<Void>(on: scheduler)
        links[pairing]?.waiting[id] = granted
        let isGranted = await granted.value(within: LinkRequests.turnLimit) != nil
        guard let link = links[pairing], link.asking.isOpen(id) else {
            end(id, at: pairing)
            guard isGranted else { throw ControlFailure(.full, "other requests to the device are not answered") }
            throw Self.noLink
        }
        return id
    }

    private static var noLink: ControlFailure {
        ControlFailure(.unreachable, "the device has no link now, or does not know requests about settings")
    }

    /// A request has ended, or waits for its turn no longer.
    private func end(_ id: UniqueIdentifier, at pairing: UniqueIdentifier) {
        links[pairing]?.waiting[id] = nil
        for next in links[pairing]?.asking.end(id) ?? [] {
            links[pairing]?.waiting.removeValue(forKey: next)?.fulfil(())
        }
    }

    /// Sends a request whose turn has come; returns the body of its answer.
    private func send(
        _ command: ControlName, _ body: PropertyListDictionary, for request: Request, as id: UniqueIdentifier
    ) async throws(ControlFailure) -> PropertyListDictionary {
        let pairing = request.pairing
        let frame = SettingsQueryFrame(command, id: id, app: request.app, pairing: pairing, body: body)
        guard let envelope = try? frame.envelope, (try? envelope.frame()) != nil else {
            throw ControlFailure(.full, "the request does not fit a frame")
        }
        let expected = Expectation<SettingsAnswerFrame?>(on: scheduler)
        links[pairing]?.answers[id] = expected
        links[pairing]?.send(envelope)
        let answer = await expected.value(within: request.deadline.since(scheduler.now))
        links[pairing]?.answers[id] = nil
        guard let answer = answer ?? nil else {
            let doubt = Self.isChange(command) ? "; whether it took the request is not known" : ""
            throw ControlFailure(.unreachable, "the device has not answered\(doubt)")
        }
        guard answer.code == 0 else {
            let name = answer.name.flatMap { ControlFailureName(word: $0) } ?? .badRequest
            var facts: PropertyListDictionary = [:]
            facts[SettingsOutcome.checks] = answer.body[SettingsOutcome.checks]
            throw ControlFailure(name, answer.body[BodyKey.text]?.stringValue ?? "", facts: facts)
        }
        return answer.body
    }

    // MARK: answering

    private func answer(_ query: SettingsQueryFrame) async {
        let pairing = query.pairing
        guard let link = links[pairing] else { return }
        let kind = LinkRequests.Kind(query.app, ControlName(word: query.command), query.body)
        guard links[pairing]?.answering.open(query.id, kind) == true else {
            return send(.failure(ControlFailure(.full, "another request is open")), to: query, link.send)
        }
        let result: Result<PropertyListDictionary, ControlFailure>
        do throws(ControlFailure) { result = .success(try await carryOut(query)) } catch { result = .failure(error) }
        // The answer to a link that has ended is not for the next one.
        guard let link = links[pairing], link.answering.isOpen(query.id) else { return }
        _ = links[pairing]?.answering.end(query.id)
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
            frame = SettingsAnswerFrame(to: query, name: failure.name, body: failure.body)
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
        let edit = try SettingsEdit(query)
        do throws(SettingsFailure) {
            // A primary sees no more of this device's own primary's apps than of those that are not installed.
            guard device.side(query.app) == .secondary else { throw .noSchema }
            switch ControlName(word: query.command) {
            case .settingsGet: return try await rows(query)
            case .settingsSchema:
                return try await settings.state(of: query.app, for: .pairing(query.pairing)).schemaBody
            case .settingsSet, .settingsReset:
                guard let edit, try await awaitTurn(\.edits, query) else { break }
                return try await change(edit, query)
            case .settingsPage where hasPages(query): return try await page(query)
            default: break
            }
        } catch { throw ControlFailure(remote: error) }
        if ControlName(word: query.command) == .settingsPress, hasPages(query) { return try await press(query) }
        throw ControlFailure(.unknownCommand, "this device does not know the request")
    }

    /// An end uses only what both ends know.
    private func hasPages(_ query: SettingsQueryFrame) -> Bool { links[query.pairing]?.scope.hasPages == true }

    /// An edit, a press and a page cost this device more than they cost the primary (LIM-116).
    /// - Returns: whether the request still counts: the link may have ended meanwhile, or the pairing, and its edits
    ///   with it.
    private func awaitTurn(
        _ pace: WritableKeyPath<Paces, EditPace>, _ query: SettingsQueryFrame
    ) async throws(SettingsFailure) -> Bool {
        let now = scheduler.now
        guard let wait = paces[query.pairing, default: Paces()][keyPath: pace].wait(at: now) else { throw .busy }
        if wait > .zero { await scheduler.sleep(for: wait) }
        return links[query.pairing]?.answering.isOpen(query.id) == true && device.allows(query)
    }

    // MARK: the running app

    /// The app's decisions about its pages, as far as it has opened them (PAG-30). An app that has opened nothing is
    /// not asked.
    private func page(_ query: SettingsQueryFrame) async throws(SettingsFailure) -> PropertyListDictionary {
        // The answer to a link that has ended is dropped.
        guard try await awaitTurn(\.pages, query) else { return [:] }
        let payer = SettingsPayer.pairing(query.pairing)
        try await settings.opened(by: query.app, for: payer) { _, _ in }
        let running = try await settings.runningState(of: query.app, for: payer)
        return try await settings.opened(by: query.app, for: payer) { open, whole in
            running.opened(by: open, secrets: whole.secrets)
        }.body
    }

    /// Presses a button that the app has opened. One that it has not, and one that is none, have the same answer.
    private func press(_ query: SettingsQueryFrame) async throws(ControlFailure) -> PropertyListDictionary {
        let key: String
        do throws(WireError) { key = try BodyFields(query.body).buttonKey() } catch {
            throw ControlFailure(.badRequest, error.description)
        }
        let isOpen: Bool
        do throws(SettingsFailure) {
            let isStill = try await awaitTurn(\.edits, query)
            let isNamed = try await settings.opened(by: query.app, for: .pairing(query.pairing)) { open, _ in
                open.buttons.contains(key)
            }
            isOpen = isStill && isNamed
        } catch { throw ControlFailure(remote: error) }
        guard isOpen else { throw ControlFailure(.notHere, "the app has opened no such button to its primary") }
        return try await settings.press(
            key, of: query.app, by: editor(query), isStillAllowed: { [device] in device.allows(query) })
    }

    private func editor(_ query: SettingsQueryFrame) -> SettingsEditor {
        .primary(query.pairing, name: device.name(query.pairing))
    }

    private func rows(_ query: SettingsQueryFrame) async throws(SettingsFailure) -> PropertyListDictionary {
        let wait = Duration.milliseconds(query.body["wait"]?.integerValue ?? 0)
        // The operator may remove the app during the wait, and its user may register it on the other side.
        let (open, ordinal) = try await settings.state(
            of: query.app, after: query.body[BodyKey.after]?.unsignedValue, atMost: min(wait, Self.waitLimit),
            for: .pairing(query.pairing), isStillAllowed: { [device] in device.side(query.app) == .secondary })
        let isShort = query.body["digest"] == .data(open.digest)
        return PropertyListDictionary(present: [
            "digest": .data(open.digest), "ordinal": PropertyListValue(ordinal), "short": isShort ? true : nil,
            "settings": .array((isShort ? open.shortRows : open.declaredRows).map { .dictionary($0) }),
        ])
    }

    private func change(_ edit: SettingsEdit, _ query: SettingsQueryFrame) async throws(SettingsFailure)
        -> PropertyListDictionary
    {
        let editor = editor(query)
        // The edits of a pairing that has ended are taken back by then.
        let isStillAllowed = { [device] in device.allows(query) }
        switch edit {
        case .set(let change):
            return try await settings.set(change, of: query.app, by: editor, isStillAllowed: isStillAllowed).body
        case .reset(let keys):
            let done = try await settings.reset(keys, of: query.app, by: editor, isStillAllowed: isStillAllowed)
            return ["keys": .array(done.map { .string($0) })]
        }
    }
}

extension LinkRequests.Kind {
    fileprivate init(_ app: ApplicationIdentifier, _ command: ControlName?, _ body: PropertyListDictionary) {
        switch command {
        case .settingsPress, .settingsPage: self.init(app, .question)
        default: self.init(app, body["wait"] == nil ? .prompt : .waiting)
        }
    }
}

/// An edit as the body of a command, or of a primary's request, says it (CTL-40, CTL-41).
enum SettingsEdit {
    case set(SettingsChange)
    /// nil: all.
    case reset([String]?)

    /// nil for another request.
    init?(_ query: SettingsQueryFrame) throws(ControlFailure) {
        let body = BodyFields(query.body)
        do throws(WireError) {
            switch ControlName(word: query.command) {
            case .settingsSet: self = .set(try SettingsChange(body))
            case .settingsReset: self = .reset(try body.optionalStrings("keys"))
            default: return nil
            }
        } catch { throw ControlFailure(.badRequest, error.description) }
    }
}

extension BodyFields {
    /// The key of a press (CTL-58).
    func buttonKey() throws(WireError) -> String {
        try required("key", "a key of 1-256 bytes") { value in
            value.stringValue.flatMap { (1...256).contains($0.utf8.count) ? $0 : nil }
        }
    }
}

/// The values of a `settings-set` (CTL-40).
struct SettingsChange {
    let values: PropertyListDictionary
    /// The keys that are set to nothing.
    let nothing: [String]
    /// Of the edits of lists that these values are made of; another edit meanwhile is a refusal.
    let tags: PropertyListDictionary
    /// Whether other spellings are converted (SCH-11).
    let isLoose: Bool

    init(_ body: BodyFields) throws(WireError) {
        let values = try body.required("values", "a dictionary", \.dictionaryValue)
        let nothing = try body.optional("nothing", "an array of strings, none of them in 'values'") { value in
            let keys = value.arrayValue?.compactMap(\.stringValue).filter { values[$0] == nil }
            return keys?.count == value.arrayValue?.count ? keys : nil
        }
        // Each key once, because each is an edit: an array of references may name one tens of thousands of times.
        var known: Set<[UInt8]> = []
        self.values = values
        self.nothing = (nothing ?? []).filter { known.insert(Array($0.utf8)).inserted }
        tags = try body.optional("tags", "a dictionary of data", \.dictionaryValue) ?? [:]
        isLoose = try body.boolean("import", absent: false)
    }

    /// The body of a request for another device.
    var body: PropertyListDictionary {
        PropertyListDictionary(present: [
            "values": .dictionary(values), "nothing": .array(nothing.map { .string($0) }), "import": .boolean(isLoose),
            "tags": tags.isEmpty ? nil : .dictionary(tags),
        ])
    }
}

extension ControlFailure {
    /// The failure of a change before it was sent, marked as one if there is no link: with one the device has answered,
    /// or this one has had no room.
    fileprivate var notSent: ControlFailure {
        guard name == ControlFailureName.unreachable.rawValue else { return self }
        return ControlFailure(.unreachable, text, facts: [SettingsOutcome.sent: false])
    }

    /// The failure of a paired device's request.
    fileprivate init(remote failure: SettingsFailure) {
        switch failure {
        case .file:
            // Its text has paths of this device.
            self.init(.store, "the device cannot read or write the app's settings")
        case .notAllowed, .unknownApp, .noSchema:
            // One answer for all: a primary sees no difference between an app that is not there, one on the other side
            // (SES-83) and one that opens nothing. An end of the pairing ends the link, and with it the answer.
            self.init(
                .notFound, "the device has taken no schema of the app, or the app opens nothing to this primary")
        default: self.init(failure)
        }
    }

    /// The failure of a request about settings.
    init(_ failure: SettingsFailure) {
        let text = failure.description
        switch failure {
        case .unknownApp, .noSchema: self.init(.notFound, text)
        case .notAllowed: self.init(.notAllowed, text)
        case .refused: self.init(.schema, text)
        case .unfit(let refusals):
            var checks: PropertyListDictionary = [:]
            for refusal in refusals { checks[refusal.key] = .dictionary(refusal.dictionary) }
            self.init(.refused, text, facts: [SettingsOutcome.checks: .dictionary(checks)])
        case .wrongAnswer, .failedCheck: self.init(.noAnswer, text)
        case .document, .otherSchema, .unnamedSchema, .file, .damagedEdits, .laterEdits, .notStored:
            self.init(.store, text)
        case .tooLarge, .busy: self.init(.full, text)
        }
    }
}
