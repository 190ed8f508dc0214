// Schemas and edits of the apps of a device (Protocol/Schema.md): two files in each app's directory, which the daemon
// alone writes. Of a schema the store knows the digest, so that no registration waits for a disk. The files are read
// when somebody asks, judged and replaced on a thread of their own, one change after another, so that no disk and no
// schema of an app delays a frame.

import Synchronization
import TandemBase
import TandemCrypto
import TandemFiles
import TandemOperations
import TandemPages
import TandemPropertyList
import TandemReactor
import TandemSettings
import TandemWire

/// The settings of one daemon's apps; confined to its loop.
final class ApplicationSettings {
    /// The device around it.
    struct Surroundings {
        /// The installed apps and their users.
        let owners: () -> [ApplicationIdentifier: UInt32]
        /// The digests of the schema that an app has sent.
        let schema: (ApplicationIdentifier) -> SchemaDigests?
        /// Stores the digests of a schema, if the app still belongs to the owner in whose directory it is; returns
        /// false if it cannot.
        let describe: (ApplicationIdentifier, _ owner: UInt32, SchemaDigests) async -> Bool
        /// The file with the schema of this digest is lost: the app is asked for it again.
        let lost: (ApplicationIdentifier, _ digest: [UInt8]) -> Void
        /// The values that are signed for an app and applied.
        let signed: (ApplicationIdentifier) -> SignedValues
        /// Has the app read its files again, if it is connected; calls back when it has, or will not.
        let reload: (ApplicationIdentifier, _ done: @escaping () -> Void) -> Void
        /// Asks running apps.
        let questions: PageQuestions
        /// Takes a line that somebody has caused.
        let log: (LogEvent, SettingsPayer) -> Void
    }

    /// A request for an app's files: whose limits and turns count for it, and whether it is still to be carried out.
    private struct Request {
        let payer: SettingsPayer
        /// LIM-104 counts it, and LIM-102 does not. It takes its turn among the payer's others all the same.
        private(set) var isWaiter = false
        /// Asked when the turn has come: the end of a pairing does not wait for turns.
        private(set) var isStillAllowed: () -> Bool = { true }
    }

    /// Schemas and requests of one payer that wait for the disk (LIM-102). LIM-118 bounds those of a link: a primary
    /// within it must not meet this bound, also while requests of the previous link still wait.
    private static func underWayLimit(of payer: SettingsPayer) -> Int {
        if case .pairing = payer { 24 } else { 4 }
    }
    /// Requests of one payer that may wait for a change, until they are answered (LIM-104).
    private static var waiterLimit: Int { 64 }
    /// Keys that the line of the log about an edit names (CTL-41).
    private static var loggedKeys: Int { 8 }

    private let applications: OwnedDirectory
    private let device: Surroundings
    private let scheduler: any Scheduler
    private let marks = SecretMarks()
    private let worker: FileWorker
    /// For what must not wait behind people's edits: signed configurations, and the end of a pairing.
    private let judge: FileWorker
    private var underWay: [SettingsPayer: Int] = [:]
    private let documents = SchemaDocumentCache()
    /// The digests of the schemas that are being stored.
    private var arriving: [ApplicationIdentifier: [UInt8]] = [:]
    /// One payer's costly schema stands before one job of each other payer, and no more.
    private var turns = JobTurns<SettingsPayer, () -> Void>(limit: 1)
    /// The requests that may wait for a change, until they are answered.
    private var waiters: [(app: ApplicationIdentifier, payer: SettingsPayer, changed: Expectation<Bool>)] = []
    /// Grows with each change of an app; one for each app that has changed since the start.
    private var ordinals: [ApplicationIdentifier: UInt64] = [:]
    /// The apps that are reading their files again; true: they do so once more after that.
    private var reloading: [ApplicationIdentifier: Bool] = [:]

    /// - Parameter applications: has one directory for each app.
    init(in applications: OwnedDirectory, device: Surroundings, scheduler: any Scheduler) {
        self.applications = applications
        self.device = device
        self.scheduler = scheduler
        worker = FileWorker(for: scheduler)
        judge = FileWorker(for: scheduler)
    }

    private func folder(of app: ApplicationIdentifier) throws(SettingsFailure) -> SettingsFolder {
        guard let owner = device.owners()[app] else { throw .unknownApp }
        return folder(of: app, owner)
    }

