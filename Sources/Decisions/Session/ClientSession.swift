// A host app's session with its daemon, as a state machine from activation to the end (SES-1, SES-5 to SES-7, SES-23).
// It never stops trying by itself: it redials a lost or absent daemon with ``Backoff``. Only a refusal that waiting
// cannot cure ends the attempts. The library owns the connection and one timer; each effect says what to do with them,
// in order.

package import TandemBase
package import TandemWire

/// The activation machine of one host app's session (SES-1, SES-5 to SES-7, switching as SES-23 says).
package struct ClientSession: ~Copyable, Sendable {
    package enum Phase: Sendable, Equatable {
        /// Not asked to activate, or ended.
        case idle
        /// A connection is being made.
        case connecting
        /// `hello` was sent.
        case greeting
        /// `register` was sent.
        case registering
        case active
        /// The timer runs until the next attempt.
        case waiting
        /// A final refusal; only ``activate()`` leaves this.
        case refused(RefusalName)
    }

    /// An action for the owner of the machine.
    package enum Effect: Sendable, Equatable {
        case connect
        case sendHello
        case sendRegister
        /// Close the connection without another word.
        case disconnect
        /// Starts the session's one timer; one that runs is replaced.
        case startTimer(Duration)
        case stopTimer
        /// Complete open requests to one pairing, or all for nil.
        case failRequests(to: UniqueIdentifier?, RequestLoss)
        /// Tell observers that the activation state passes through this value.
        case activation(ActivationState)
        /// Complete the callers of `activate()` with this refusal.
        case activationRefused(RefusalName)
        /// Tell observers that pairings or reachability may have changed.
        case stateChanged
        /// Call ``arrivalsDelivered()`` once the app has received the messages that arrived before: only then does the
        /// switch continue (SES-31).
        case deliverArrivals
    }

    /// Why open requests end without an answer.
    package enum RequestLoss: Sendable, Equatable {
        /// The daemon is gone: 7014, whether it was sent on is not known.
        case daemonLost
        /// Another counterpart became the active one: 7016, for requests of the default session.
        case switched
        /// The pairing is gone: 7005.
        case unpaired
        /// The app ended its session: 7004.
        case ended
    }

    package private(set) var phase = Phase.idle
    package private(set) var activation = ActivationState.notActivated
    /// The role of this app's device in its session; known once registered.
    package private(set) var role: DeviceRole?
    /// This device's vendor identifier; known once registered.
    package private(set) var device: UniqueIdentifier?
    package private(set) var directory: String?
    package private(set) var state: SessionState?
    /// When the daemon was last lost, or the session created.
    package private(set) var withoutDaemonSince: MonotonicTime
    /// The daemon was lost, and the session activates again by itself.
    package private(set) var isComingBack = false
    private var backoff = Backoff()
    /// Refusals as `already-receiving` that are taken for the daemon's memory of an earlier connection, whose end it
    /// does not know yet (SES-6): few after one that was about to register, because another process may have the app.
    private var staleRefusals = 0

    package init(now: MonotonicTime) { withoutDaemonSince = now }

    /// Begins, or does nothing when it has begun already.
    package mutating func activate() -> [Effect] {
        switch phase {
        case .idle, .refused:
            phase = .connecting
            return [.connect]
        case .connecting, .greeting, .registering, .active, .waiting: return []
        }
    }

    package mutating func connected() -> [Effect] {
        guard phase == .connecting else { return [.disconnect] }
        phase = .greeting
        return [.startTimer(Limits.firstFrameTime), .sendHello]
    }

    /// The daemon's `hello` was acceptable.
    package mutating func greeted() -> [Effect] {
        guard phase == .greeting else { return [] }
        phase = .registering
        return [.startTimer(Limits.firstFrameTime), .sendRegister]
    }

    package mutating func registered(_ answer: RegistrationAnswer) -> [Effect] {
        guard phase == .registering else { return [] }
        (phase, isComingBack) = (.active, false)
        staleRefusals = .max
        backoff.reset()
        let former = state
        // Another device's daemon, whose socket was found instead, knows nothing of these pairings.
        let isSame = (role, device) == (answer.role, answer.device)
        (role, device, directory) = (answer.role, answer.device, answer.directory)
        state = answer.state
        // Pairings that ended meanwhile: what was accepted for them ends now.
        let losses = isSame ? former.map { lossOfPairings(since: $0) } ?? [] : []
        if isSwitch(from: former?.active) { return [.stopTimer] + beginSwitch(losses) }
        activation = .activated
        return [.stopTimer] + losses + [.activation(.activated), .stateChanged]
    }

    /// `state` arrived; a revision that is not newer is ignored.
    package mutating func stateArrived(_ new: SessionState) -> [Effect] {
        guard phase == .active, let state, new.revision > state.revision else { return [] }
        let left = state.active
        let losses = replaceState(new)
        guard activation == .activated, isSwitch(from: left) else { return losses + [.stateChanged] }
        return beginSwitch(losses)
    }

    /// The app has received the messages that arrived before the switch: the session leaves the old counterpart and
    /// activates for the new one.
    package mutating func arrivalsDelivered() -> [Effect] {
        guard phase == .active, activation == .inactive else { return [] }
        activation = .activated
        return [.activation(.notActivated), .activation(.activated), .stateChanged]
    }

    /// Only a primary's sessions follow another secondary; a secondary's stays activated.
    private func isSwitch(from left: UniqueIdentifier?) -> Bool {
        role == .primary && left != nil && left != state?.active
    }

    private mutating func beginSwitch(_ losses: [Effect]) -> [Effect] {
        activation = .inactive
        return [.activation(.inactive)] + losses + [.stateChanged, .deliverArrivals]
    }

    /// The daemon refused; the connection is over.
    package mutating func refused(_ name: RefusalName, now: MonotonicTime, random: UInt64) -> [Effect] {
        let isStale = name == .alreadyReceiving && staleRefusals > 0
        guard name.isFinalForHostApp, !isStale else {
            // Of a connection that it refused the daemon knows the end.
            let left = staleRefusals - (isStale ? 1 : 0)
            defer { staleRefusals = left }
            return lost(now: now, random: random)
        }
        let effects = leaveDaemon(now: now)
        (phase, isComingBack) = (.refused(name), false)
        return [.disconnect, .stopTimer] + effects + [.activationRefused(name)]
    }

    /// No connection could be made, or it ended, or it broke the protocol.
    package mutating func lost(now: MonotonicTime, random: UInt64) -> [Effect] {
        switch phase {
        case .idle, .refused, .waiting: return [.disconnect]
        case .connecting, .greeting, .registering, .active: break
        }
        let effects = leaveDaemon(now: now)
        if phase == .registering { staleRefusals = max(staleRefusals, 10) }
        phase = .waiting
        return [.disconnect] + effects + [.startTimer(backoff.next(random: random))]
    }

    /// The one timer fired: time for the next attempt, or the daemon took too long to greet.
    package mutating func timerFired(now: MonotonicTime, random: UInt64) -> [Effect] {
        switch phase {
        case .waiting:
            phase = .connecting
            return [.connect]
        case .greeting, .registering: return lost(now: now, random: random)
        case .idle, .connecting, .active, .refused: return []
        }
    }

    package mutating func end(now: MonotonicTime) -> [Effect] {
        guard phase != .idle else { return [] }
        let effects = leaveDaemon(now: now, loss: .ended)
        (phase, isComingBack) = (.idle, false)
        staleRefusals = 0
        backoff.reset()
        return [.disconnect, .stopTimer] + effects
    }

    private mutating func leaveDaemon(now: MonotonicTime, loss: RequestLoss = .daemonLost) -> [Effect] {
        guard phase == .active else { return [] }
        (activation, isComingBack) = (.notActivated, true)
        withoutDaemonSince = now
        return [.failRequests(to: nil, loss), .activation(.notActivated), .stateChanged]
    }

    /// Takes the new state in; returns what becomes of requests to pairings that are gone or, on a primary, no
    /// longer active.
    private mutating func replaceState(_ new: SessionState) -> [Effect] {
        let old = state
        state = new
        guard phase == .active, let old else { return [] }
        var effects = lossOfPairings(since: old)
        if role == .primary, let left = old.active, left != new.active, new.pairing(left) != nil {
            effects.append(.failRequests(to: left, .switched))
        }
        return effects
    }

    private func lossOfPairings(since old: SessionState) -> [Effect] {
        old.pairings.filter { state?.pairing($0.pairing) == nil }.map { .failRequests(to: $0.pairing, .unpaired) }
    }
}

