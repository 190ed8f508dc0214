// Files, by Apple's names. The call returns at once; the file is read from then on, and may change once it was
// accepted: `session(_:didFinish:error:)` tells when the other device has it, or why it never will.

public import Foundation
import PairedSession
import Synchronization
import TandemBase
import TandemPropertyList
import TandemSession
import TandemWire

extension WCSession {
    /// Queues a file for the counterpart. It is copied by this device's daemon; one that changes while it is copied
    /// fails with `fileAccessDenied`. Of a symbolic link the target is sent, under the link's name.
    @discardableResult
    public func transferFile(_ file: URL, metadata: [String: Any]?) -> WCSessionFileTransfer {
        let id = UniqueIdentifier.random()
        let transfer = WCSessionFileTransfer(id: id, file: WCSessionFile(fileURL: file, metadata: metadata)) {
            [weak self] in self?.takeBack(id, on: .file)
        }
        files.add(transfer)
        do throws(WCError) {
            let session = try ready()
            let values = try Self.checked(file, metadata, for: session)
            // The session keeps these closures, and not the objects with its names: they own it.
            _ = session.beginFileTransfer(
                file.path, metadata: values, id: id, followsLinks: true,
                changed: { [weak transfer] in transfer?.show($0) },
                refused: { [weak self] error in self?.fileFinished(id, Self.shown(error)) })
        } catch {
            fileFinished(id, error.underlyingError)
        }
        return transfer
    }

    /// Files that have not been stored on the other device, cancelled or given up.
    public var outstandingFileTransfers: [WCSessionFileTransfer] { files.outstanding }

    /// The metadata of a file that may be sent, as far as that can be seen at once.
    /// - Throws: the first reason against it, in the order of every send (SES-13); a URL of no file comes behind those.
    private static func checked(
        _ file: URL, _ metadata: [String: Any]?, for session: PairedSession
    ) throws(WCError) -> PropertyListDictionary? {
        var content = OutgoingContent(PropertyListDictionary())
        let values = metadata.flatMap { metadata -> PropertyListDictionary? in
            do throws(FoundationValueError) { return try PropertyListDictionary(foundation: metadata) } catch {
                var fault = error.content(.metadata)
                fault.keyPath = "metadata" + (fault.keyPath.map { "." + $0 } ?? "")
                content = OutgoingContent(fault)
                return nil
            }
        }
        if let error = session.obstacle(to: Submission(.file, to: nil, content)) { throw WCError(error) }
        guard file.isFileURL else {
            let reason = "'\(file.absoluteString)' is no URL of a file"
            throw WCError(SessionError(.fileAccessDenied, .notAFile, reason: reason))
        }
        return values
    }

    func fileFinished(_ id: UniqueIdentifier, _ error: SessionError?, isLast: Bool = true) {
        let former = { WCSessionFileTransfer(id: id, file: WCSessionFile(former: "file", metadata: nil)) {} }
        guard let transfer = files.end(id, isLast: isLast, former: former) else { return }
        if error == nil { transfer.showWhole() }
        deliver { $1.session($0, didFinish: transfer, error: error.map { WCError($0) }) }
    }

    /// After activation: what former processes queued.
    func fileLearned(_ item: OutstandingTransfer) {
        guard item.state == .accepted else {
            if files.isOutstanding(item.id) { fileFinished(item.id, nil, isLast: false) }
            return
        }
        guard files.isNew(item.id), let body = item.body,
            let values = try? PropertyListReader.readDictionary(body)
        else { return }
        let file = WCSessionFile(
            former: values[BodyKey.name]?.stringValue ?? "file",
            metadata: values[BodyKey.metadata]?.dictionaryValue?.foundationValue)
        files.add(
            WCSessionFileTransfer(id: item.id, file: file, size: Int64(item.size)) { [weak self] in
                self?.takeBack(item.id, on: .file, in: item.pairing)
            })
    }

    /// A file arrived: it is the delegate's until its method returns.
    func fileArrived(
        _ item: DeliveredItem, _ session: WCSession, _ delegate: any WCSessionDelegate
    ) {
        let path = item.content[BodyKey.path]?.stringValue ?? ""
        let metadata = item.content[BodyKey.metadata]?.dictionaryValue?.foundationValue
        delegate.session(session, didReceive: WCSessionFile(fileURL: URL(fileURLWithPath: path), metadata: metadata))
    }
}