    private func folder(of app: ApplicationIdentifier, _ owner: UInt32) -> SettingsFolder {
        SettingsFolder(
            path: "\(applications.path)/\(app)", owner: owner, schema: device.schema(app)?.exact,
            arriving: arriving[app], documents: documents)
    }

    /// How often a schema has been compiled; for tests.
    var compiledSchemas: Int { documents.compiled }

    // MARK: schemas

    /// Whether the app's schema of this digest is not here.
    func lacksSchema(of app: ApplicationIdentifier, digest: [UInt8]) -> Bool { device.schema(app)?.exact != digest }

    /// Stores the schema that an app has sent, and named by this digest; returns the reason if it is refused.
    func take(
        _ document: [UInt8], named digest: [UInt8], of app: ApplicationIdentifier, from user: UInt32
    ) async -> String? {
        arriving[app] = digest
        defer { if arriving[app] == digest { arriving[app] = nil } }
        do throws(SettingsFailure) {
            let folder = try folder(of: app)
            let digests = try await perform(Request(payer: .user(user))) { () throws(SettingsFailure) in
                try folder.store(document, named: digest)
            }
            guard await device.describe(app, folder.owner, digests) else { throw .notStored }
        } catch {
            device.log(
                LogEvent(
                    .warning, "an app's schema is refused", .text("app", "\(app)"),
                    error.logField), .user(user))
            return error.description
        }
        device.log(
            LogEvent(.info, "an app's schema is stored", .text("app", "\(app)"), .integer("bytes", document.count)),
            .user(user))
        changed(app)
        return nil
    }

    /// Reads a document that another device has sent, beside the loop.
    func read(_ bytes: [UInt8], for payer: SettingsPayer) async throws(SettingsFailure) -> NamedSchema {
        try await perform(Request(payer: payer)) { () throws(SettingsFailure) in
            do throws(SchemaError) {
                return NamedSchema(document: try SchemaDocument(reading: bytes), digest: SHA256.digest(bytes))
            } catch { throw .document(error) }
        }
    }

    /// Judges the values of a signed configuration by the schema that the app has sent (CFG-107); nil if that takes
    /// them, or cannot be read. The caller bounds how many wait.
    func refusal(
        of values: PropertyListDictionary, optional: [String], for app: ApplicationIdentifier
    ) async -> (text: String, schema: [UInt8])? {
        guard let folder = try? folder(of: app), folder.schema != nil || folder.arriving != nil else { return nil }
        return await judge.value { () -> (text: String, schema: [UInt8])? in
            guard let named = try? folder.namedSchema() else { return nil }
            do throws(SettingsPayloadError) {
                _ = try named.document.schema.payload(values, optional: optional)
                return nil
            } catch { return (error.description, named.digest) }
        }
    }

    // MARK: edits

    /// The present state of an app's settings; for a pairing what its app has opened to the paired device.
    func state(
        of app: ApplicationIdentifier, for payer: SettingsPayer
    ) async throws(SettingsFailure) -> SettingsState {
        try await state(of: app, for: Request(payer: payer))
    }

    private func state(
        of app: ApplicationIdentifier, for request: Request
    ) async throws(SettingsFailure) -> SettingsState {
        let signed = device.signed(app)
        let payer = request.payer
        let state = try await read(app, for: request) {
            [marks] folder throws(SettingsFailure) -> SettingsState? in
            let named = try folder.namedSchema()
            let whole = named.document
            var shown = whole
            if case .pairing = payer {
                guard let open = folder.open(of: named) else { return nil }
                shown = open
            }
            return SettingsState(
                document: shown, edits: try folder.edits(), signed: signed, secrets: whole.listSecrets,
                code: marks.code(of: app))
        }
        guard let state else { throw .noSchema }
        return state
    }

