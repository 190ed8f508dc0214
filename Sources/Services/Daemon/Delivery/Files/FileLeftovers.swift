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
    /// Files of one app (LIM-152). Each costs a job after each pause, and an app can make its files unremovable.
    private static let limit = 256

    private var files: [ApplicationIdentifier: Set<FileKey>] = [:]
    private let retry: LaterAttempt
    private let isTaken: (FileKey) -> Bool
    private let remove: (Set<FileKey>) -> Void

    /// - Parameters:
    ///   - isTaken: whether another file has this key now, or its bytes are coming, so that it is not to be removed.
    ///   - remove: tries again; what fails is added again, what succeeds is ``removed(_:)``.
    init(
        on scheduler: any Scheduler, isTaken: @escaping (FileKey) -> Bool, remove: @escaping (Set<FileKey>) -> Void
    ) {
        retry = LaterAttempt(on: scheduler)
        (self.isTaken, self.remove) = (isTaken, remove)
    }

    /// The removal of a file has failed. It is left for the next start if the reason stays, or if there are too many.
    /// - Returns: whether that is news; an operator needs one line for each file.
    @discardableResult
    func add(_ key: FileKey, after error: FileError? = nil) -> Bool {
        guard !isTaken(key) else {
            removed(key)
            return false
        }
        guard error?.mayPass != false, hasRoom(for: key) else {
            removed(key)
            return true
        }
        retry.request { [weak self] in self?.tryAgain() }
        return files[key.queue.app, default: []].insert(key).inserted
    }

    private func hasRoom(for key: FileKey) -> Bool {
        guard let files = files[key.queue.app] else { return true }
        return files.count < Self.limit || files.contains(key)
    }

    /// The file is gone, or belongs to an item again.
    func removed(_ key: FileKey) { files[key.queue.app]?.remove(key) }

    func removeAll(of pairing: UniqueIdentifier) { keepOnly { $0.queue.pairing != pairing } }

    private func keepOnly(_ isKept: (FileKey) -> Bool) {
        files = files.mapValues { $0.filter(isKept) }.filter { !$0.value.isEmpty }
    }

    private func tryAgain() {
        keepOnly { !isTaken($0) }
        if !files.isEmpty { remove(Set(files.values.joined())) }
    }
}
