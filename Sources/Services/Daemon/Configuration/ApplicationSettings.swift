// Schemas and user's edits of the apps of a device (Protocol/Schema.md): two files in each app's directory, which the
// daemon alone writes. Nothing is kept in memory: the files are read when somebody asks, judged and replaced on a
// thread of their own, one change after another, so that no disk and no schema of an app delays a frame.

import TandemBase
import TandemCrypto
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSettings

/// Why a request about an app's settings is not carried out.
enum SettingsFailure: Error {
    /// The app has sent no schema.
    case noSchema
    /// The document that the app has sent is none.
    case document(SchemaError)
    /// The schema does not take the values.
    case refused(SettingsPayloadError)
    /// The edits would not fit their file.
    case tooLarge
    /// The user has as many changes under way as one may have.
    case busy
    case file(FileError)
}

/// The settings of one daemon's apps; confined to its loop.
final class ApplicationSettings {
    /// The device around it.
    struct Surroundings {
        /// The user that an app belongs to.
        let owner: (ApplicationIdentifier) -> UInt32?
        /// The values that are signed for an app and applied.
        let signed: (ApplicationIdentifier) -> PropertyListDictionary
        /// Has the app read its files again, if it is connected.
        let reload: (ApplicationIdentifier) -> Void
        /// Takes a line that a user has caused.
        let log: (LogEvent, _ user: UInt32) -> Void
    }

    /// Schemas and changes of one user that wait for the disk (LIM-102).
    private static var underWayLimit: Int { 4 }
    /// Requests of one user that wait for a change (LIM-104).
    private static var waiterLimit: Int { 64 }

    private let applications: OwnedDirectory
    private let device: Surroundings
    private let scheduler: any Scheduler
    private let worker: FileWorker
    private var underWay: [UInt32: Int] = [:]
    private var waiters: [(app: ApplicationIdentifier, user: UInt32, changed: Expectation<Bool>)] = []
    /// Grows with each change of an app; one for each app that has changed since the start.
    private var ordinals: [ApplicationIdentifier: UInt64] = [:]

    /// - Parameter applications: has one directory for each app.
    init(in applications: OwnedDirectory, device: Surroundings, scheduler: any Scheduler) {
        self.applications = applications
        self.device = device
        self.scheduler = scheduler
        worker = FileWorker(for: scheduler)
    }

    private func folder(of app: ApplicationIdentifier) throws(SettingsFailure) -> SettingsFolder {
        guard let owner = device.owner(app) else { throw .noSchema }
        return SettingsFolder(path: "\(applications.path)/\(app)", owner: owner)
    }

    // MARK: schemas

    /// Whether the app's schema of this digest is not here. A small file is read on the loop, once for a registration.
    func lacksSchema(of app: ApplicationIdentifier, digest: [UInt8]) -> Bool {
        guard let folder = try? folder(of: app), let bytes = try? folder.schemaBytes() else { return true }
        return SHA256.digest(bytes) != digest
    }

    /// Stores the schema that an app has sent; returns the reason if it is refused.
    func take(_ document: [UInt8], of app: ApplicationIdentifier, from user: UInt32) async -> String? {
        do throws(SettingsFailure) {
            let folder = try folder(of: app)
            try await perform(for: user) { () throws(SettingsFailure) in try folder.store(document) }
        } catch {
            device.log(
                LogEvent(
                    .warning, "an app's schema is refused", .text("app", "\(app)"),
                    .outside("reason", error.description)), user)
            return error.description
        }
        device.log(
            LogEvent(.info, "an app's schema is stored", .text("app", "\(app)"), .integer("bytes", document.count)),
            user)
        changed(app)
        return nil
    }

    // MARK: edits

    /// The present state of an app's settings.
    func state(of app: ApplicationIdentifier, for user: UInt32) async throws(SettingsFailure) -> SettingsState {
        let folder = try folder(of: app)
        let signed = device.signed(app)
        return try await perform(for: user) { () throws(SettingsFailure) in
            SettingsState(document: try folder.document(), edits: try folder.edits(), signed: signed)
        }
    }

    /// Edits values as a whole; returns the keys whose values were converted.
    func set(
        _ values: PropertyListDictionary, isLoose: Bool, of app: ApplicationIdentifier, by editor: SettingsEditor
    ) async throws(SettingsFailure) -> [String] {
        try await change(app, by: editor, "settings edited", values.keys) {
            edits, schema throws(SettingsPayloadError) in
            try edits.set(values, by: editor.access, isLoose: isLoose, in: schema)
        }
    }

