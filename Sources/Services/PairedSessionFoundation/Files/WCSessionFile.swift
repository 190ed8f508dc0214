// Files as Apple names them: what is transferred, and its way.

public import Foundation
import PairedSession
import Synchronization
import TandemBase

/// A file that is transferred, or was received.
///
/// `@unchecked`: it needs no lock and may be read on any thread, because nothing changes: both properties are constants, and
/// the metadata's values are property-list values, which nobody changes.
public final class WCSessionFile: NSObject, @unchecked Sendable {
    /// Where it is. A received file is deleted when the delegate's method returns: move it away before. Of a file that a
    /// former process queued only the last component says something: nothing can be below `/dev/null`.
    public let fileURL: URL
    /// What its sender gave with it.
    public let metadata: [String: Any]?

    init(fileURL: URL, metadata: [String: Any]?) {
        self.fileURL = fileURL
        self.metadata = metadata
    }

    /// A file that a former process queued. Where that was nobody knows any more; a place where nothing can be keeps a
    /// delegate that deletes what has arrived from deleting another file of that name.
    convenience init(former name: String, metadata: [String: Any]?) {
        self.init(fileURL: URL(fileURLWithPath: "/dev/null/\(name)"), metadata: metadata)
    }
}

/// A file that was queued by ``WCSession/transferFile(_:metadata:)``.
///
/// `@unchecked`: `Progress` locks itself and may be used on any thread; what changes besides is under the mutex `state`.
public final class WCSessionFileTransfer: NSObject, BookedTransfer, @unchecked Sendable {
    /// What was queued.
    public let file: WCSessionFile
    /// In bytes: what the other device has. Its `cancel()` takes the file back, as ``cancel()`` does.
    public let progress: Progress
    let id: UniqueIdentifier
    private let state = Mutex(true)
    private let takeBack: @Sendable () -> Void

    /// - Parameter size: in bytes; -1 while it is not known.
    init(id: UniqueIdentifier, file: WCSessionFile, size: Int64 = -1, cancel: @escaping @Sendable () -> Void) {
        self.id = id
        self.file = file
        takeBack = cancel
        progress = Progress(totalUnitCount: size)
        super.init()
        progress.kind = .file
        progress.cancellationHandler = { [weak self] in self?.cancel() }
    }

    /// Neither stored on the other device, nor failed, nor cancelled.
    public var isTransferring: Bool { state.withLock { $0 } }

    /// Takes the file back if no handler on the other device has it; `session(_:didFinish:error:)` tells how it ended.
    public func cancel() { if isTransferring { takeBack() } }

    func show(_ step: FileTransferProgress) {
        if step.total > 0 || step.handedOver == step.total { progress.totalUnitCount = max(1, step.total) }
        progress.completedUnitCount = step.transferred
    }

    /// The other device has it all.
    func showWhole() {
        if progress.totalUnitCount < 0 { progress.totalUnitCount = 1 }
        progress.completedUnitCount = progress.totalUnitCount
    }

    func end() -> Bool {
        state.withLock { isTransferring in
            defer { isTransferring = false }
            return isTransferring
        }
    }
}
