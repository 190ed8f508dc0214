// Files that apps of this device submit (FIL-2 to FIL-4): written to the spool as they come, and accepted when they are
// durable there. An upload that ends before that leaves nothing.

import TandemBase
package import TandemDelivery
import TandemFiles
import TandemOperations
package import TandemPropertyList
package import TandemSession
package import TandemWire

/// Takes files from apps into the spool; confined to its loop.
package final class FileUploads {
    /// Called once, unless the app goes away or cancels: with the manifest, which is then to be submitted, or why not.
    package typealias Completion = (Result<[UInt8], FileRefusal>) -> Void

    private let environment: FileEnvironment
    /// The user of this device who owns an app; nil if unknown.
    private let userOf: (ApplicationIdentifier) -> UInt32?
    private var uploads: [FileKey: Upload] = [:]
    private var waiting = WaitingFiles()
    private var spooled = FileBudget<SpoolOwner>()
    private var described: SharedResource<SpoolOwner>
    /// The connection that submitted a file, which gets its progress.
    private var sources: [FileKey: ConnectionNumber] = [:]
    private lazy var leftovers = FileLeftovers(
        on: environment.scheduler, isTaken: { [weak self] in self?.isSpooled($0) != false },
        remove: { [weak self] in for key in $0 { self?.remove(key) } })

    init(in environment: FileEnvironment, userOf: @escaping (ApplicationIdentifier) -> UInt32?) {
        self.environment = environment
        self.userOf = userOf
        described = SharedResource(total: environment.limits.described)
    }

    private var limits: FileLimits { environment.limits }

    // MARK: taking

    /// An app submits a file.
    /// - Parameter completion: gets the item's body once its bytes are durable here; the caller submits the item with
    ///   it, and calls ``discard(_:)`` if that fails.
    package func take(
        _ key: FileKey, body: PropertyListDictionary, from source: ConnectionNumber,
        then completion: @escaping Completion
    ) {
        do throws(FileRefusal) {
            let (size, manifest) = try described(body)
            drop(key, for: source, .takenOver)
            let upload = Upload(
                key, of: owner(of: key), size: size, manifest: manifest, from: source, limits: limits,
                completion: completion)
            let mayBegin = mayBegin(upload)
            try checkQuota(of: upload, mayBegin: mayBegin)
            try describe(upload)
            spooled.set(key, of: upload.owner, size: size)
            if mayBegin { begin(upload) } else { waiting.append(upload) }
        } catch {
            completion(.failure(error))
        }
    }

    /// Checks the bound of an app's files that wait for their turn, which is that of items that wait for the peer
    /// (LIM-14), and the bytes of all files (LIM-43).
    private func checkQuota(of upload: Upload, mayBegin: Bool) throws(FileRefusal) {
        let (key, size) = (upload.key, upload.size)
        if let refusal = spooled.refusal(of: key, of: upload.owner, size: size, limit: limits.spooled) {
            throw refusal
        }
        guard !mayBegin else { return }
        let others = waiting.kept(of: key.queue.app)
        let bytes = upload.manifest.count
        guard others.records < limits.waiting, bytes <= limits.waitingBytes - others.bytes else {
            throw .queueFull(actual: others.records, limit: limits.waiting)
        }
    }

    /// Charges the user with the memory of an upload, which may wait for its first byte for ever (LIM-51).
    private func describe(_ upload: Upload) throws(FileRefusal) {
        let (owner, memory) = (upload.owner, upload.memory)
        guard described.charge(memory, to: owner) else {
            throw .overDescribed(actual: described.used(by: owner), limit: described.limit(of: owner))
        }
    }

    /// The file's size, and its manifest with a digest to come.
    private func described(
        _ body: PropertyListDictionary
    ) throws(FileRefusal) -> (size: Int64, manifest: [UInt8]) {
        let (size, bytes): (Int64, [UInt8])
        do throws(WireError) {
            let description = try FileDescription(reading: body, limits: limits)
            size = description.size
            bytes = try Body.bytes(FileManifest(description, digest: [UInt8](repeating: 0, count: 32)).dictionary)
        } catch {
            throw .unreadable(error)
        }
        guard bytes.count <= limits.manifest else { throw .tooLarge(actual: bytes.count, limit: limits.manifest) }
        return (size, bytes)
    }

    private func owner(of file: FileKey) -> SpoolOwner {
        userOf(file.queue.app).map { .user($0) } ?? .app(file.queue.app)
    }

    private func begin(_ upload: Upload) {
        uploads[upload.key] = upload
        // The job below removes the file that another item has left under this name.
        leftovers.removed(upload.key)
        let (spool, spoolKey) = (environment.spool, upload.key.spoolKey)
        let (size, space) = (upload.size, environment.space(on: spool))
        environment.worker.attempt({ () throws(FileRefusal) -> GrowingFile in
            try space.check(for: size)
            return try translating { () throws(FileError) in
                try spool.remove(spoolKey)
                return try spool.open(spoolKey)
            }
        }) { [self] result in
            guard !upload.isOver else { return }
            switch result {
            case .failure(let refusal): refuse(upload, refusal)
            case .success(let file):
                upload.file = file
                report(upload)
                if upload.taking.isComplete { finish(upload) }
            }
        }
    }

    /// A part of a file from an app. One of a file that was refused meanwhile is dropped.
    /// - Returns: false for a part out of place, which ends the connection (FIL-3).
    package func take(_ chunk: ChunkFrame, from source: ConnectionNumber) -> Bool {
        guard let upload = uploads[chunk.item], upload.source == source else {
            return waiting[chunk.item]?.source != source
        }
        let body = chunk.body
        // Without an open file its app has not been asked for a part yet.
        guard let file = upload.file, upload.taking.takes(chunkAt: chunk.offset, count: body.count) else {
            return false
        }
        environment.append(body, to: file, on: environment.spool) { [self] result in
            guard !upload.isOver else { return }
            if case .failure(let refusal) = result { return refuse(upload, refusal) }
            if upload.taking.wrote(body.count) { report(upload) }
            if upload.taking.isComplete { finish(upload) }
        }
        return true
    }

    private func report(_ upload: Upload) {
        environment.notify(.taking(offset: upload.taking.written), of: upload.key, upload.source, nil)
    }

    private func finish(_ upload: Upload) {
        guard let file = upload.file else { return }
        environment.worker.attempt({ () throws(FileError) in try file.finish() }) { [self] result in
            guard !upload.isOver else { return }
            end(upload)
            switch result {
            case .failure(let error): refuse(upload, .machine(error))
            case .success(let digest):
                sources[upload.key] = upload.source
                upload.completion(manifest(of: upload, digest))
            }
        }
    }

    private func manifest(of upload: Upload, _ digest: [UInt8]) -> Result<[UInt8], FileRefusal> {
        do throws(WireError) {
            let file = try FileManifest(reading: upload.manifest[...], limits: limits).file
            return .success(try Body.bytes(FileManifest(file, digest: digest).dictionary))
        } catch {
            return .failure(.unreadable(error))
        }
    }

    private func refuse(_ upload: Upload, _ refusal: FileRefusal) {
        end(upload)
        discard(upload.key)
        upload.completion(.failure(refusal))
    }

    private func end(_ upload: Upload) {
        if !upload.isOver { described.release(upload.memory, of: upload.owner) }
        upload.isOver = true
        upload.file = nil
        if uploads[upload.key] === upload { uploads[upload.key] = nil }
        waiting.remove(upload)
        let apps = Set(uploads.keys.map(\.queue.app))
        let isFree = uploads.count < limits.uploads
        if let next = waiting.takeFirst(where: { isFree || !apps.contains($0) }) { begin(next) }
    }

    /// One file of each app at any time: an app that begins many and continues none delays only itself.
    private func mayBegin(_ upload: Upload) -> Bool {
        uploads.count < limits.uploads || !uploads.keys.contains { $0.queue.app == upload.key.queue.app }
    }

    // MARK: ending

    /// Ends an upload: it was cancelled, or begins again. Another connection that was submitting the file gets the
    /// reason.
    /// - Returns: whether there was one.
    @discardableResult
    package func drop(_ key: FileKey, for source: ConnectionNumber? = nil, _ reason: FileRefusal? = nil) -> Bool {
        guard let upload = uploads[key] ?? waiting[key] else { return false }
        end(upload)
        discard(key)
        if let reason, upload.source != source { upload.completion(.failure(reason)) }
        return true
    }

    /// An app's connection has ended.
    package func sourceLeft(_ source: ConnectionNumber) { dropAll { $0.source == source } }

    private func dropAll(where isGone: (Upload) -> Bool) {
        // First those that wait: the end of one lets the next one begin.
        for upload in (waiting.all + uploads.values).filter(isGone) { drop(upload.key) }
    }

    /// Removes a spooled file.
    package func discard(_ key: FileKey) {
        sources[key] = nil
        spooled.remove(key)
        remove(key)
    }

    private func remove(_ key: FileKey) {
        let (spool, spoolKey) = (environment.spool, key.spoolKey)
        environment.remove("removing a spooled file", key, orAddTo: leftovers) { () throws(FileError) in
            try spool.remove(spoolKey)
            return nil
        }
    }

    /// Removes every spooled file of another item.
    func restore(_ sent: [FileKey]) {
        let spool = environment.spool
        let kept = Set(sent.map(\.spoolKey))
        spooled.beginRestoring()
        environment.count({ () throws(FileError) in try spool.removeAll(but: kept) }) { [weak self] found in
            guard let self else { return }
            // The first attempt at one that is not to be kept has failed. If an app has handed it over again meanwhile,
            // its upload has removed the old bytes, or will.
            for (file, _) in found where !kept.contains(file.spoolKey) && !isSpooled(file) { remove(file) }
            spooled.restore(
                found.filter { kept.contains($0.file.spoolKey) }.map { ($0.file, owner(of: $0.file), $0.size) })
        }
    }

    func removePairing(_ pairing: UniqueIdentifier) {
        dropAll { $0.key.queue.pairing == pairing }
        sources = sources.filter { $0.key.queue.pairing != pairing }
        spooled.removeAll { $0.queue.pairing == pairing }
        leftovers.removeAll(of: pairing)
        let spool = environment.spool
        environment.clear("removing a pairing's files") { () throws(FileError) in try spool.removal(of: pairing) }
    }

    // MARK: state

    /// Whether the bytes of the file are coming from its app, or wait for their turn.
    func isTaking(_ key: FileKey) -> Bool { (uploads[key] ?? waiting[key]) != nil }

    /// Whether the file is being taken, or belongs to an item, or waits for its item.
    private func isSpooled(_ key: FileKey) -> Bool { spooled[key] != nil }

    /// The bytes of a spooled file; nil if there is none.
    func size(of key: FileKey) -> Int64? { spooled[key] }

    /// The connection that submitted a spooled file; it may be gone.
    func source(of key: FileKey) -> ConnectionNumber? { sources[key] }
}