    /// Edits values as a whole. A running app with checks of its own is asked about what its schema takes (PAG-26).
    /// - Parameters:
    ///   - choices: the added values of editable lists, by key, in place of those before.
    ///   - isStillAllowed: whether the editor may edit, asked again after the app's answer and before the storing.
    func set(
        _ new: SettingsChange, choices: PropertyListDictionary = [:], of app: ApplicationIdentifier,
        by editor: SettingsEditor, isStillAllowed: @escaping () -> Bool
    ) async throws(SettingsFailure) -> SettingsOutcome {
        let keys = new.values.keys + new.nothing + choices.keys
        let edit: Edit = { [marks] values, edits, document throws(SettingsPayloadError) in
            let (secrets, code) = (document.listSecrets, marks.code(of: app))
            // Only tags of keys that the editor may edit: another one would reveal whether its key has an edit.
            let tags = new.tags.compactMapValues { key, tag in
                values[key] != nil && document.opens(key, to: editor.author) ? tag : nil
            }
            try SettingsState.check(tags, edits, code)
            let values = try SettingsState.unmarked(values, edits, secrets, code)
            let converted = try edits.set(
                values, empty: new.nothing, choices: choices, by: editor.author, isLoose: new.isLoose,
                in: document.schema)
            return (converted, keys, keys.contains { secrets[$0] != nil })
        }
        var isUnchecked = false
        let checked = try await check(new.values, of: app, by: editor, edit, isUnchecked: &isUnchecked)
        guard isStillAllowed() else { throw .notAllowed }
        let refusals = checked?.refusals ?? []
        guard refusals.isEmpty else { throw .unfit(refusals) }
        var values = new.values
        for (key, value) in checked?.replacements ?? [:] { values[key] = value }
        do throws(SettingsFailure) {
            let converted = try await change(
                app, by: editor, "settings edited", keys, isStillAllowed: isStillAllowed
            ) { [values] edits, document throws(SettingsPayloadError) in
                try edit(values, &edits, document)
            }
            return SettingsOutcome(
                converted: converted, replaced: checked?.replacements.keys ?? [], isUnchecked: isUnchecked)
        } catch {
            guard checked != nil || isUnchecked else { throw error }
            throw error.ofApp(replacing: checked?.replacements ?? [:], of: new.values)
        }
    }

    /// The keys that a change names to its asker and to the log, and whether it writes a list with secrets.
    private typealias Edited = (named: [String], logged: [String], hasSecrets: Bool)
    /// A change of the edits by values; it names the keys whose values were converted.
    private typealias Edit =
        @Sendable (PropertyListDictionary, inout SettingEdits, SchemaDocument) throws(SettingsPayloadError) -> Edited

    /// The app's own checks of an edit, if its schema takes that; nil without any, and without an answer.
    private func check(
        _ values: PropertyListDictionary, of app: ApplicationIdentifier, by editor: SettingsEditor,
        _ edit: @escaping Edit, isUnchecked: inout Bool
    ) async throws(SettingsFailure) -> CheckedEdit? {
        guard !values.isEmpty, device.questions.isAnswered(.validate, by: app) else { return nil }
        let (asked, secrets) = try await read(app, for: Request(payer: editor.payer)) {
            folder throws(SettingsFailure) -> (PropertyListDictionary, Set<String>) in
            let document = try folder.document()
            var edits = try folder.edits()
            // The app makes values of picked dates, which its schema takes or refuses with all others. It is asked
            // about no property that the editor may not edit.
            let picked = document.schema.pickedDates(in: values) { document.opens($0, to: editor.author) }
            let judged = values.compactMapValues { key, value in picked[key] == nil ? value : nil }
            do throws(SettingsPayloadError) { _ = try edit(judged, &edits, document) } catch { throw .refused(error) }
            return (values.compactMapValues { key, _ in picked[key] ?? edits.values[key] }, document.secrets)
        }
        do throws(PageQuestionFailure) {
            let answer = try await device.questions.ask(
                .validate(asked), of: app, for: editor.payer, by: editor.person)
            guard let checked = CheckedEdit(asked, answer, secrets: secrets) else { throw .wrongAnswer }
            return checked
        } catch {
            // An asker must not get around the checks by asking too much, or by values that the app fails to answer.
            switch error {
            case .busy: throw .busy
            case .wrongAnswer: throw .wrongAnswer
            case .failed(let text): throw .failedCheck(text)
            // It was there a moment ago: it has ended, and perhaps another one without checks is there.
            case .noAnswer, .notRunning, .notAsked: isUnchecked = true
            }
            return nil
        }
    }

    // MARK: the running app

