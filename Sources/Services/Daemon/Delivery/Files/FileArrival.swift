// One file that comes over a link: the item that announced it, what is written of it, and the rules of its pulling.

import TandemBase
import TandemDelivery
import TandemFiles
import TandemWire

/// A file that comes; confined to its loop.
final class FileArrival {
    let key: FileKey
    let sequence: UInt64
    let manifest: FileManifest
    /// The item as it came first.
    let item: Envelope
    let began: MonotonicTime
    var receiver: FileReceiver?
    var file: GrowingFile?
    /// Bytes of it that were on the disk when it came.
    var found: Int64 = 0
    var pace: ProgressPace
    /// An item with this identifier waits for its handler, and has the file.
    var isAnothers = false
    /// The link went and the item has not come again since.
    var isCut = false
    private(set) var isOver = false

    init(
        _ key: FileKey, _ item: Envelope, sequence: UInt64, _ manifest: FileManifest, limits: FileLimits,
        at now: MonotonicTime
    ) {
        self.key = key
        self.sequence = sequence
        self.manifest = manifest
        self.item = item
        began = now
        pace = ProgressPace(size: manifest.file.size, limits: limits)
    }

    /// Bytes that are still to be written.
    var missing: Int64 { max(0, manifest.file.size - (receiver?.written ?? found)) }

    func end() {
        isOver = true
        file = nil
        receiver = nil
    }
}