/// One file that an app submits; confined to its loop.
private final class Upload {
    let key: FileKey
    let owner: SpoolOwner
    let size: Int64
    /// As bytes, which need less memory than what is read from them.
    let manifest: [UInt8]
    let source: ConnectionNumber
    let completion: FileUploads.Completion
    var taking: FileUpload
    var file: GrowingFile?
    var isOver = false

    init(
        _ key: FileKey, of owner: SpoolOwner, size: Int64, manifest: [UInt8], from source: ConnectionNumber,
        limits: FileLimits, completion: @escaping FileUploads.Completion
    ) {
        self.key = key
        self.owner = owner
        self.size = size
        self.manifest = manifest
        self.source = source
        self.completion = completion
        taking = FileUpload(size: size, limits: limits)
    }

    /// About the memory that it takes: the frame that began it, its manifest, and what the daemon notes of it.
    var memory: Int { 2 * manifest.count + 1024 }
}

/// Submissions that wait for their turn, in the order in which they came. An app may submit thousands of files, so no
/// operation looks at all of them for one: an entry that is gone is skipped in the order, and dropped from it when such
/// entries are the greater part.
private struct WaitingFiles {
    private var order: [Upload] = []
    private var uploads: [FileKey: Upload] = [:]
    private var kept: [ApplicationIdentifier: KeptAmount] = [:]