    /// A person presses a button; returns the body of the result (CTL-58).
    func press(
        _ key: String, of app: ApplicationIdentifier, by editor: SettingsEditor,
        isStillAllowed: () -> Bool = { true }
    ) async throws(ControlFailure) -> PropertyListDictionary {
        let answer: Result<PressAnswer, PageQuestionFailure>
        do throws(PageQuestionFailure) {
            let body = try await device.questions.ask(
                .press(key), of: app, for: editor.payer, by: editor.person, isStillAllowed: isStillAllowed)
            answer = PressAnswer(body).map { .success($0) } ?? .failure(.wrongAnswer)
        } catch {
            switch error {
            // The question has not reached the app.
            case .notRunning, .notAsked, .busy: throw ControlFailure(error)
            // It may have done it.
            case .noAnswer, .wrongAnswer, .failed: answer = .failure(error)
            }
        }
        let outcome =
            switch answer {
            case .success(.done): "done"
            case .success(.refused): ControlFailureName.refused.rawValue
            case .failure: ControlFailureName.noAnswer.rawValue
            }
        let fields: [LogField] = [.text("app", "\(app)"), .outside("key", key), .text("outcome", outcome)]
        device.log(LogEvent(.info, "button pressed", fields: fields + editor.fields), editor.payer)
        switch answer {
        case .success(.done(let text?)): return [BodyKey.text: .string(text)]
        case .success(.done(nil)): return [:]
        case .success(.refused(let text)):
            throw ControlFailure(.refused, text.isEmpty ? "the app does not do it" : text)
        case .failure(let failure): throw ControlFailure(failure)
        }
    }

    /// The app's decisions about its pages now, as far as it can be asked.
    /// - Throws: `busy` if other questions of the asker keep the app from being asked.
    func runningState(
        of app: ApplicationIdentifier, for payer: SettingsPayer
    ) async throws(SettingsFailure) -> RunningState {
        do throws(PageQuestionFailure) {
            let answer = try await device.questions.ask(.page, of: app, for: payer)
            return RunningPage(answer).map { .running($0) } ?? .noAnswer
        } catch {
            switch error {
            case .notRunning: return .notRunning
            case .notAsked: return .withoutHooks
            case .busy: throw .busy
            case .noAnswer, .wrongAnswer, .failed: return .noAnswer
            }
        }
    }

    /// Looks, beside the loop, at what an app has opened to a paired device.
    func opened<Value: Sendable>(
        by app: ApplicationIdentifier, for payer: SettingsPayer,
        _ look: @escaping @Sendable (_ open: SchemaDocument, _ whole: SchemaDocument) -> Value
    ) async throws(SettingsFailure) -> Value {
        let value = try await read(app, for: Request(payer: payer)) { folder throws(SettingsFailure) -> Value? in
            let whole = try folder.namedSchema()
            return folder.open(of: whole).map { look($0, whole.document) }
        }
        guard let value else { throw .noSchema }
        return value
    }

    // MARK: changes

    /// Takes edits back, all of them for nil; returns the keys that had one.
    func reset(
        _ keys: [String]?, of app: ApplicationIdentifier, by editor: SettingsEditor,
        isStillAllowed: @escaping () -> Bool
    ) async throws(SettingsFailure) -> [String] {
        try await change(app, by: editor, "settings reset", keys ?? [], isStillAllowed: isStillAllowed) {
            edits, document throws(SettingsPayloadError) in
            let taken = try edits.reset(keys, by: editor.author, in: document.schema)
            let secrets = document.listSecrets
            return (taken, taken, taken.contains { secrets[$0] != nil })
        }
    }

    private func change(
        _ app: ApplicationIdentifier, by editor: SettingsEditor, _ message: StaticString, _ keys: [String],
        isStillAllowed: @escaping () -> Bool,
        _ change: @escaping @Sendable (inout SettingEdits, SchemaDocument) throws(SettingsPayloadError) -> Edited
    ) async throws(SettingsFailure) -> [String] {
        let author = editor.author
        let request = Request(payer: editor.payer, isStillAllowed: isStillAllowed)
        let (result, hasChanged) = try await read(app, for: request) {
            [marks] folder throws(SettingsFailure) -> (Edited, Bool) in
            let (edited, hasChanged) = try folder.change(keys, by: author, change)
            // Not before: after a change that is refused or not stored, the marks that readers have must stay good.
            if edited.hasSecrets { marks.renew(app) }
            return (edited, hasChanged)
        }
        guard hasChanged else { return result.named }
        let shown = result.logged.prefix(Self.loggedKeys).joined(separator: " ")
        let fields: [LogField] = [
            .text("app", "\(app)"), .outside("keys", shown), .integer("count", result.logged.count),
        ]
        device.log(LogEvent(.info, message, fields: fields + editor.fields), editor.payer)
        edited(app)
        return result.named
    }