/// A file that is transferred, or was received.
///
/// `@unchecked`: immutable, so that any thread reads it without a lock: both properties are constants. An app that
/// puts a mutable object (`NSMutableArray`) into the metadata of a transfer must not change it afterwards.
public final class WCSessionFile: NSObject, @unchecked Sendable {
    /// Where it is. A received file is deleted when the delegate's method returns: move it away before. Of a file that
    /// a former process queued only the last component says something: nothing can be below `/dev/null`.
    public let fileURL: URL
    /// The sender's metadata.
    public let metadata: [String: Any]?

    /// A file as a delegate gets it, for tests of the delegate alone: nothing is sent or read.
    /// - Parameters:
    ///   - fileURL: the file, wherever the test has it.
    ///   - metadata: not checked; of a file that arrives they are property-list values.
    public init(fileURL: URL, metadata: [String: Any]?) {
        self.fileURL = fileURL
        self.metadata = metadata
    }

    /// A file that a former process queued. Its former path is unknown. A path that cannot exist keeps a delegate that
    /// deletes transferred files from deleting another file of that name.
    convenience init(former name: String, metadata: [String: Any]?) {
        self.init(fileURL: URL(fileURLWithPath: "/dev/null/\(name)"), metadata: metadata)
    }
}

/// A file that was queued by ``WCSession/transferFile(_:metadata:)``.
public final class WCSessionFileTransfer: NSObject, BookedTransfer, Sendable {
    /// The queued file.
    public let file: WCSessionFile
    /// In bytes: what the other device has. Its `cancel()` takes the file back, as ``cancel()`` does.
    public var progress: Progress { fileProgress }
    private let fileProgress: FileProgress
    let id: UniqueIdentifier
    let course: TransferCourse

    /// - Parameter size: in bytes; -1 while it is not known.
    init(id: UniqueIdentifier, file: WCSessionFile, size: Int64 = -1, cancel: @escaping @Sendable () -> Void) {
        self.id = id
        self.file = file
        course = TransferCourse(takeBack: cancel)
        fileProgress = FileProgress(totalUnitCount: size)
        super.init()
        progress.kind = .file
        progress.cancellationHandler = { [weak self] in self?.cancel() }
    }

    /// Neither stored on the other device, nor failed, nor cancelled.
    public var isTransferring: Bool { course.isOpen }

    /// Takes the file back if no handler on the other device has it; `session(_:didFinish:error:)` tells how it ended.
    /// Until then it is transferring, also when the other device has stored it.
    public func cancel() { course.cancel() }

    /// Nothing after the end: the last steps of a file may come behind what ended it.
    func show(_ step: FileTransferProgress) {
        guard isTransferring else { return }
        let isKnown = step.total > 0 || step.handedOver == step.total
        fileProgress.show(total: isKnown ? max(1, step.total) : nil, completed: step.transferred)
    }

    /// The other device has it all.
    func showWhole() {
        let total = max(1, progress.totalUnitCount)
        fileProgress.show(total: total, completed: total)
    }
}

/// Progress whose counts the session's thread writes while an app reads them on another: Foundation's takes no lock on
/// Linux. It allows no override of `fractionCompleted` there: that alone is without the lock, and may mix the counts of
/// two moments.
///
/// `@unchecked`: `lock` protects the counts, and nothing else changes without the app. It is recursive, since
/// Foundation asks for one property while it works out another.
final class FileProgress: Progress, @unchecked Sendable {
    private let lock = NSRecursiveLock()

    override var totalUnitCount: Int64 {
        get { lock.withLock { super.totalUnitCount } }
        set { lock.withLock { super.totalUnitCount = newValue } }
    }

    override var completedUnitCount: Int64 {
        get { lock.withLock { super.completedUnitCount } }
        set { lock.withLock { super.completedUnitCount = newValue } }
    }

    override var isFinished: Bool { lock.withLock { super.isFinished } }

    override var isIndeterminate: Bool { lock.withLock { super.isIndeterminate } }

    override var localizedDescription: String? { lock.withLock { super.localizedDescription } }

    override var localizedAdditionalDescription: String? { lock.withLock { super.localizedAdditionalDescription } }

    /// Changes both counts at once.
    /// - Parameter total: nil leaves it as it is.
    func show(total: Int64?, completed: Int64) {
        lock.withLock {
            if let total { super.totalUnitCount = total }
            super.completedUnitCount = completed
        }
    }
}