    /// Takes edits back, all of them for nil; returns the keys that had one.
    func reset(
        _ keys: [String]?, of app: ApplicationIdentifier, by editor: SettingsEditor
    ) async throws(SettingsFailure) -> [String] {
        try await change(app, by: editor, "settings reset", keys ?? []) { edits, schema throws(SettingsPayloadError) in
            try edits.reset(keys, by: editor.access, in: schema)
        }
    }

    private func change(
        _ app: ApplicationIdentifier, by editor: SettingsEditor, _ message: StaticString, _ keys: [String],
        _ change: @escaping @Sendable (inout SettingEdits, SettingsSchema) throws(SettingsPayloadError) -> [String]
    ) async throws(SettingsFailure) -> [String] {
        let folder = try folder(of: app)
        let (result, hasChanged) = try await perform(for: editor.user) { () throws(SettingsFailure) in
            try folder.change(change)
        }
        guard hasChanged else { return result }
        device.log(
            LogEvent(
                .info, message, .text("app", "\(app)"), .outside("keys", keys.prefix(8).joined(separator: " ")),
                .integer("uid", editor.user), .outside("by", editor.name)), editor.user)
        changed(app)
        device.reload(app)
        return result
    }

    // MARK: waiting

    private func changed(_ app: ApplicationIdentifier) {
        ordinals[app, default: 1] += 1
        for waiter in waiters where waiter.app == app { waiter.changed.fulfil(true) }
    }

    /// Waits for a change of an app after an ordinal, at most for a time; returns the present ordinal.
    func waitForChange(
        of app: ApplicationIdentifier, after ordinal: UInt64?, atMost wait: Duration, for user: UInt32
    ) async throws(SettingsFailure) -> UInt64 {
        let present = ordinals[app, default: 1]
        guard ordinal == present, wait > .zero else { return present }
        guard waiters.count(where: { $0.user == user }) < Self.waiterLimit else { throw .busy }
        let changed = Expectation<Bool>(on: scheduler)
        waiters.append((app, user, changed))
        _ = await changed.value(within: wait)
        waiters.removeAll { $0.changed === changed }
        return ordinals[app, default: 1]
    }

    // MARK: the thread

    private func perform<Value: Sendable>(
        for user: UInt32, _ job: @escaping @Sendable () throws(SettingsFailure) -> Value
    ) async throws(SettingsFailure) -> Value {
        guard underWay[user, default: 0] < Self.underWayLimit else { throw .busy }
        underWay[user, default: 0] += 1
        // Unsafe, because a worker that closes calls back no more.
        let result = await withUnsafeContinuation { continuation in
            worker.perform({ () -> Result<Value, SettingsFailure> in
                do throws(SettingsFailure) { return .success(try job()) } catch { return .failure(error) }
            }) { continuation.resume(returning: $0) }
        }
        let others = underWay[user, default: 1] - 1
        underWay[user] = others > 0 ? others : nil
        return try result.get()
    }

    /// Waits for the disk; for tests that turn time by hand.
    func waitForDisk() { worker.waitUntilIdle() }

    /// Ends the thread.
    func close() { worker.close() }
}

/// A person who edits.
struct SettingsEditor: Sendable {
    /// The user, by whom the change is counted.
    let user: UInt32
    let access: SettingAccess
    /// For the log.
    let name: String
}

/// The files of one app. They lie in a directory that the app's user may change: what is read is judged again.
private struct SettingsFolder: Sendable {
    private static var schemaName: String { "schema.plist" }

    let path: String
    let owner: UInt32

    /// The directory, which a registration makes.
    private func directory() throws(FileError) -> OwnedDirectory { try OwnedDirectory(existing: path, owner: owner) }

