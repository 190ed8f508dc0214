// The paired session for host apps: what WCSession is between a phone and its watch, between any two paired devices. An
// app opens one, activates it, and sends and receives property lists. All work is done on one thread of the library's
// own; every member may be used from any thread or task.

public import TandemBase
import TandemReactor
public import TandemSession
public import TandemWire

/// A host app's session with its counterpart: the same application on the paired device.
///
/// The default session follows the device's active pairing; ``session(for:)`` gives one that is bound to a pairing. The
/// connection ends when the last of an app's sessions is released, or by ``end()``.
public final class PairedSession: Sendable {
    package let handle: SessionHandle
    let pairing: UniqueIdentifier?

    /// Finds the daemon's socket and the application identifier; connects only in ``activate(timeout:)``.
    /// - Throws: 7008 without an application identifier, or for one, a custom identifier or a socket path (over 107
    ///   bytes) that cannot be; 7001 if the process is out of descriptors or threads.
    public convenience init(_ options: PairedSessionOptions = PairedSessionOptions()) throws(SessionError) {
        let settings = try SessionSettings(options)
        let loop = try SessionLoop.shared()
        // The dialer only keeps the loop here; it is used on the loop's thread.
        let dialer = SocketDialer(addresses: settings.addresses, loop: loop)
        self.init(SessionHandle(settings: settings, scheduler: loop, dialer: dialer))
    }

    package init(_ handle: SessionHandle, pairing: UniqueIdentifier? = nil) {
        self.handle = handle
        self.pairing = pairing
    }

    /// The session with one paired device, whichever is active. It shares the connection of this one.
    public func session(for pairing: UniqueIdentifier) -> PairedSession { PairedSession(handle, pairing: pairing) }

    /// Connects and registers; returns when the session is activated, at once if it is. May be called at any time and
    /// by several callers. Without a daemon it keeps trying for as long as the caller waits, and goes on afterwards.
    /// - Parameter timeout: how long this caller waits; nil: as long as its task is not cancelled.
    /// - Throws: 7004 `no-daemon` after the timeout; 7002 `version` if app and daemon speak no common version; 7001
    ///   `app-owned`, `already-receiving`, `not-allowed`, `too-many-applications` if the daemon refuses the application;
    ///   7001 `cancelled`; 7004 `ended`.
    public func activate(timeout: Duration? = nil) async throws(SessionError) {
        let number = UInt64.random(in: .min ... .max)
        let (handle, mark) = (handle, CancellationMark())
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, SessionError>, Never>) in
                handle.run { core in
                    if mark.isSet { return continuation.resume(returning: .failure(SessionError.cancelled(nil))) }
                    core.activate(waiter: number) { continuation.resume(returning: $0) }
                    if let timeout { core.stopWaiting(number, after: timeout) }
                }
            }
        } onCancel: {
            mark.set()
            handle.run { core in core.stopWaiting(number, .cancelled(nil)) }
        }
        try result.get()
    }

    /// Ends the session for all who share it: what waits completes with 7004 `ended`, and nothing is received any more.
    /// Returns when what was sent before, replies included, has been given to the system: a process may exit then.
    public func end() async {
        await withCheckedContinuation { ended in end { ended.resume() } }
    }

    /// The same for callers that have a thread of their own.
    package func end(then completion: @escaping @Sendable () -> Void) {
        handle.run { core in core.end(then: completion) }
    }

    /// False once a daemon has refused all versions of the protocol that this app speaks: 7002.
    public var isSupported: Bool { handle.board.snapshot.isSupported }

    /// Where the session stands now. On a primary a switch to another secondary takes the default session through
    /// `inactive` and `notActivated`; one for a pairing stays activated, and so does a secondary's.
    public var activationState: ActivationState { handle.board.snapshot.activation(of: pairing) }

    /// ``activationState`` and its changes.
    public var activationUpdates: StateUpdates<ActivationState> {
        StateUpdates(handle.board) { [pairing] in $0.activation(of: pairing) }
    }

    /// Whether the counterpart can be reached now, why not, and since when.
    public var reachability: ReachabilityStatus { handle.board.snapshot.reachability(of: pairing) }

    /// ``reachability`` and its changes.
    public var reachabilityUpdates: StateUpdates<ReachabilityStatus> {
        StateUpdates(handle.board) { [pairing] in $0.reachability(of: pairing) }
    }

    /// All pairings of this device; empty while there is no daemon.
    public var pairedDevices: [PairedDevice] { handle.board.snapshot.pairings }

    /// ``pairedDevices`` and its changes.
    public var pairedDevicesUpdates: StateUpdates<[PairedDevice]> { StateUpdates(handle.board) { $0.pairings } }

    /// The pairing that this session talks through now; nil without one.
    public var pairedDevice: PairedDevice? {
        handle.board.snapshot.pairings.first { pairing == nil ? $0.isActive : $0.pairing == pairing }
    }

    /// A durable item has come and waits for its first handler.
    public var hasContentPending: Bool { handle.board.snapshot.hasContentPending }

    /// This device's part; nil before the first activation.
    public var role: DeviceRole? { handle.board.snapshot.role }

    /// This device's vendor identifier; nil before the first activation.
    public var deviceIdentifier: UniqueIdentifier? { handle.board.snapshot.device }

    /// The application's own directory on this device; nil before the first activation, or if it has none.
    public var directory: String? { handle.board.snapshot.directory }
}

extension SessionCore {
    /// Lets one caller of `activate` wait no longer than this.
    fileprivate func stopWaiting(_ number: UInt64, after timeout: Duration) {
        scheduler.schedule(after: timeout) { [weak self] in
            let error = SessionError(
                .sessionNotActivated, name: "no-daemon", reason: "no daemon answered in time; is it running?")
            self?.stopWaiting(number, error)
        }
    }
}
