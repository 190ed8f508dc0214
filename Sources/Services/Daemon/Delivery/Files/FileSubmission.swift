// One file that an app of this device hands over: who does it, what was said of the file, and how much is written.

import TandemDelivery
import TandemFiles
import TandemWire

/// A file that an app hands over; confined to its loop.
package final class FileSubmission {
    /// Called once, unless the app goes away or cancels: with the manifest, which is then to be submitted, or why not.
    package typealias Completion = (Result<[UInt8], FileRefusal>) -> Void

    let key: FileKey
    let description: FileDescription
    /// Bytes of the manifest that it will have.
    let size: Int
    weak var source: (any FileSource)?
    let completion: Completion
    var taking: FileTaking
    var file: GrowingFile?
    var told: Int64 = 0
    var isOver = false

    init(
        _ key: FileKey, _ description: FileDescription, size: Int, from source: any FileSource, limits: FileLimits,
        completion: @escaping Completion
    ) {
        self.key = key
        self.description = description
        self.size = size
        self.source = source
        self.completion = completion
        taking = FileTaking(size: description.size, limits: limits)
    }
}
