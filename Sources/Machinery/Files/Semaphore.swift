// A counting semaphore: how a thread of ours sleeps while it has nothing to do, and how a start-up read waits for the
// store's. It lives on the heap, because sem_t must not move.

import Glibc

/// A counting semaphore that any thread may use.
// @unchecked: sem_t is made for use by many threads at once; the pointer never changes.
package final class Semaphore: @unchecked Sendable {
    private let handle = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    package init() {
        let result = sem_init(handle, 0, 0)
        precondition(result == 0)
    }

    deinit {
        sem_destroy(handle)
        handle.deallocate()
    }

    package func signal() { sem_post(handle) }

    package func wait() { while sem_wait(handle) != 0 {} }
}
