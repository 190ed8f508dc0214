// Wake-up pacing: when the daemon starts a host app's program because durable items wait for the app (CTL-22). The
// program starts once, not again while it runs or may still be about to register, and after ever longer pauses while it
// only crashes.

package import TandemBase

/// The wake-ups of the apps that the operator listed.
package struct WakeSchedule: ~Copyable, Sendable {
    /// A program that ended well before its app registered is not started again within this time of its start: it may
    /// have started another one (LIM-36).
    package static var registrationTime: Duration { .seconds(10) }
    /// The first pause after a program that handled nothing (LIM-36).
    package static var firstPause: Duration { .seconds(1) }
    /// The longest pause (LIM-36).
    package static var longestPause: Duration { .seconds(600) }

    private struct App {
        var hasWork = false
        var isConnected = false
        var isRunning = false
        var startedAt: MonotonicTime?
        /// The earliest time of the next start.
        var notBefore = MonotonicTime(nanoseconds: 0)
        /// The pause after the next failure.
        var pause = WakeSchedule.firstPause

        var isDue: Bool { hasWork && !isConnected && !isRunning }
    }

    private var apps: [ApplicationIdentifier: App]

    package init(_ apps: some Sequence<ApplicationIdentifier>) {
        self.apps = [:]
        for app in apps { self.apps[app] = App() }
    }

    /// Starts these apps and no others from now on. One that was known keeps its past, and a program that runs goes on.
    /// - Parameter isConnected: whether an app that is new has a receiving connection.
    package mutating func follow(
        _ listed: [ApplicationIdentifier], isConnected: (ApplicationIdentifier) -> Bool
    ) {
        for app in listed where apps[app] == nil {
            var new = App()
            new.isConnected = isConnected(app)
            apps[app] = new
        }
        for app in Set(apps.keys).subtracting(listed) { apps[app]?.hasWork = false }
    }

    /// Durable items wait for these apps, and for no others.
    /// - Returns: the apps to start now, as for every event.
    package mutating func work(
        for waiting: Set<ApplicationIdentifier>, at now: MonotonicTime
    ) -> [ApplicationIdentifier] {
        for app in apps.keys { apps[app]?.hasWork = waiting.contains(app) }
        return timeAdvanced(to: now)
    }

    /// Notes whether durable items wait for this app.
    package mutating func setWork(_ hasWork: Bool, of app: ApplicationIdentifier) { apps[app]?.hasWork = hasWork }

    /// Whether the app is away and no items are known to wait for it: the next one may be a reason to start it.
    package func isIdle(_ app: ApplicationIdentifier) -> Bool {
        apps[app].map { !$0.isConnected && !$0.hasWork } ?? false
    }

    /// The app's receiving connection has registered.
    package mutating func connected(_ app: ApplicationIdentifier) { apps[app]?.isConnected = true }

    /// The app has handled an item: it works, so past crashes no longer count.
    package mutating func handled(_ app: ApplicationIdentifier) {
        apps[app]?.pause = Self.firstPause
        apps[app]?.startedAt = nil
    }

    /// The app's receiving connection is gone. One that handled nothing counts as a failure.
    package mutating func disconnected(_ app: ApplicationIdentifier, at now: MonotonicTime) -> [ApplicationIdentifier] {
        guard apps[app]?.isConnected == true else { return [] }
        apps[app]?.isConnected = false
        if apps[app]?.startedAt != nil { fail(app, at: now) }
        return timeAdvanced(to: now)
    }

    /// The program of the app has ended; a program that could not be started ended badly.
    package mutating func ended(_ app: ApplicationIdentifier, well: Bool, at now: MonotonicTime)
        -> [ApplicationIdentifier]
    {
        guard apps[app]?.isRunning == true else { return [] }
        apps[app]?.isRunning = false
        // A program that ended well may have started another one that has yet to register.
        if well, let started = apps[app]?.startedAt { postpone(app, until: started + Self.registrationTime) }
        if apps[app]?.startedAt != nil, apps[app]?.isConnected != true { fail(app, at: now) }
        return timeAdvanced(to: now)
    }

    /// When ``timeAdvanced(to:)`` is to be called.
    package var nextDeadline: MonotonicTime? { apps.values.filter(\.isDue).map(\.notBefore).min() }

    /// The apps to start now.
    package mutating func timeAdvanced(to now: MonotonicTime) -> [ApplicationIdentifier] {
        let due = apps.filter { $0.value.isDue && $0.value.notBefore <= now }.keys.sorted()
        for app in due {
            apps[app]?.isRunning = true
            apps[app]?.startedAt = now
        }
        return due
    }

    private mutating func fail(_ app: ApplicationIdentifier, at now: MonotonicTime) {
        guard let pause = apps[app]?.pause else { return }
        postpone(app, until: now + pause)
        apps[app]?.pause = min(pause * 2, Self.longestPause)
        apps[app]?.startedAt = nil
    }

    private mutating func postpone(_ app: ApplicationIdentifier, until time: MonotonicTime) {
        guard let before = apps[app]?.notBefore else { return }
        apps[app]?.notBefore = max(before, time)
    }
}
