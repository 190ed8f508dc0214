// Removing directories with everything in them, a bounded number of entries at a time: what an app put there may be large,
// and nobody is to wait for it. Only names in directories that are held open are touched, so that no link can lead
// elsewhere. What cannot be removed stays and stops nothing else; the first reason is told at the end.

internal import CTandemLinux
internal import Glibc
internal import TandemReactor

/// A removal that is done in steps.
///
/// `@unchecked`: made, used and dropped by jobs of one file worker, one after another on that worker's thread.
package final class TreeRemoval: @unchecked Sendable {
    /// An open directory and what is left of its names.
    private final class Level {
        let descriptor: OwnedDescriptor
        let path: String
        /// Its own name in the level above; nil for one that stays.
        let name: String?
        var names: [String]

        init(_ descriptor: consuming OwnedDescriptor, _ path: String, name: String?, names: [String]) {
            self.descriptor = descriptor
            self.path = path
            self.name = name
            self.names = names
        }
    }

    private var levels: [Level]
    private let depth: Int
    /// Why something stays; told when all is done.
    package private(set) var failure: FileError?

    /// - Parameters:
    ///   - names: what is removed of the directory, which itself stays.
    ///   - depth: directories within each other that are entered at most; each is held open meanwhile.
    package init(_ names: [String], in directory: OwnedDirectory, depth: Int) throws(FileError) {
        for name in names { _ = try directory.namedPlace(name) }
        self.depth = depth
        levels = [Level(try directory.opened(), directory.path, name: nil, names: names)]
    }

    /// Removes so many entries at most.
    /// - Returns: whether all is done.
    package func step(_ limit: Int) -> Bool {
        var left = limit
        while let level = levels.last {
            guard left > 0 else { return false }
            left -= 1
            if let name = level.names.popLast() { remove(name, from: level) } else { leave(level) }
        }
        return true
    }

    private func remove(_ name: String, from level: Level) {
        let entry = FilePlace(directory: level.descriptor.raw, name: name, in: level.path)
        let removed = tandem_file_remove(entry.directory, entry.name)
        guard removed == -EISDIR, levels.count <= depth else {
            return note(removed, entry, "unlink")
        }
        do throws(FileError) {
            let inner = try entry.openDirectory()
            let names = try OwnedDirectory.allNames(in: inner.raw, at: entry.path)
            levels.append(Level(inner, entry.path, name: name, names: names))
        } catch {
            failure = failure ?? error
        }
    }

    /// All in it was tried.
    private func leave(_ level: Level) {
        levels.removeLast()
        guard let name = level.name, let above = levels.last else { return }
        let place = FilePlace(directory: above.descriptor.raw, name: name, in: above.path)
        note(tandem_directory_remove(place.directory, place.name), place, "unlinkat")
    }

    private func note(_ result: CInt, _ place: FilePlace, _ call: StaticString) {
        guard result < 0, result != -ENOENT, failure == nil else { return }
        do throws(FileError) { try place.check(result, call) } catch { failure = error }
    }
}

extension FileWorker {
    /// Entries that are removed before another job has its turn.
    private static var removedAtOnce: Int { 256 }

    /// Removes what the job names, in steps, so that other jobs come between.
    /// - Parameter completion: told why something stays; nil if all is gone. Not called if the worker closes before.
    package func remove(
        _ job: @escaping @Sendable () throws(FileError) -> TreeRemoval?,
        then completion: @escaping (FileError?) -> Void
    ) {
        attempt(job) { [weak self] result in
            switch result {
            case .failure(let error): completion(error)
            case .success(nil): completion(nil)
            case .success(let removal?): self?.go(on: removal, completion)
            }
        }
    }

    private func go(on removal: TreeRemoval, _ completion: @escaping (FileError?) -> Void) {
        perform({ removal.step(Self.removedAtOnce) }) { [weak self] isDone in
            if isDone { completion(removal.failure) } else { self?.go(on: removal, completion) }
        }
    }
}
