// epoll with a table of the descriptors and their handlers. The kernel hands back (generation, descriptor) with each
// event; an event whose generation is not the entry's is about a descriptor that was closed, perhaps reused, since: it
// is dropped.

internal import CTandemLinux

struct Selector: ~Copyable {
    private struct Entry {
        var generation: UInt32 = 0
        var interest: Readiness = []
        var target: (any ReadinessTarget)?
    }

    private static var capacity: Int { 256 }

    private let epoll: OwnedDescriptor
    private let events: UnsafeMutablePointer<tandem_event>
    private var entries: ContiguousArray<Entry> = []
    private var nextGeneration: UInt32 = 0
    private(set) var staleEvents: UInt64 = 0

    init() throws(SystemError) {
        epoll = try OwnedDescriptor(tandem_epoll_create(), "epoll_create1")
        events = .allocate(capacity: Self.capacity)
    }

    deinit { events.deallocate() }

    mutating func add(
        _ descriptor: CInt, interest: Readiness, target: any ReadinessTarget
    ) throws(SystemError) -> Registration {
        while entries.count <= Int(descriptor) { entries.append(Entry()) }
        nextGeneration &+= 1
        let registration = Registration(descriptor: descriptor, generation: nextGeneration)
        try SystemCall.check(
            tandem_epoll_add(epoll.raw, descriptor, interest.rawValue, registration.eventData), "epoll_ctl")
        entries[Int(descriptor)] = Entry(generation: nextGeneration, interest: interest, target: target)
        return registration
    }

    mutating func modify(_ registration: Registration, interest: Readiness) throws(SystemError) {
        guard isCurrent(registration), entries[Int(registration.descriptor)].interest != interest else { return }
        try SystemCall.check(
            tandem_epoll_modify(epoll.raw, registration.descriptor, interest.rawValue, registration.eventData),
            "epoll_ctl")
        entries[Int(registration.descriptor)].interest = interest
    }

    /// Takes the target out, for the caller to let go of: it may call back when it is freed.
    mutating func remove(_ registration: Registration) -> (any ReadinessTarget)? {
        guard isCurrent(registration) else { return nil }
        let target = entries[Int(registration.descriptor)].target
        entries[Int(registration.descriptor)] = Entry()
        _ = tandem_epoll_remove(epoll.raw, registration.descriptor)
        return target
    }

    /// Waits and returns the number of events; `target(ofEvent:)` resolves each when its turn comes.
    mutating func wait(milliseconds: CInt) throws(SystemError) -> Int {
        Int(try SystemCall.check(tandem_epoll_wait(epoll.raw, events, CInt(Self.capacity), milliseconds), "epoll_wait"))
    }

    /// The handler for an event of the last wait; nil if an earlier event in the same batch removed it.
    mutating func target(ofEvent index: Int) -> (target: any ReadinessTarget, readiness: Readiness)? {
        let event = events[index]
        let registration = Registration(eventData: event.data)
        guard isCurrent(registration), let target = entries[Int(registration.descriptor)].target else {
            staleEvents += 1
            return nil
        }
        return (target, Readiness(rawValue: event.readiness))
    }

    /// Takes all targets out, for the caller to let go of.
    mutating func takeAll() -> [any ReadinessTarget] {
        defer { entries = [] }
        return entries.compactMap(\.target)
    }

    private func isCurrent(_ registration: Registration) -> Bool {
        let index = Int(registration.descriptor)
        return index < entries.count && entries[index].target != nil
            && entries[index].generation == registration.generation
    }
}

extension Registration {
    fileprivate var eventData: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor)) }

    fileprivate init(eventData: UInt64) {
        descriptor = CInt(bitPattern: UInt32(truncatingIfNeeded: eventData))
        generation = UInt32(truncatingIfNeeded: eventData >> 32)
    }
}

// MARK: - what epoll reports

/// Operations that a descriptor is ready for, or that its owner waits for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static var readable: Self { Self(rawValue: TANDEM_READABLE) }
    package static var writable: Self { Self(rawValue: TANDEM_WRITABLE) }
    /// The peer of a socket sends no more, whatever is still to be read.
    package static var peerEnded: Self { Self(rawValue: TANDEM_PEER_ENDED) }
    /// An error or the end; reported without being asked for. Reading or writing tells what it is.
    package static var failed: Self { Self(rawValue: TANDEM_FAILED | TANDEM_HUNG_UP) }

    // Sets are made from numbers where every event passes: a literal of them would be an array on the heap.

    /// A reason to read: there are bytes, or there will never be any.
    package static var readableOrFailed: Self { Self(rawValue: TANDEM_READABLE | TANDEM_FAILED | TANDEM_HUNG_UP) }
    package static var nothing: Self { Self(rawValue: 0) }
}

/// Handler of a ready descriptor; called on the loop's thread.
package protocol ReadinessTarget: AnyObject {
    /// May register and deregister anything, itself included.
    func isReady(_ readiness: Readiness)
}

/// A descriptor under watch; becomes stale when it is deregistered, however soon its number is used again.
package struct Registration: Hashable, Sendable {
    let descriptor: CInt
    let generation: UInt32
}