    /// The app has no edits now; it had those of the damaged file as long as it ran.
    private func keptAside(_ name: String, of app: ApplicationIdentifier) {
        device.log(
            LogEvent(
                .error, "an app's edits were damaged: the file is kept under this name, and the app has none now",
                .text("app", "\(app)"), .text("file", "\(applications.path)/\(app)/\(name)")), .app(app))
        edited(app)
    }

    private func edited(_ app: ApplicationIdentifier) {
        changed(app)
        reload(app)
    }

    /// One reading by the app at a time, and one more after it for all changes that came meanwhile: a primary that
    /// edits without pause does not fill the app's queue. One that the app has no room for ends here at once.
    private func reload(_ app: ApplicationIdentifier) {
        guard reloading[app] == nil else {
            reloading[app] = true
            return
        }
        reloading[app] = false
        device.reload(app) { [weak self] in
            guard let self, reloading.removeValue(forKey: app) == true else { return }
            reload(app)
        }
    }

    // MARK: pairings

    /// How many edits the primary of a pairing has made, of all apps.
    func editCount(of pairing: UniqueIdentifier) async -> Int {
        let folders = device.owners().map { folder(of: $0, $1) }
        return await judge.value {
            folders.reduce(0) { $0 + ((try? $1.edits())?.keys { $0 == pairing }.count ?? 0) }
        }
    }

    /// The pairing has ended: the edits of its primary go (SCH-15).
    func unpaired(_ pairing: UniqueIdentifier) {
        takeBack(logging: "edits of a pairing that has ended stay until the next start") { $0 == pairing }
    }

    /// Takes the edits of all other pairings back: an earlier run may have ended before it did.
    func keepOnly(_ known: Set<UniqueIdentifier>, of apps: Set<ApplicationIdentifier>) {
        let failure: StaticString =
            "edits of an app could not be checked for ended pairings; the next start checks again"
        takeBack(of: apps, logging: failure) { !known.contains($0) }
    }

    /// - Parameters:
    ///   - apps: nil: all.
    ///   - failure: the line of the log for an app whose edits cannot be read or written.
    private func takeBack(
        of apps: Set<ApplicationIdentifier>? = nil, logging failure: StaticString,
        ofPrimaries isMeant: @escaping @Sendable (UniqueIdentifier) -> Bool
    ) {
        for (app, owner) in device.owners() where apps?.contains(app) != false {
            let folder = folder(of: app, owner)
            let job: @Sendable (SettingsFolder) throws(SettingsFailure) -> Int = {
                [marks] folder throws(SettingsFailure) in
                let count = try folder.takeBack(isMeant)
                // A list with secrets may be among them, and the schema that would say so may be lost.
                if count > 0 { marks.renew(app) }
                return count
            }
            worker.perform({ folder.perform(job) }) { [weak self] result, aside in
                if let aside { self?.keptAside(aside, of: app) }
                self?.tookBack(result, of: app, or: failure)
            }
        }
    }

    private func tookBack(
        _ result: Result<Int, SettingsFailure>, of app: ApplicationIdentifier, or message: StaticString
    ) {
        switch result {
        case .success(0): break
        case .success(let count):
            device.log(
                LogEvent(
                    .info, "edits of a pairing that has ended are taken back", .text("app", "\(app)"),
                    .integer("edits", count)), .app(app))
            edited(app)
        case .failure(let failure):
            device.log(
                LogEvent(
                    .error, message, .text("app", "\(app)"), failure.logField), .app(app))
        }
    }

    // MARK: waiting

    private func changed(_ app: ApplicationIdentifier) {
        ordinals[app, default: 1] += 1
        for waiter in waiters where waiter.app == app { waiter.changed.fulfil(true) }
    }

