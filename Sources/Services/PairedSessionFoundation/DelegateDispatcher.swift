// Dispatch of the session's steps to the delegate's callbacks, each once and in order, on one serial queue. A switch
// continues only after the delegate has got what had arrived before (SES-31); what the new counterpart sends meanwhile
// waits until the app has activated the session for it. An activation completes for the delegate once the daemon has
// said what it keeps for the app (SES-62). Apple's callbacks do not say from which device something came, and after a
// switch an app has to know: so each arrival has a label.

import Foundation
import PairedSession
import Synchronization
public import TandemBase
import TandemSession
import TandemWire

/// A delegate's knowledge, and the arrivals that wait for it; confined to the session's scheduler.
final class DelegateDispatcher {
    private enum Knowledge { case unknown, asked, known }

    /// Where a switch stands for the delegate.
    private enum Switch {
        case none
        /// It was notified that the session became inactive.
        case inactive
        /// It was notified that the session was deactivated, and has not activated it again.
        case deactivated
    }

    private weak var session: WCSession?
    /// Owns this dispatcher by its closures.
    private unowned let core: SessionActor
    /// The session's properties after the last event.
    private var watch = WatchState()
    private var isReachable = false
    private var stage = Switch.none
    private var wasLost = false
    /// The daemon's knowledge about the app on this connection, and with this counterpart.
    private var knowledge = Knowledge.unknown
    /// The pairing about which the daemon was asked last; nil: there was none.
    private var asked: UniqueIdentifier?
    /// Grows with each connection and counterpart: answers that belong to a former one complete no activation.
    private var round = 0
    /// Callbacks of activations that wait for the daemon's knowledge.
    private var completions = 0
    private var parked: [ReceivedMessage] = []
    private var parkedItems: [(item: DeliveredItem, token: HandlingToken)] = []
    /// Steps of transfers that came before the delegate's first activation; nil once that has completed.
    private var parkedSteps: [TransferEvent]? = []

    init(_ session: WCSession, _ core: SessionActor) {
        self.session = session
        self.core = core
    }

    func happened(_ event: SessionEvent) {
        switch event {
        case .activation(let state): passed(through: state)
        case .asked(let result): answered(result)
        case .learned(let round): learned(in: round)
        case .refused(let error): refused(error)
        case .state: stateChanged()
        }
        putOffParked()
        followWatchState()
        followReachability()
    }

    private func passed(through state: ActivationState) {
        switch state {
        case .inactive:
            forget()
            // An app that has not activated the session since the last switch is notified of the newest device then.
            guard stage == .none else { return }
            stage = .inactive
            session?.setActivation(.inactive)
            session?.tellSwitch { $1.sessionDidBecomeInactive($0) }
        case .notActivated:
            if !core.assumeIsolated({ $0.isRegistered }) { lost() }
            session?.setActivation(
                .notActivated, isDeactivated: stage != .none, isComingBack: wasLost && stage == .none)
            guard stage == .inactive else { return }
            stage = .deactivated
            session?.tellSwitch { $1.sessionDidDeactivate($0) }
        case .activated:
            // After a switch the app activates; a connection that was lost in between completes that activation.
            guard completions > 0 || wasLost && stage == .none else { return }
            complete(atLeast: 1)
        }
    }

    private func lost() {
        wasLost = true
        forget()
        let former = parked.count
        parked.removeAll { $0.wantsReply }
        session?.changePending(by: parked.count - former)
    }

    /// Completes with the error the activations that wait for the daemon's knowledge, or else the one that the session
    /// began by itself after a lost daemon. A caller of `activate()` that waits for the daemon gets its own error.
    private func refused(_ error: SessionError) {
        let count = max(completions, wasLost && stage == .none ? 1 : 0)
        completions = 0
        wasLost = false
        session?.setActivation(.notActivated, isDeactivated: stage != .none)
        for _ in 0..<count {
            session?.tell { $1.session($0, activationDidCompleteWith: .notActivated, error: WCError(error)) }
        }
    }

