// Two exchanges of files with a wire between them that tests can cut and spoil, real disks, and a clock that is turned
// by hand. The items are a stand-in: one queue, in order, stored at once.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

/// One device: its files, and what the daemon around it would do.
final class FileDevice {
    private(set) lazy var files = FileDelivery(
        in: state, scheduler: scheduler, limits: limits,
        inbox: { [unowned self] _ throws(FileError) in
            guard hasInbox else { throw FileError.inUse(path: path, process: nil) }
            return AppInbox(of: app, owner: nil)
        }, counters: counters, log: log.append)
    let items = StandInItems()
    let app: OwnedDirectory
    let path: String
    /// Frames on their way to the other device, and those for apps.
    var sent: [Envelope] = []
    var told: [Envelope] = []
    var hasInbox = true
    let counters = Counters()
    let log = LogLines()

    /// The connection of its app that submits files.
    let source = ConnectionNumber(1)
    private let state: OwnedDirectory
    private let scheduler: any Scheduler
    private let limits: FileLimits

    init(_ name: String, in temporary: TemporaryDirectory, _ scheduler: any Scheduler, _ limits: FileLimits) throws {
        path = temporary.path(name)
        (self.scheduler, self.limits) = (scheduler, limits)
        state = try OwnedDirectory(path: path)
        app = try state.directory(named: "app")
        files.attach(to: items)
        files.connect(send: { [unowned self] envelope, _ in sent.append(envelope) })
        files.connect { [unowned self] envelope, _, _ in told.append(envelope) }
    }

    /// A part of a file from its app.
    /// - Parameter other: the connection; nil for the app's own.
    func take(_ chunk: Envelope, from other: ConnectionNumber? = nil) -> Bool {
        (try? ChunkFrame(chunk)).map { files.uploads.take($0, from: other ?? source) } ?? false
    }

    /// The names of the files in one of its directories, at any depth.
    func names(in directory: String) throws -> [String] { try allFiles(below: "\(path)/\(directory)") }

    private func allFiles(below path: String) throws -> [String] {
        guard let directory = try? OwnedDirectory(existing: path) else { return [] }
        return try directory.names().flatMap { name in
            let inner = try allFiles(below: "\(path)/\(name)")
            return (try? OwnedDirectory(existing: "\(path)/\(name)")) == nil ? [name] : inner
        }
    }
}

/// Stores items in order, and retains them until the test releases them.
final class StandInItems: FileItems {
    var stored: [Envelope] = []
    var gaps: [UInt64] = []
    var kept: Set<UniqueIdentifier> = []
    var unreadable: [UniqueIdentifier] = []
    var gone: [UniqueIdentifier] = []
    var isUnderWay = true
    /// A commit takes its time: what waits for it is held.
    var isCommitting = false
    private var held: [() -> Void] = []
    private(set) var askedForKept = 0

    func endCommit() {
        isCommitting = false
        for done in held { done() }
        held = []
    }

    private var next: UInt64 { UInt64(stored.count + gaps.count) + 1 }

    /// The disk is full: no item is stored, and gaps are.
    var isFull = false

    func wouldStore(_ sequence: UInt64, size: Int, in queue: QueueKey) -> Bool { !isFull && sequence == next }
    func isNext(_ sequence: UInt64, in queue: QueueKey) -> Bool { sequence == next }

    func store(_ envelope: Envelope) -> Bool {
        guard envelope.sequence == next else { return true }
        if envelope.kind == .gap {
            gaps.append(next)
        } else {
            stored.append(envelope)
            if let id = envelope.id { kept.insert(id) }
        }
        return true
    }

    func isUnderWay(_ id: UniqueIdentifier, in queue: QueueKey) -> Bool { isUnderWay }
    func fileIsUnreadable(_ id: UniqueIdentifier, isGone: Bool, in queue: QueueKey) {
        if isGone { gone.append(id) } else { unreadable.append(id) }
    }
    func keptFiles(of queue: QueueKey, then done: @escaping (Set<UniqueIdentifier>?) -> Void) {
        askedForKept += 1
        let kept = kept
        if isCommitting { held.append { done(kept) } } else { done(kept) }
    }
}

extension FileLimits {
    /// The standard limits with a change.
    init(_ change: (inout FileLimits) -> Void) {
        self.init()
        change(&self)
    }
}

/// Both devices and the wire.
final class FileDevices {
    let temporary = TemporaryDirectory()
    let scheduler = ManualScheduler()
    let sender: FileDevice
    let receiver: FileDevice
    let queue: QueueKey
    var sentBytes = 0
    /// Changes or drops a frame on its way to the receiver.
    var spoil: (Envelope) -> Envelope? = { $0 }

