// Which file: items choose their own identifiers, so only the queue and the identifier together name one.

package import TandemBase

/// One file of a queue.
package struct FileKey: Sendable, Hashable {
    package let queue: QueueKey
    package let id: UniqueIdentifier

    package init(_ queue: QueueKey, _ id: UniqueIdentifier) {
        self.queue = queue
        self.id = id
    }
}