    /// The end of an `activate()`.
    private func answered(_ result: Result<Void, SessionError>) {
        guard let session else { return }
        switch result {
        case .success: complete(atLeast: completions + 1)
        case .failure(let error):
            session.tell { $1.session($0, activationDidCompleteWith: .notActivated, error: WCError(error)) }
        }
    }

    // MARK: the daemon's knowledge

    /// Completes activations, once the daemon has said what it keeps for the app (SES-62).
    private func complete(atLeast count: Int) {
        completions = max(completions, count)
        switch knowledge {
        case .known: completeNow()
        case .asked: break
        case .unknown: learn()
        }
    }

    private func learn() {
        guard let session else { return }
        (knowledge, asked) = (.asked, activePairing)
        let round = round
        core.assumeIsolated { session.learn(from: $0, in: round) }
    }

    /// The daemon has answered, or the connection was lost: then the next one completes the activation.
    private func learned(in round: Int) {
        guard round == self.round, core.assumeIsolated({ $0.isRegistered }) else { return }
        knowledge = .known
        if asked == activePairing { completeNow() } else { followCounterpart() }
    }

    /// A counterpart that comes without a switch, as a secondary's and the first one of a primary do, is asked about as
    /// one after a switch (SES-62). Its messages and items wait meanwhile. The properties do not: what is sent goes to
    /// it already.
    private func followCounterpart() {
        guard knowledge != .unknown, asked != activePairing else { return }
        session?.follow(activePairing)
        forget()
        learn()
    }

    private func forget() {
        knowledge = .unknown
        round += 1
    }

    private func completeNow() {
        guard let session else { return }
        (stage, wasLost) = (.none, false)
        session.setActivated(for: activePairing)
        session.tellActivated(completions)
        completions = 0
        let steps = parkedSteps ?? []
        parkedSteps = nil
        for step in steps { session.happened(step) }
        release()
    }

    /// Arrivals wait: the session is not activated for the delegate yet, or no longer.
    private var isParking: Bool { stage != .none || knowledge == .asked }

    private func stateChanged() {
        followCounterpart()
        dropOrphans()
    }

    /// Runs after each event of any kind, because the delegate knows another counterpart once it is activated for it.
    private func followWatchState() {
        guard let session else { return }
        let new = session.watchState
        guard new != watch else { return }
        watch = new
        session.tellWatchState()
    }

    /// Runs after each event of any kind, because the property depends on the activation, too.
    private func followReachability() {
        guard let session, session.isReachable != isReachable else { return }
        isReachable.toggle()
        session.tellReachability()
    }

    private var activePairing: UniqueIdentifier? { core.assumeIsolated { $0.activePairing } }

    // MARK: messages

    /// A message for the delegate: it speaks with the active counterpart only, and with a new one once it is activated
    /// for it. Configuration comes from this device's own daemon. All that wait for the delegate have one bound, here
    /// and in the callback queue (SES-34): a delegate that is slow must not cost its process memory without end. A
    /// configuration waits beyond it: its refusal would be the app's answer, after which no offer comes (CFG-43).
    func arrived(_ message: ReceivedMessage) {
        guard message.isConfiguration || message.pairing == activePairing else {
            return _ = message.refuse(.notActive)
        }
        let waiting = parked.count + (session?.queuedMessages ?? 0)
        guard message.isConfiguration || waiting < ReceivedMessage.waitingAtMost else { return message.refuseFull() }
        guard isParking else { return session?.arrived(message) ?? () }
        parked.append(message)
        session?.changePending(by: 1)
    }

    /// A durable item for the delegate: delivered whatever pairing it came through, under its label, because it was
    /// accepted to be handled. A context of another pairing waits until that is the active one: in the daemon, where
    /// this is no attempt (SES-88), or here if the daemon is of an earlier release, or another handler has got it, too.
    func arrived(_ item: DeliveredItem, _ token: HandlingToken) {
        if mayPutOff(item, token) { return token.threw(.later) }
        guard isOfAnotherState(item) || isParking && item.facts.pairing == activePairing else {
            return session?.arrived(item, token) ?? ()
        }
        parkedItems.append((item, token))
        session?.changePending(by: 1)
    }

