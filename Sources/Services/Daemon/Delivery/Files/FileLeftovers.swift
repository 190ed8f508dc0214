// Files that are no longer needed and could not be removed, perhaps because no descriptor was free. Their removal is
// tried again after a pause (LIM-56), because the bytes are in no account and the next start may be months away.

import TandemBase
import TandemDelivery
import TandemFiles
import TandemReactor
import TandemStore
import TandemWire

/// Files whose removal has failed; confined to its loop.
final class FileLeftovers {
    private var files: Set<FileKey> = []
    private let retry: LaterAttempt
    private let isTaken: (FileKey) -> Bool
    private let remove: (Set<FileKey>) -> Void

    /// - Parameters:
    ///   - isTaken: whether bytes of another file with this key are coming, so that it is not to be removed.
    ///   - remove: tries again; what fails is added again, what succeeds is ``removed(_:)``.
    init(
        on scheduler: any Scheduler, isTaken: @escaping (FileKey) -> Bool, remove: @escaping (Set<FileKey>) -> Void
    ) {
        retry = LaterAttempt(on: scheduler)
        (self.isTaken, self.remove) = (isTaken, remove)
    }

    /// The removal of a file has failed.
    /// - Returns: whether that is news; an operator needs one line for each file.
    @discardableResult
    func add(_ key: FileKey, after error: FileError? = nil) -> Bool {
        guard error?.mayPass != false, !isTaken(key) else {
            files.remove(key)
            return true
        }
        retry.request { [weak self] in self?.tryAgain() }
        return files.insert(key).inserted
    }

    /// The file is gone, or belongs to an item again.
    func removed(_ key: FileKey) { files.remove(key) }

    func removeAll(of pairing: UniqueIdentifier) { files = files.filter { $0.queue.pairing != pairing } }

    private func tryAgain() {
        files = files.filter { !isTaken($0) }
        if !files.isEmpty { remove(files) }
    }
}
