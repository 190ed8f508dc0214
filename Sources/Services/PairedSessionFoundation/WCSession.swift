// WatchConnectivity's session by its own names, for code that is ported from Apple's platforms: change the import and
// it compiles.
//
// Differences that a port should know: handlers are @Sendable; numbers arrive as NSNumber; after a lost daemon the
// session activates again by itself and tells the delegate so.

public import Foundation
public import PairedConfiguration
// With this one import come the session underneath and the error codes, which are the same type.
@_exported public import PairedSession
import Synchronization
import TandemBase
import TandemWire

/// The session between an app and its counterpart on the paired device.
public final class WCSession: NSObject, Sendable {
    private struct State {
        var delegate = DelegateReference(value: nil)
        var activation = WCSessionActivationState.notActivated
        /// How often it was activated, for one counterpart after the other.
        var activations = 0
        /// It waits for the app's `activate()` after a switch.
        var isDeactivated = false
        /// It activates again by itself after a lost daemon, which may be back already.
        var isComingBack = false
        /// The pairing that the properties are about: during a switch still the former one.
        var pairing: UniqueIdentifier?
        var session: PairedSession?
        var options = PairedSessionOptions()
        /// Waits for the first `activate()`.
        var configuration: Configuration?
        /// The session was asked to activate, and no longer takes a configuration.
        var wasAsked = false
        /// `isReachable` and the watch state as the delegate last saw them; nil before the first activation has
        /// completed.
        var knownReachability: Bool?
        var knownWatchState: WatchState?
        /// A switch without `sessionDidDeactivate` is logged once in each process.
        var hasReportedSwitch = false
    }

    /// The process's session.
    public static let `default` = WCSession()

    private let state: Mutex<State>
    /// Held by the thread that installs the configuration: none activates the session before that is done.
    private let installation = NSRecursiveLock()
    /// The transfers that this process knows.
    let userInfos = OutstandingTransfers<WCSessionUserInfoTransfer>()
    let files = OutstandingTransfers<WCSessionFileTransfer>()
    /// All callbacks come from here, one after the other; it is not the thread that moves the bytes.
    package let callbacks = DispatchQueue(label: "tandem.session.callbacks")
    let labels = Mutex(ArrivalLabels())
    /// Wait for a delegate, in order; added and removed on the callback queue.
    let waiting = Mutex<[Callback]>([])
    let urgentBudget = UrgentBudget()
    /// Nil once the daemon has answered for the last context.
    let unansweredContext = Mutex<UnansweredContext?>(nil)
    /// The urgent transfers of each pairing that nothing has taken the place of; those that have ended, too.
    let currentUrgent = Mutex<[UniqueIdentifier: [UniqueIdentifier]]>([:])

    override private init() {
        state = Mutex(State())
        super.init()
    }

    /// A session over one that exists.
    package init(over session: PairedSession) {
        state = Mutex(State(session: session))
        super.init()
        attach(to: session)
    }

    /// Always true: every Linux device can be paired.
    public static func isSupported() -> Bool { true }

    /// Sets how the default session finds its daemon and what it registers; before the first `activate()`. Without it
    /// the environment decides (`TANDEM_APPLICATION`, `TANDEM_SOCKET`), and without that the app manifest of the
    /// installed configuration says the application identifier. Once `activate()` has opened the session it changes
    /// nothing, and an error in the log says so (``/PairedSession/PairedLog``, standard error unless the app takes it);
    /// options that `activate()` has failed with may be replaced.
    public func setOptions(_ options: PairedSessionOptions) {
        let isTaken = state.withLock { state in
            if state.session == nil { state.options = options }
            return state.session == nil
        }
        if isTaken { return }
        PairedLog.write(LogEvent(.error, "options are ignored: call setOptions before the first activate()"))
    }

    /// Receives the callbacks; not retained. Set it before `activate()`. Items that arrive, transfers that end and a
    /// switch while there is none wait for the next one.
    public var delegate: (any WCSessionDelegate)? {
        get { state.withLock { $0.delegate }.value }
        set {
            let reference = DelegateReference(value: newValue)
            state.withLock { $0.delegate = reference }
            if newValue != nil { deliverWaiting() }
        }
    }

    /// Where the session stands; valid at any time.
    public var activationState: WCSessionActivationState { state.withLock { $0.activation } }

