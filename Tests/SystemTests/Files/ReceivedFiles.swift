// What the receiving app was given, for tests to wait for.

import PairedSession
import Synchronization

/// The files in the order in which they came.
final class ReceivedFiles: Sendable {
    private let files = Mutex<[(path: String, file: ReceivedFile)]>([])

    func add(_ path: String, _ file: ReceivedFile) { files.withLock { $0.append((path, file)) } }

    var all: [(path: String, file: ReceivedFile)] { files.withLock { $0 } }
}