    init(senderLimits: FileLimits = FileLimits(), receiverLimits: FileLimits = FileLimits()) throws {
        queue = QueueKey(
            pairing: UniqueIdentifier(high: 7, low: 7), app: try ApplicationIdentifier("org.example.app"),
            channel: .file)
        sender = try FileDevice("sender", in: temporary, scheduler, senderLimits)
        receiver = try FileDevice("receiver", in: temporary, scheduler, receiverLimits)
    }

    deinit {
        sender.files.close()
        receiver.files.close()
    }

    func key(_ number: UInt64) -> FileKey { FileKey(queue, UniqueIdentifier(high: 1, low: number)) }

    /// Runs until nothing moves, or `limit` chunks have passed.
    func run(chunks limit: Int = .max) {
        var left = limit
        while true {
            settle()
            guard !sender.sent.isEmpty || !receiver.sent.isEmpty else { return }
            let (forth, back) = (sender.sent, receiver.sent)
            (sender.sent, receiver.sent) = ([], [])
            for frame in forth {
                if frame.kind == .chunk {
                    guard left > 0 else { return }
                    left -= 1
                    sentBytes += frame.body?.count ?? 0
                }
                if let frame = spoil(frame) { #expect(receiver.files.receive(frame)) }
            }
            for frame in back where frame.kind == .fetch { #expect(sender.files.receive(frame)) }
            failures += back.filter { $0.kind == .failure }
        }
    }

    private(set) var failures: [Envelope] = []

    /// Lets both disks finish, and what they lead to.
    func settle() {
        for _ in 0..<8 {
            scheduler.run()
            sender.files.waitForDisk()
            receiver.files.waitForDisk()
        }
        scheduler.run()
    }

    func cut() {
        (sender.sent, receiver.sent) = ([], [])
        sender.files.linkClosed(queue.pairing)
        receiver.files.linkClosed(queue.pairing)
    }

    /// An app of the sender hands a file over.
    /// - Returns: the manifest, or why not.
    func handOver(
        _ bytes: [UInt8], name: String = "file.bin", number: UInt64 = 1, metadata: PropertyListDictionary? = nil
    ) -> Result<[UInt8], FileRefusal>? {
        let key = key(number)
        var result: Result<[UInt8], FileRefusal>?
        let file = FileDescription(name: name, size: Int64(bytes.count), metadata: metadata)
        sender.files.uploads.take(key, body: file.dictionary, from: sender.source) { result = $0 }
        settle()
        var offset = 0
        while result == nil, offset < bytes.count {
            let part = Array(bytes[offset..<min(offset + 65_536, bytes.count)])
            #expect(sender.take(chunk(part, at: offset, of: key)))
            offset += part.count
            settle()
        }
        return result
    }

    /// An app of the sender announces a file, and hands nothing of it over yet.
    /// - Parameter source: the connection; nil for the app's own.
    func announce(
        _ key: FileKey, size: Int64 = 9, from source: ConnectionNumber? = nil,
        then completion: @escaping (Result<[UInt8], FileRefusal>) -> Void = { _ in }
    ) {
        sender.files.uploads.take(
            key, body: ["name": "x", "size": .integer(size)], from: source ?? sender.source, then: completion)
    }

    func chunk(_ bytes: [UInt8], at offset: Int, of key: FileKey) -> Envelope {
        Envelope(
            .chunk, app: queue.app, pairing: queue.pairing, id: key.id, channel: .file, offset: UInt64(offset),
            body: bytes)
    }

    /// The sender's daemon tells of the item.
    func tell(_ manifest: [UInt8], number: UInt64 = 1, sequence: UInt64 = 1) {
        sender.sent.append(
            Envelope(
                .item, app: queue.app, pairing: queue.pairing, id: key(number).id, channel: .file, sequence: sequence,
                remaining: .seconds(100), body: manifest))
    }

    /// The receiver's daemon hands the stored item to its app.
    func hand() -> Result<PropertyListDictionary, FileOfferFailure>? {
        guard let body = receiver.items.stored.first(where: { $0.id == key(1).id })?.body else { return nil }
        var result: Result<[UInt8], FileOfferFailure>?
        receiver.files.offers.offer(key(1).id, in: queue, manifest: Array(body)) { result = $0 }
        settle()
        return result?.map { (try? Body.dictionary($0[...])) ?? [:] }
    }
}