    private func read(_ name: String, limit: Int) throws(FileError) -> [UInt8]? {
        do throws(FileError) {
            return try directory().read(name, limit: limit)
        } catch {
            if case .missing = error { return nil }
            throw error
        }
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws(SettingsFailure) {
        do throws(FileError) {
            try directory().replace(name, with: bytes, FileAttributes(mode: 0o600, owner: owner))
        } catch { throw .file(error) }
    }

    func schemaBytes() throws(FileError) -> [UInt8]? { try read(Self.schemaName, limit: SchemaDocument.byteLimit) }

    func store(_ bytes: [UInt8]) throws(SettingsFailure) {
        do throws(SchemaError) { _ = try SchemaDocument(reading: bytes) } catch { throw .document(error) }
        try write(Self.schemaName, bytes)
    }

    func document() throws(SettingsFailure) -> SchemaDocument {
        let bytes: [UInt8]?
        do throws(FileError) { bytes = try schemaBytes() } catch { throw .file(error) }
        guard let bytes else { throw .noSchema }
        do throws(SchemaError) { return try SchemaDocument(reading: bytes) } catch { throw .document(error) }
    }

    /// The edits; a file that is none of ours has none.
    func edits() throws(SettingsFailure) -> SettingEdits {
        do throws(FileError) {
            let bytes = try read(SettingEdits.fileName, limit: SettingEdits.byteLimit)
            return bytes.flatMap { try? PropertyListReader.readDictionary($0) }.flatMap { SettingEdits($0) }
                ?? SettingEdits()
        } catch { throw .file(error) }
    }

    /// Changes the edits; returns the result of the change, and whether it has changed any.
    func change<Value: Sendable>(
        _ change: (inout SettingEdits, SettingsSchema) throws(SettingsPayloadError) -> Value
    ) throws(SettingsFailure) -> (Value, hasChanged: Bool) {
        let schema = try document().schema
        let before = try edits()
        var after = before
        let result: Value
        do throws(SettingsPayloadError) { result = try change(&after, schema) } catch { throw .refused(error) }
        guard after != before else { return (result, false) }
        guard let bytes = try? PropertyListWriter.write(after.dictionary), bytes.count <= SettingEdits.byteLimit else {
            throw .tooLarge
        }
        try write(SettingEdits.fileName, bytes)
        return (result, true)
    }
}

/// An app's settings at one moment, as far as its daemon knows them.
struct SettingsState: Sendable {
    let document: SchemaDocument
    let edits: SettingEdits
    let signed: PropertyListDictionary

    var digest: [UInt8] { SHA256.digest(document.bytes) }

    /// The document for those who ask for it.
    var schemaBody: PropertyListDictionary { ["schema": .data(document.bytes), "digest": .data(digest)] }

    /// The document as the paired device may know it: of the properties that it may edit, and of no other; nil if there
    /// are none.
    var forCounterpart: SettingsState? {
        let open = document.schema.declarations.filter { $0.access == .counterpart }
        guard !open.isEmpty, let document = try? SchemaDocument(writing: open) else { return nil }
        return SettingsState(document: document, edits: edits, signed: signed)
    }

    /// The rows of the properties that the paired device may edit.
    var rowsForCounterpart: [PropertyListDictionary] {
        document.schema.declarations.filter { $0.access == .counterpart }.map(row)
    }

    /// A row for each property in the order of declaration, and then for each edit that the schema no longer has
    /// (CTL-39). Nothing of a secret's value.
    var rows: [PropertyListDictionary] {
        let declarations = document.schema.declarations
        let orphans = edits.values.keys.filter { document.schema.place(of: $0) == nil }
        return declarations.map(row) + orphans.map { ["key": .string($0), "unknown": true] }
    }

    private func row(_ declaration: SettingDeclaration) -> PropertyListDictionary {
        let (signed, edit) = (signed[declaration.name], edits.values[declaration.name])
        let layer = signed != nil ? "signed" : edit != nil ? "user" : "default"
        var row: PropertyListDictionary = [
            "key": .string(declaration.name), "type": .string(declaration.type.rawValue), "layer": .string(layer),
            "access": .string(declaration.access.rawValue),
        ]
        if declaration.needsRestart { row["restart"] = true }
        if edit != nil { row["edited"] = true }
        guard !declaration.isSecret else {
            row["secret"] = true
            return row
        }
        row["value"] = signed ?? edit ?? declaration.stored(declaration.initialValue)
        row["edit"] = edit
        return row
    }
}

extension SettingsFailure: CustomStringConvertible {
    var description: String {
        switch self {
        case .noSchema: "the app has sent no schema; an app does when it registers with its configuration installed"
        case .document(let error): "the app's schema: \(error)"
        case .refused(let error): error.description
        case .tooLarge: "the edits of an app may have \(SettingEdits.byteLimit) bytes"
        case .busy: "this user has as many requests about settings under way as one may have"
        case .file(let error): "\(error)"
        }
    }
}
