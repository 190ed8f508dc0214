// Paired session of a host app: what WCSession is between a phone and its watch, between any two paired devices. An app
// opens one, activates it, and sends and receives property lists. Every member may be used from any thread or task.
//
// The session is a face: several of them, one for each pairing, share one SessionActor, and they are read without
// await. The actor does all work, on the one thread of the library. The import re-exports the public symbols of the
// rooms below (values, identifiers, errors, states), also for clients with MemberImportVisibility.

import Synchronization
@_exported public import TandemBase
@_exported public import TandemPropertyList
package import TandemReactor
@_exported public import TandemSession
@_exported public import TandemWire

/// A host app's session with its counterpart: the same application on the paired device.
///
/// The default session follows the device's active pairing; ``session(for:)`` gives one that is bound to a pairing. The
/// connection ends when the last of an app's sessions is released, or by ``end()``.
public final class PairedSession: Sendable {
    package let core: SessionActor
    package let pairing: UniqueIdentifier?
    /// Keeps the session that was opened, whose release ends the actor; nil for that one itself.
    private let opened: PairedSession?

    /// Finds the daemon's socket and the application identifier; connects only in ``activate(timeout:)``.
    /// - Throws: 7008 without an application identifier, or for one, a custom identifier or a socket path (over 107
    ///   bytes) that cannot be; 7001 if the process is out of descriptors or threads.
    public convenience init(_ options: PairedSessionOptions = PairedSessionOptions()) throws(SessionError) {
        let settings = try SessionSettings(options)
        let loop = try SessionLoop.shared()
        self.init(settings, on: loop, dialer: SocketDialer(addresses: settings.addresses, loop: loop))
    }

    package init(_ settings: SessionSettings, on scheduler: any Scheduler, dialer: sending any Dialer) {
        core = SessionActor(settings: settings, scheduler: scheduler, dialer: dialer)
        pairing = nil
        opened = nil
    }

    /// The session that was opened, whose release ends the connection.
    package var whole: PairedSession { opened ?? self }

    private init(_ session: PairedSession, pairing: UniqueIdentifier) {
        core = session.core
        self.pairing = pairing
        opened = session.opened ?? session
    }

    deinit {
        if opened == nil { core.run { $0.end() } }
    }

    /// The session with one paired device, whichever is active. It shares the connection of this one.
    public func session(for pairing: UniqueIdentifier) -> PairedSession { PairedSession(self, pairing: pairing) }

    /// Connects and registers; returns when the session is activated, at once if it is. May be called at any time and
    /// by several callers. Without a daemon it keeps trying for as long as the caller waits, and goes on afterwards.
    /// - Parameter timeout: how long this caller waits, 1 ms to 600 s (LIM-8); nil: as long as its task is not
    ///   cancelled.
    /// - Throws: 7008 `timeout` for one out of its range; 7004 `no-daemon` after the timeout; 7002 `version` if app and
    ///   daemon speak no common version; 7001 `app-owned`, `app-other-side`, `app-removed`, `already-receiving`,
    ///   `not-allowed`, `too-many-applications` if the daemon refuses the application; 7001 `cancelled`; 7004 `ended`.
    public func activate(timeout: Duration? = nil) async throws(SessionError) {
        if let timeout, !Limits.deadline.contains(timeout) {
            throw SessionError(.badArgument(.timeout), messageID: nil)
        }
        let number = UInt64.random(in: .min ... .max)
        try await core.result(cancel: { $0.stopWaiting(number, .cancelled(nil)) }) { core, completion in
            core.activate(waiter: number, within: timeout, completion)
        }
    }

    /// Ends the session for all who share it: what waits completes with 7004 `ended`, and nothing more is received.
    /// Returns when what was sent before, replies included, has been given to the system: a process may exit then.
    public func end() async {
        await withCheckedContinuation { ended in end { ended.resume() } }
    }

    /// The same for callers that have a thread of their own.
    package func end(then completion: @escaping @Sendable () -> Void) { core.run { $0.end(then: completion) } }

