// Watch over the files of one directory that a configuration reads: configuration files, stored preferences.

import TandemFiles
import TandemReactor

/// The watch over the files of one directory. A directory that is missing, or gone, is looked for once a second.
///
/// `@unchecked`: all state belongs to the thread of the library's event loop.
package final class FileLookout: @unchecked Sendable {
    private let directory: String
    private let names: [String]
    private let changed: @Sendable () -> Void
    private let loop: EventLoop
    private var watch: DirectoryWatch?
    private var isStopped = false
    private var isDue = false

    /// Nil if the system has no thread for it: then files are read at a load only.
    package init?(in directory: String, of names: [String], changed: @escaping @Sendable () -> Void) {
        guard let loop = ConfigurationThread.loop else { return nil }
        self.directory = directory
        self.names = names
        self.changed = changed
        self.loop = loop
    }

    package func start() { loop.submit { self.begin() } }

    package func stop() {
        loop.submit {
            self.isStopped = true
            self.watch?.cancel()
            self.watch = nil
        }
    }

    private func begin() {
        guard !isStopped else { return }
        watch = try? DirectoryWatch(path: directory, loop: loop) { [weak self] in self?.happened($0) }
        guard watch != nil else {
            loop.schedule(after: .seconds(1)) { [weak self] in self?.begin() }
            return
        }
        // No event has told of changes before the watch began.
        look()
    }

    private func happened(_ event: DirectoryWatch.Event) {
        switch event {
        case .changed(let names): if !names.isDisjoint(with: self.names) { look() }
        case .lost:
            watch?.cancel()
            watch = nil
            look()
            begin()
        }
    }

    /// Editors write in several steps; a pause far under a second makes one reading of them.
    private func look() {
        guard !isDue else { return }
        isDue = true
        loop.schedule(after: .milliseconds(100)) { [weak self] in
            guard let self, !isStopped else { return }
            isDue = false
            changed()
        }
    }
}