    /// Whether an item concerns the state of another counterpart than the active one.
    private func isOfAnotherState(_ item: DeliveredItem) -> Bool {
        item.channel.content == .context && item.facts.pairing != activePairing
    }

    /// Whether the daemon keeps an item until its pairing is the active one. It gives a whole item again, so that one
    /// that another handler has got, too, would come to that handler twice (SES-51).
    private func mayPutOff(_ item: DeliveredItem, _ token: HandlingToken) -> Bool {
        isOfAnotherState(item) && !token.isShared && core.assumeIsolated { $0.keepsForLater }
    }

    /// Puts off what was parked beside another daemon, or before its pairing was left: each connection that ends before
    /// the verdict would cost the item an attempt.
    private func putOffParked() {
        let former = parkedItems
        parkedItems = former.filter { !mayPutOff($0.item, $0.token) }
        guard parkedItems.count < former.count else { return }
        for parked in former where mayPutOff(parked.item, parked.token) { parked.token.threw(.later) }
        session?.changePending(by: parkedItems.count - former.count)
    }

    /// Lets the parked items of pairings that have ended go.
    private func dropOrphans() {
        guard !parkedItems.isEmpty else { return }
        let pairings = session?.pairedSession?.pairedDevices.map(\.pairing) ?? []
        let former = parkedItems.count
        parkedItems.removeAll { !pairings.contains($0.item.facts.pairing) }
        session?.changePending(by: parkedItems.count - former)
    }

    // MARK: transfers

    /// A step of a transfer. Those of former processes come with the first connection, and an app that makes its model
    /// when it is activated has none before (SES-62). A later activation holds nothing up: it may wait for the app.
    func happened(_ event: TransferEvent) {
        if parkedSteps?.append(event) == nil { session?.happened(event) }
    }

    private func release() {
        let (messages, items) = (parked, parkedItems)
        (parked, parkedItems) = ([], [])
        session?.changePending(by: -(messages.count + items.count))
        for message in messages { arrived(message) }
        for (item, token) in items { arrived(item, token) }
    }
}

extension SessionError {
    /// The counterpart's app speaks with another device now (SES-31).
    fileprivate static var notActive: SessionError {
        SessionError(
            .sessionInactive, .notActive, reason: "the counterpart's session is bound to another device now",
            isRetryable: true)
    }
}

extension WCSession {
    /// Through which pairing came what the delegate is being given; nil outside of a receiving callback. To be read in
    /// the callback, on its queue.
    public var deliveringPairing: UniqueIdentifier? { labels.withLock { $0.current } }

    /// An arrived item has not reached the delegate yet.
    public var hasContentPending: Bool {
        labels.withLock { $0.pending } > 0 || pairedSession?.hasContentPending == true
    }

    /// Begins to dispatch what happens to the session underneath. Not `observe`, which a port writes for key-value
    /// observing: the compiler would say that it is internal, and not that there is none.
    func attach(to session: PairedSession) {
        session.core.run { [weak self] core in
            guard let self else { return }
            let dispatcher = DelegateDispatcher(self, core)
            core.observeEvents { dispatcher.happened($0) }
            core.receive { dispatcher.arrived($0) }
            let channels = Channel.forApps.filter { $0.content?.isForApp == true }
            core.handleItems(channels) { dispatcher.arrived($0, $1) }
            core.observeTransfers(acknowledging: true) { dispatcher.happened($0) }
            core.beforeSwitching { [weak self] done in
                guard let self else { return done() }
                // Behind everything that the queue has to deliver.
                callbacks.async { done() }
            }
        }
    }

    typealias Callback = @Sendable (WCSession, any WCSessionDelegate) -> Void