    /// False once a daemon has refused all versions of the protocol that this app speaks: 7002.
    public var isSupported: Bool { core.states.snapshot.standing.isSupported }

    /// Why the daemon refuses this app, and only ``activate(timeout:)`` tries again: another user has it (`app-owned`),
    /// it belongs to the device's other side (`app-other-side`), or the operator has removed it (`app-removed`). nil
    /// unless it does; it changes with ``activationState``.
    public var refusal: SessionError? { core.states.snapshot.refusal.map { SessionError(refused: $0, "") } }

    /// Where the session stands now. On a primary a switch to another secondary takes the default session through
    /// `inactive` and `notActivated`; one for a pairing stays activated, and so does a secondary's.
    public var activationState: ActivationState { core.states.snapshot.standing(of: pairing).activation }

    /// ``activationState`` and its changes.
    public var activationUpdates: StateUpdates<ActivationState> {
        StateUpdates(core.states) { [pairing] in $0.standing(of: pairing).activation }
    }

    /// Whether the counterpart can be reached now, why not, and since when.
    public var reachability: ReachabilityStatus { core.states.snapshot.reachability(of: pairing) }

    /// ``reachability`` and its changes.
    public var reachabilityUpdates: StateUpdates<ReachabilityStatus> {
        StateUpdates(core.states) { [pairing] in $0.reachability(of: pairing) }
    }

    /// Calls back with the reachability now and after each change, one call after the other, on a task of its own. A
    /// slow handler misses what is over, never how it ended; ``ReachabilityStatus/revision`` counts what it missed.
    /// - Returns: ends the calls when cancelled; they go on while it is not kept, until the session ends.
    @discardableResult
    public func onReachabilityChange(
        _ handler: @escaping @Sendable (ReachabilityStatus) -> Void
    ) -> StateObservation {
        let updates = reachabilityUpdates
        return StateObservation(Task { for await status in updates { handler(status) } })
    }

    /// All pairings of this device, as its daemon said last; without a daemon each is unreachable with the reason
    /// `no-daemon`. Empty before the first activation, and once the session was ended.
    public var pairedDevices: [PairedDevice] { core.states.snapshot.pairings }

    /// ``pairedDevices`` and its changes.
    public var pairedDevicesUpdates: StateUpdates<[PairedDevice]> { StateUpdates(core.states) { $0.pairings } }

    /// The pairing that this session talks through now; nil without one.
    public var pairedDevice: PairedDevice? {
        core.states.snapshot.pairings.first { pairing == nil ? $0.isActive : $0.pairing == pairing }
    }

    /// A durable item has come and waits for its first handler.
    public var hasContentPending: Bool { core.states.snapshot.hasContentPending }

    /// The identifier under which the app registers.
    public var application: ApplicationIdentifier { core.settings.application }

    /// This device's part; nil before the first activation.
    public var role: DeviceRole? { core.states.snapshot.role }

    /// This device's vendor identifier; nil before the first activation.
    public var deviceIdentifier: UniqueIdentifier? { core.states.snapshot.device }

    /// The application's own directory on this device; nil before the first activation, or if it has none.
    public var directory: String? { core.states.snapshot.directory }

    /// The counts at this moment; the same for all sessions that share a connection.
    public var statistics: SessionStatistics { core.statistics }
}

/// The one thread that all sessions of a process share. It starts with the first session and lives as long as the
/// process: sessions come and go, and an epoll thread that waits costs nothing.
private enum SessionLoop {
    private static let running = Mutex<EventLoop?>(nil)

    static func shared() throws(SessionError) -> EventLoop {
        let result = running.withLock { loop -> Result<EventLoop, SystemError> in
            if let loop { return .success(loop) }
            return Result { () throws(SystemError) in
                let started = try EventLoop()
                try started.startThread()
                loop = started
                return started
            }
        }
        do { return try result.get() } catch {
            throw SessionError(.genericError, .eventLoop, reason: "cannot start the session's thread: \(error)")
        }
    }
}