    /// In no order.
    var all: [Upload] { Array(uploads.values) }

    subscript(key: FileKey) -> Upload? { uploads[key] }

    /// How many of an app wait, and the bytes that describe them.
    func kept(of app: ApplicationIdentifier) -> KeptAmount { kept[app] ?? KeptAmount() }

    mutating func append(_ upload: Upload) {
        order.append(upload)
        uploads[upload.key] = upload
        kept[upload.key.queue.app, default: KeptAmount()] += KeptAmount(records: 1, bytes: upload.manifest.count)
    }

    mutating func remove(_ upload: Upload) {
        guard uploads[upload.key] === upload else { return }
        uploads[upload.key] = nil
        let app = upload.key.queue.app
        let before = kept(of: app)
        let rest = KeptAmount(records: before.records - 1, bytes: before.bytes - upload.manifest.count)
        kept[app] = rest.records > 0 ? rest : nil
        if order.count > 64, order.count > 2 * uploads.count {
            let uploads = uploads
            order.removeAll { uploads[$0.key] !== $0 }
        }
    }

    /// Takes out the first one whose app may begin.
    mutating func takeFirst(where mayBegin: (ApplicationIdentifier) -> Bool) -> Upload? {
        guard kept.keys.contains(where: mayBegin) else { return nil }
        let first = order.first { uploads[$0.key] === $0 && mayBegin($0.key.queue.app) }
        if let first { remove(first) }
        return first
    }
}
