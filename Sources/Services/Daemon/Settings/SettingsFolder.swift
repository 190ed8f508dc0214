// Files of one app's settings: the schema that the app has sent, and the edits of people. The thread of the settings
// alone reads and writes them.

import Synchronization
import TandemBase
import TandemCrypto
import TandemFiles
import TandemPropertyList
import TandemSettings

/// A document with the SHA-256 of its bytes.
struct NamedSchema: Sendable {
    let document: SchemaDocument
    let digest: [UInt8]
}

/// The documents that were read last, so that a question about an app's settings compiles none again; any thread.
final class SchemaDocumentCache: Sendable {
    private let state = Mutex((exact: SchemaCache(), open: SchemaCache(), compiled: 0))

    var compiled: Int { state.withLock(\.compiled) }

    func document(_ bytes: [UInt8], _ digest: [UInt8]) throws(SchemaError) -> SchemaDocument {
        if let known = state.withLock({ $0.exact.document(digest) }) { return known }
        let document = try SchemaDocument(reading: bytes)
        state.withLock { state in
            state.exact.insert(document, digest)
            state.compiled += 1
        }
        return document
    }

    /// The part of a document that the paired device may know.
    func open(_ whole: NamedSchema) -> SchemaDocument? {
        if let known = state.withLock({ $0.open.document(whole.digest) }) { return known }
        guard let open = whole.document.forCounterpart else { return nil }
        state.withLock { state in
            state.open.insert(open, whole.digest)
            state.compiled += 1
        }
        return open
    }
}

/// The files of one app. They lie in a directory that the app's user may change: what is read is judged again.
struct SettingsFolder: Sendable {
    private static var schemaName: String { "schema.plist" }

    let path: String
    let owner: UInt32
    /// SHA-256 of the schema that the app has sent.
    let schema: [UInt8]?
    /// SHA-256 of a newer one that is being stored: the file is there before the store names it.
    let arriving: [UInt8]?
    let documents: SchemaDocumentCache

    /// The directory, which a registration makes.
    private func directory() throws(FileError) -> OwnedDirectory { try OwnedDirectory(existing: path, owner: owner) }

    private func read(_ name: String, limit: Int) throws(FileError) -> [UInt8]? {
        try FileError.unlessMissing(try directory().read(name, limit: limit))
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws(SettingsFailure) {
        do throws(FileError) {
            try directory().replace(name, with: bytes, FileAttributes(mode: 0o600, owner: owner))
        } catch { throw .file(error) }
    }

    /// - Parameter digest: that of the schema that the app has named.
    func store(_ bytes: [UInt8], named digest: [UInt8]) throws(SettingsFailure) -> SchemaDigests {
        guard SHA256.digest(bytes) == digest else { throw .unnamedSchema }
        let document: SchemaDocument
        do throws(SchemaError) { document = try SchemaDocument(reading: bytes) } catch { throw .document(error) }
        try write(Self.schemaName, bytes)
        return SchemaDigests(exact: digest, open: document.forCounterpart.map { SHA256.digest($0.bytes) })
    }

    func document() throws(SettingsFailure) -> SchemaDocument { try namedSchema().document }

    func namedSchema() throws(SettingsFailure) -> NamedSchema {
        let bytes: [UInt8]?
        do throws(FileError) { bytes = try read(Self.schemaName, limit: SchemaDocument.byteLimit) } catch {
            throw .file(error)
        }
        guard let bytes else { throw schema == nil ? SettingsFailure.noSchema : .otherSchema }
        let digest = SHA256.digest(bytes)
        guard digest == schema || digest == arriving else { throw .otherSchema }
        do throws(SchemaError) {
            return NamedSchema(document: try documents.document(bytes, digest), digest: digest)
        } catch { throw .document(error) }
    }

    /// The document as the paired device may know it; nil if the app has opened nothing to it.
    func open(of whole: NamedSchema) -> SchemaDocument? { documents.open(whole) }

    /// The edits; without a file none.
    func edits() throws(SettingsFailure) -> SettingEdits {
        let bytes: [UInt8]?
        do throws(FileError) { bytes = try read(SettingEdits.fileName, limit: SettingEdits.byteLimit) } catch {
            if case .tooLarge = error { throw .damagedEdits }
            throw .file(error)
        }
        guard let bytes else { return SettingEdits() }
        guard let file = try? PropertyListReader.readDictionary(bytes, limits: SettingEdits.fileLimits) else {
            throw .damagedEdits
        }
        if let edits = SettingEdits(file) { return edits }
        throw SettingEdits.isLater(file) ? .laterEdits : .damagedEdits
    }

    /// Runs a job on the edits. A damaged file is first kept under a further name, and an empty one takes its place.
    /// - Returns: with the job's result the further name, if there is one.
    func perform<Value: Sendable>(
        _ job: (SettingsFolder) throws(SettingsFailure) -> Value
    ) -> (result: Result<Value, SettingsFailure>, aside: String?) {
        let first = Result { () throws(SettingsFailure) in try job(self) }
        guard case .failure(.damagedEdits) = first else { return (first, nil) }
        do throws(SettingsFailure) {
            let aside: String
            do throws(FileError) { aside = try directory().keepAside(SettingEdits.fileName) } catch {
                throw .file(error)
            }
            try write(SettingEdits())
            return (Result { () throws(SettingsFailure) in try job(self) }, aside)
        } catch { return (.failure(error), nil) }
    }

    /// Changes the edits; returns the result of the change, and whether it has changed any. A secret counts as changed
    /// whenever it is written: otherwise the silence after a guess would say that it is right.
    /// - Parameter keys: those that are written.
    func change<Value: Sendable>(
        _ keys: [String], by author: SettingAuthor,
        _ change: (inout SettingEdits, SchemaDocument) throws(SettingsPayloadError) -> Value
    ) throws(SettingsFailure) -> (Value, hasChanged: Bool) {
        let document = try document()
        let before = try edits()
        var after = before
        let result: Value
        do throws(SettingsPayloadError) { result = try change(&after, document) } catch { throw .refused(error) }
        guard after.fit(author, since: before) else { throw .tooLarge }
        // The time must not say either.
        guard after != before || document.hides(anyOf: keys) else { return (result, false) }
        try write(after)
        return (result, true)
    }

    /// Takes the edits of some primaries back; returns how many there were.
    func takeBack(_ isMeant: (UniqueIdentifier) -> Bool) throws(SettingsFailure) -> Int {
        var edits = try edits()
        let count = edits.remove(ofPrimaries: isMeant).count
        if count > 0 { try write(edits) }
        return count
    }

    private func write(_ edits: SettingEdits) throws(SettingsFailure) {
        guard let bytes = try? PropertyListWriter.write(edits.dictionary, limits: SettingEdits.fileLimits),
            bytes.count <= SettingEdits.byteLimit
        else { throw .tooLarge }
        try write(SettingEdits.fileName, bytes)
    }
}