    /// A message would reach the counterpart now; false unless the session is activated. Each change is told by
    /// `sessionReachabilityDidChange`.
    ///
    /// Of a primary with several devices this device learns only that the app runs there, not which device it has
    /// chosen: on a secondary that is not its active one this is true, and each message to a delegate there fails with
    /// 7016 `not-active`.
    public var isReachable: Bool {
        activationState == .activated && (counterpart?.reachability.isImmediate ?? false)
    }

    /// The device has an active pairing. This and the properties below are known from the first activation on; during a
    /// switch they describe the former device, ``watchDirectoryURL`` only until the session is deactivated.
    public var isPaired: Bool { device != nil }

    /// On a primary: the app is installed on the active secondary.
    public var isWatchAppInstalled: Bool { isInstalled(as: .primary) }

    /// On a secondary: the app is installed on the active primary.
    public var isCompanionAppInstalled: Bool { isInstalled(as: .secondary) }

    /// On a primary: the app on the active secondary shows a complication (`showsComplication` of its options). No
    /// daemon stores that: after a restart of either device's daemon it is false until the app's declaration is there
    /// again (SES-36).
    public var isComplicationEnabled: Bool {
        pairedSession?.role == .primary && (device?.hasComplication ?? false)
    }

    /// On a primary: a directory of the app for the active secondary alone. Still the former one's while the session is
    /// inactive; nil when it is not activated. Deleted when the pairing ends.
    public var watchDirectoryURL: URL? {
        guard activationState != .notActivated else { return nil }
        return device?.directory.map { URL(fileURLWithPath: $0, isDirectory: true) }
    }

    /// Always false: no Linux device locks its apps' data until its user unlocks it.
    public var iOSDeviceNeedsUnlockAfterRebootForReachability: Bool { false }

    private func isInstalled(as role: DeviceRole) -> Bool {
        pairedSession?.role == role && (device?.isInstalled ?? false)
    }

    /// The session with the counterpart that the properties are about; nil without one.
    var counterpart: PairedSession? {
        let (session, pairing) = state.withLock { ($0.session, $0.pairing) }
        return pairing.flatMap { session?.session(for: $0) }
    }

    /// The device of that counterpart; nil also when its pairing has ended.
    var device: PairedDevice? { counterpart?.pairedDevice }

    /// The facts whose changes are a change of the watch state.
    var watchState: WatchState {
        guard let device else { return WatchState() }
        let isPrimary = pairedSession?.role != .secondary
        return WatchState(
            isPaired: true, isInstalled: device.isInstalled, hasComplication: isPrimary && device.hasComplication,
            directory: isPrimary ? device.directory : nil)
    }

    /// The session underneath, for what WatchConnectivity has no name for; nil before the first `activate()`.
    public var pairedSession: PairedSession? { state.withLock { $0.session } }

    /// The largest contents that a session takes; WatchConnectivity has no name for them.
    public static var limits: SessionLimits { PairedSession.limits }

    /// Begins; ends in `session(_:activationDidCompleteWith:error:)`. To be called again after `sessionDidDeactivate`.
    public func activate() {
        do {
            let session = try openedSession()
            try installConfiguration(on: session)
            session.core.run { core in
                core.activate { [weak core] result in core?.assumeIsolated { $0.report(.asked(result)) } }
            }
        } catch {
            // Many delegates ignore the error, and the app would seem to hang.
            PairedLog.write(LogEvent(.error, "the session cannot be activated", .outside("reason", "\(error)")))
            tell { session, delegate in
                delegate.session(session, activationDidCompleteWith: .notActivated, error: WCError(error))
            }
        }
    }

    /// Gives the session a typed configuration, before its first `activate()`; as `Configuration.install(on:)`. With or
    /// without a delegate, what the daemon brings goes to the configuration and to no delegate method.
    /// ``activate()`` reports why it cannot be installed. Once `activate()` was called it changes nothing, and an error
    /// in the log says so (``/PairedSession/PairedLog``).
    public func install(_ configuration: Configuration) {
        let isTaken = state.withLock { state in
            if !state.wasAsked { state.configuration = configuration }
            return !state.wasAsked
        }
        if isTaken { return }
        PairedLog.write(
            LogEvent(.error, "the configuration is ignored: call install before the first activate()"))
    }

