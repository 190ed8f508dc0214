// What epoll reports about a descriptor, and who wants to know.

internal import CTandemLinux

/// What a descriptor is ready for, or what its owner waits for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static var readable: Self { Self(rawValue: TANDEM_READABLE) }
    package static var writable: Self { Self(rawValue: TANDEM_WRITABLE) }
    /// An error or the end; reported without being asked for. Reading or writing tells what it is.
    package static var failed: Self { Self(rawValue: TANDEM_FAILED | TANDEM_HUNG_UP) }

    // Sets are made from numbers where every event passes: a literal of them would be an array on the heap.

    /// A reason to read: there are bytes, or there will never be any.
    package static var readableOrFailed: Self { Self(rawValue: TANDEM_READABLE | TANDEM_FAILED | TANDEM_HUNG_UP) }
    package static var nothing: Self { Self(rawValue: 0) }
}

/// Is told when its descriptor is ready; on the loop's thread.
package protocol ReadinessTarget: AnyObject {
    /// May register and deregister anything, itself included.
    func isReady(_ readiness: Readiness)
}

/// A descriptor under watch; becomes stale when it is deregistered, however soon its number is used again.
package struct Registration: Hashable, Sendable {
    let descriptor: CInt
    let generation: UInt32
}