    /// The state of an app's settings, after a change if the ordinal is the present one.
    ///
    /// LIM-104 counts a request with a wait until it is answered, and LIM-102 does not count it. A change wakes all
    /// such requests at once, and none of them may fail because the others read the files, too.
    /// - Parameters:
    ///   - wait: the longest time to wait for a change; zero for a request that takes the present state.
    ///   - isStillAllowed: whether the asker may see the app's settings, asked after the wait and in its turn.
    /// - Returns: the state, and an ordinal that is no newer.
    func state(
        of app: ApplicationIdentifier, after ordinal: UInt64?, atMost wait: Duration, for payer: SettingsPayer,
        isStillAllowed: @escaping () -> Bool
    ) async throws(SettingsFailure) -> (state: SettingsState, ordinal: UInt64) {
        guard wait > .zero else {
            let present = ordinals[app, default: 1]
            return (try await state(of: app, for: payer), present)
        }
        guard waiters.count(where: { $0.payer == payer }) < Self.waiterLimit else { throw .busy }
        let changed = Expectation<Bool>(on: scheduler)
        waiters.append((app, payer, changed))
        defer { waiters.removeAll { $0.changed === changed } }
        if ordinal == ordinals[app, default: 1] { _ = await changed.value(within: wait) }
        // The app may have got another owner, or another side, meanwhile.
        guard isStillAllowed() else { throw .notAllowed }
        let present = ordinals[app, default: 1]
        let request = Request(payer: payer, isWaiter: true, isStillAllowed: isStillAllowed)
        return (try await state(of: app, for: request), present)
    }

    // MARK: the thread

    /// Runs a job on the files of an app that has sent a schema.
    private func read<Value: Sendable>(
        _ app: ApplicationIdentifier, for request: Request, isAgain: Bool = false,
        _ job: @escaping @Sendable (SettingsFolder) throws(SettingsFailure) -> Value
    ) async throws(SettingsFailure) -> Value {
        let folder = try folder(of: app)
        guard let digest = folder.schema else { throw .noSchema }
        do throws(SettingsFailure) {
            let (result, aside) = try await perform(request) { () throws(SettingsFailure) in folder.perform(job) }
            if let aside { keptAside(aside, of: app) }
            return try result.get()
        } catch {
            switch error {
            case .otherSchema where device.schema(app)?.exact != digest || arriving[app] != folder.arriving:
                // The app has sent a newer one since the request came, which is run once more.
                guard !isAgain else { break }
                return try await read(app, for: request, isAgain: true, job)
            case .noSchema, .otherSchema, .document: device.lost(app, digest)
            case .unknownApp, .unnamedSchema, .refused, .unfit, .wrongAnswer, .failedCheck, .tooLarge, .busy, .file,
                .damagedEdits, .laterEdits, .notStored, .notAllowed:
                break
            }
            throw error
        }
    }

    private func perform<Value: Sendable>(
        _ request: Request, _ job: @escaping @Sendable () throws(SettingsFailure) -> Value
    ) async throws(SettingsFailure) -> Value {
        let payer = request.payer
        if !request.isWaiter {
            guard underWay[payer, default: 0] < Self.underWayLimit(of: payer) else { throw .busy }
            underWay[payer, default: 0] += 1
        }
        // Unsafe, because a worker that closes calls back no more.
        let result = await withUnsafeContinuation {
            (continuation: UnsafeContinuation<Result<Value, SettingsFailure>, Never>) in
            let begin = { [worker] in
                guard request.isStillAllowed() else { return continuation.resume(returning: .failure(.notAllowed)) }
                worker.attempt(job) { continuation.resume(returning: $0) }
            }
            turns.add(begin, of: payer)?()
        }
        turns.ended(of: payer)?()
        if !request.isWaiter {
            let others = underWay[payer, default: 1] - 1
            underWay[payer] = others > 0 ? others : nil
        }
        return try result.get()
    }

    /// Waits for the disk; for tests that turn time by hand.
    func waitForDisk() {
        worker.waitUntilIdle()
        judge.waitUntilIdle()
    }

    /// Ends the threads.
    func close() {
        worker.close()
        judge.close()
    }
}
