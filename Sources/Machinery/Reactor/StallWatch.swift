// Finds connections whose other end does not read at all (LIM-6): the socket is full, and for 30 s neither could more
// be written nor did the system get rid of anything. The system counts whole buffers of up to 64 KiB, so a peer
// that reads less than that in this time counts as reading nothing. Only full sockets are watched, all of a loop by one
// timer: a connection that is written to and read from never gets here.

import TandemBase

/// A connection with a full socket.
package protocol StallTenant: AnyObject {
    /// The bytes that the system holds for the other end.
    var bytesInSystem: Int { get }

    /// The other end has read nothing for as long as it may.
    func stalled()
}

/// The full sockets of one loop; confined to its thread.
package final class StallWatch {
    /// How long nothing may move (LIM-6).
    package static var patience: Duration { .seconds(30) }
    /// Between two looks; a stall is found at most this much late.
    private static var interval: Duration { .seconds(5) }

    private struct Watched {
        let tenant: any StallTenant
        var bytes: Int
        var since: MonotonicTime
    }

    private var watched: [ObjectIdentifier: Watched] = [:]
    private var isScheduled = false

    package init() {}

    /// The tenant's socket is full from now on; kept until it is forgotten or has stalled.
    package func watch(_ tenant: some StallTenant, on loop: any Scheduler) {
        watched[ObjectIdentifier(tenant)] = Watched(tenant: tenant, bytes: tenant.bytesInSystem, since: loop.now)
        schedule(on: loop)
    }

    /// The tenant's socket takes bytes again, or is closed.
    package func forget(_ tenant: some StallTenant) {
        if !watched.isEmpty { watched[ObjectIdentifier(tenant)] = nil }
    }

    private func schedule(on loop: any Scheduler) {
        guard !isScheduled, !watched.isEmpty else { return }
        isScheduled = true
        loop.schedule(after: Self.interval) { [self] in
            isScheduled = false
            look(at: loop.now)
            schedule(on: loop)
        }
    }

    private func look(at now: MonotonicTime) {
        var stalled: [any StallTenant] = []
        for (key, entry) in watched {
            let bytes = entry.tenant.bytesInSystem
            if bytes != entry.bytes {
                watched[key]?.bytes = bytes
                watched[key]?.since = now
            } else if now.since(entry.since) >= Self.patience {
                stalled.append(entry.tenant)
                watched[key] = nil
            }
        }
        for tenant in stalled { tenant.stalled() }
    }
}