    /// Once; one that fails waits for the next `activate()`, which must not go on without it.
    private func installConfiguration(on session: PairedSession) throws(SessionError) {
        installation.lock()
        defer { installation.unlock() }
        let configuration = state.withLock { state in
            defer { (state.configuration, state.wasAsked) = (nil, true) }
            return state.configuration
        }
        do throws(SessionError) { try configuration?.install(on: session) } catch {
            state.withLock { ($0.configuration, $0.wasAsked) = ($0.configuration ?? configuration, false) }
            throw error
        }
    }

    private func openedSession() throws(SessionError) -> PairedSession {
        if let session = pairedSession { return session }
        let (options, configuration) = state.withLock { ($0.options, $0.configuration) }
        let session = try PairedSession(configuration.map { options.identified(by: $0) } ?? options)
        let (chosen, isNew) = state.withLock { state in
            let isNew = state.session == nil
            state.session = state.session ?? session
            return (state.session ?? session, isNew)
        }
        if isNew { attach(to: chosen) }
        return chosen
    }

    /// Changes the published state.
    func setActivation(
        _ activation: WCSessionActivationState, isDeactivated: Bool = false, isComingBack: Bool = false
    ) {
        state.withLock { state in
            (state.activation, state.isDeactivated, state.isComingBack) = (activation, isDeactivated, isComingBack)
        }
    }

    /// Activates the delegate for a counterpart; nil: there is none.
    func setActivated(for pairing: UniqueIdentifier?) {
        state.withLock { state in
            (state.activation, state.isDeactivated, state.isComingBack) = (.activated, false, false)
            (state.activations, state.pairing) = (state.activations + 1, pairing)
        }
    }

    /// How often activations have completed.
    var activations: Int { state.withLock { $0.activations } }

    /// Follows an activated session to a counterpart that has come without a switch; nil: there is none.
    func follow(_ pairing: UniqueIdentifier?) {
        state.withLock { state in
            if state.activation == .activated { state.pairing = pairing }
        }
    }

    /// A switch has met a delegate that lacks the method in which an app activates the session again. Reported once: an
    /// app may do so elsewhere.
    func reportUnansweredSwitch() {
        let (isFirst, former) = state.withLock { state in
            defer { state.hasReportedSwitch = true }
            return (!state.hasReportedSwitch, state.pairing)
        }
        guard isFirst else { return }
        let field = LogField.text("pairing", former.map { "\($0)" } ?? "-")
        PairedLog.write(
            LogEvent(.error, "no sessionDidDeactivate in the delegate: activate() must follow the switch", field))
    }

    /// Why nothing can be sent although the app has activated the session; nil when it has to do so first.
    var loss: SessionError? {
        let (isDeactivated, isComingBack) = state.withLock { ($0.isDeactivated, $0.isComingBack) }
        if isDeactivated { return nil }
        return pairedSession?.loss ?? (isComingBack ? SessionError(.daemonAway, messageID: nil) : nil)
    }

    /// The delegate is about to read the reachability and the watch state for the first time.
    func beginChanges() {
        let (reachability, watch) = (isReachable, watchState)
        state.withLock { state in
            state.knownReachability = state.knownReachability ?? reachability
            state.knownWatchState = state.knownWatchState ?? watch
        }
    }

    /// Takes what the delegate would read now as known to it; true if that is a change.
    func learnReachability() -> Bool {
        let current = isReachable
        return state.withLock { Self.learn(current, &$0.knownReachability) }
    }

    /// The same for the watch state.
    func learnWatchState() -> Bool {
        let current = watchState
        return state.withLock { Self.learn(current, &$0.knownWatchState) }
    }

    private static func learn<Fact: Equatable>(_ current: Fact, _ known: inout Fact?) -> Bool {
        guard let before = known, before != current else { return false }
        known = current
        return true
    }
}

/// The facts of whose changes a delegate learns: `isPaired`, whether the counterpart's app is installed, and on a
/// primary its complication and the pairing's directory.
struct WatchState: Equatable {
    private(set) var isPaired = false
    private(set) var isInstalled = false
    private(set) var hasComplication = false
    private(set) var directory: String?
}

/// A delegate as Apple has it: a weak reference to something that is not Sendable.
///
/// `@unchecked`: the session's mutex `state` protects the reference, and the library calls the delegate only on the
/// thread of the callback queue. The app that sets or reads the delegate on another thread answers for its own uses.
struct DelegateReference: @unchecked Sendable {
    weak let value: (any WCSessionDelegate)?
}