    /// Calls the delegate from the callback queue; nothing without one.
    func tell(_ callback: @escaping Callback) {
        callbacks.async { [self] in
            guard let delegate else { return }
            callback(self, delegate)
        }
    }

    /// Tells the delegate of a step of a switch, or the next one if there is none: without it the app would not know
    /// that it has to activate the session (SES-31). An app that has done so meanwhile is not told.
    func tellSwitch(_ callback: @escaping Callback) {
        let number = activations
        callbacks.async { [self] in
            let isLate = delegate == nil
            waiting.withLock { waiting in
                waiting.append { session, delegate in
                    if !isLate || session.activations == number { callback(session, delegate) }
                }
            }
            callWaiting()
        }
    }

    /// Completes activations. From the first on the delegate knows the watch state, and whether the counterpart can be
    /// reached: what it reads in that callback is no change.
    func tellActivated(_ count: Int) {
        callbacks.async { [self] in
            beginChanges()
            for _ in 0..<count { delegate?.session(self, activationDidCompleteWith: .activated, error: nil) }
        }
    }

    /// Tells the delegate of the reachability that it would read now, if that is not what it knows (SES-35).
    func tellReachability() {
        callbacks.async { [self] in
            guard let delegate, learnReachability() else { return }
            delegate.sessionReachabilityDidChange(self)
        }
    }

    /// Tells the delegate of the watch state that it would read now, if that is not what it knows (SES-35).
    func tellWatchState() {
        callbacks.async { [self] in
            guard let delegate, learnWatchState() else { return }
            if pairedSession?.role == .secondary {
                delegate.sessionCompanionAppInstalledDidChange(self)
            } else {
                delegate.sessionWatchStateDidChange(self)
            }
        }
    }

    /// Calls the delegate from the callback queue, or the next one if there is none: the end of a transfer is not lost
    /// (SES-63).
    func deliver(_ callback: @escaping Callback) {
        callbacks.async { [self] in
            waiting.withLock { $0.append(callback) }
            callWaiting()
        }
    }

    /// A delegate was set: it learns what the one before does not know, and gets what has waited.
    func deliverWaiting() {
        tellWatchState()
        tellReachability()
        callbacks.async { [self] in callWaiting() }
    }

    /// Each goes to the delegate that there is then: one of them may have set another, or none.
    private func callWaiting() {
        var ready = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting[...]
        }
        while let delegate, let callback = ready.popFirst() { callback(self, delegate) }
        waiting.withLock { $0.insert(contentsOf: ready, at: 0) }
    }

    /// Calls the delegate with a message, labelled with its pairing; without a delegate it is let go.
    func tellArrival(from pairing: UniqueIdentifier, _ callback: @escaping Callback) {
        changePending(by: 1)
        labels.withLock { $0.queuedMessages += 1 }
        callbacks.async { [self] in
            labels.withLock { $0.queuedMessages -= 1 }
            if let delegate { callLabelled(pairing, delegate, callback) }
            changePending(by: -1)
        }
    }

    /// The same for what waits for a delegate.
    func deliverArrival(from pairing: UniqueIdentifier, _ callback: @escaping Callback) {
        changePending(by: 1)
        deliver { session, delegate in
            session.callLabelled(pairing, delegate, callback)
            session.changePending(by: -1)
        }
    }

    private func callLabelled(_ pairing: UniqueIdentifier, _ delegate: any WCSessionDelegate, _ callback: Callback) {
        labels.withLock { $0.current = pairing }
        callback(self, delegate)
        labels.withLock { $0.current = nil }
    }

    /// Messages in the callback queue; the one that the delegate is being given does not count.
    var queuedMessages: Int { labels.withLock { $0.queuedMessages } }

    /// Counts what has arrived and waits for the delegate.
    func changePending(by change: Int) { labels.withLock { $0.pending += change } }
}

/// The label of the running callback and the number of those to come.
struct ArrivalLabels {
    fileprivate var current: UniqueIdentifier?
    fileprivate var pending = 0
    fileprivate var queuedMessages = 0
}