extension RefusalName {
    /// A retry cannot help before something has changed.
    package var isFinalForHostApp: Bool {
        switch self {
        case .appOwned, .appRemoved, .appOtherSide, .application, .alreadyReceiving, .version, .notAllowed,
            .tooManyApplications:
            true
        default: false
        }
    }
}

extension ClientSession {
    /// Level, reason and since, of one pairing or of the active one.
    package func reachability(
        of pairing: UniqueIdentifier?
    ) -> (level: ReachabilityLevel, reason: ReachabilityReason, since: MonotonicTime) {
        guard phase == .active, let state else { return (.unreachable, .noDaemon, withoutDaemonSince) }
        guard let found = state.pairing(pairing) else { return (.unreachable, .notPaired, withoutDaemonSince) }
        return reachability(of: found)
    }

    /// The same of one of the state's pairings, without a search for it.
    package func reachability(
        of found: PairingState
    ) -> (level: ReachabilityLevel, reason: ReachabilityReason, since: MonotonicTime) {
        guard phase == .active else { return (.unreachable, .noDaemon, withoutDaemonSince) }
        return (found.level, found.reason, found.since)
    }

    /// Where a session stands that is bound to a pairing; the default one for nil. A bound one is not affected by a
    /// switch.
    package func standing(of pairing: UniqueIdentifier?) -> SessionStanding {
        let bound: ActivationState = phase == .active ? .activated : .notActivated
        return SessionStanding(
            pairing == nil ? activation : bound, isComingBack: isComingBack, isSupported: phase != .refused(.version))
    }

    /// The facts for ``SendCheck``; nil without such a pairing.
    package func counterpart(of pairing: UniqueIdentifier?) -> SendCheck.Counterpart? {
        guard let found = state?.pairing(pairing) else { return nil }
        return SendCheck.Counterpart(role: found.role, level: found.level, reason: found.reason)
    }
}
