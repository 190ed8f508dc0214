// Files as Apple names them: what is transferred, and its way.

public import Foundation
import PairedSession
import Synchronization
import TandemIdentity

/// A file that is transferred, or was received.
///
/// `@unchecked`: nothing changes, and the metadata's values are property-list values, which nobody changes.
public final class WCSessionFile: NSObject, @unchecked Sendable {
    /// Where it is. A received file is deleted when the delegate's method returns: move it away before.
    public let fileURL: URL
    /// What its sender gave with it.
    public let metadata: [String: Any]?

    init(fileURL: URL, metadata: [String: Any]?) {
        self.fileURL = fileURL
        self.metadata = metadata
    }
}

/// A file that was queued by ``WCSession/transferFile(_:metadata:)``.
///
/// `@unchecked`: `Progress` may be used from any thread, the rest never changes or is under the lock.
public final class WCSessionFileTransfer: NSObject, @unchecked Sendable {
    /// What was queued.
    public let file: WCSessionFile
    /// In bytes: what the other device has. Its `cancel()` takes the file back, as ``cancel()`` does.
    public let progress: Progress
    let id: UniqueIdentifier
    private let state = Mutex(true)
    private let takeBack: @Sendable () -> Void

    init(id: UniqueIdentifier, file: WCSessionFile, cancel: @escaping @Sendable () -> Void) {
        self.id = id
        self.file = file
        takeBack = cancel
        progress = Progress(totalUnitCount: -1)
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

    /// False if it had ended before.
    func end() -> Bool {
        state.withLock { isTransferring in
            defer { isTransferring = false }
            return isTransferring
        }
    }
}
