// From the session's steps to the delegate's callbacks, each once and in order. A switch goes on only after the
// delegate has been given what had arrived before (SES-31); what the new counterpart sends meanwhile waits until the
// app has activated the session for it.

import Foundation
import PairedSession
import TandemBase
import TandemReactor
import TandemSession
import TandemWire

/// What a delegate has been told, and what waits for it; confined to the session's scheduler.
final class DelegateFeed {
    /// The facts whose changes have callbacks.
    private struct Seen: Equatable {
        var isReachable = false
        var watch = WatchState()
    }

    private struct WatchState: Equatable {
        var isPaired = false
        var isInstalled = false
        var hasComplication = false
        var directory: String?
    }

    /// Messages that wait while the app has not activated the session for its new counterpart.
    private static var capacity: Int { 256 }

    private weak var session: WCSession?
    /// Owns this feed by its closures.
    private unowned let core: SessionCore
    private var seen = Seen()
    /// From `inactive` until the app has activated again.
    private var isSwitching = false
    private var wasLost = false
    private var parked: [ReceivedMessage] = []
    private var parkedItems: [(item: DeliveredItem, token: HandlingToken)] = []

    init(_ session: WCSession, _ core: SessionCore) {
        self.session = session
        self.core = core
    }

    func happened(_ event: SessionEvent) {
        switch event {
        case .activation(let state): passed(through: state)
        case .asked(let result): answered(result)
        case .refused(let error):
            guard wasLost else { return }  // else a caller of activate() is told
            session?.tell { $1.session($0, activationDidCompleteWith: .notActivated, error: WCError(error)) }
        case .situation: situationChanged()
        }
    }

    private func passed(through state: ActivationState) {
        switch state {
        case .inactive:
            isSwitching = true
            session?.setActivation(.inactive)
            session?.tell { $1.sessionDidBecomeInactive($0) }
        case .notActivated where isSwitching:
            session?.setActivation(.notActivated)
            session?.tell { $1.sessionDidDeactivate($0) }
        case .notActivated:
            wasLost = true
            parked.removeAll { $0.wantsReply }
            session?.setActivation(.notActivated)
        case .activated:
            guard !isSwitching, wasLost else { return }
            answered(.success(()))
        }
    }

    /// The end of an `activate()`.
    private func answered(_ result: Result<Void, SessionError>) {
        guard let session else { return }
        switch result {
        case .success:
            (isSwitching, wasLost) = (false, false)
            session.setActivation(.activated, directory: core.activeDirectory)
            session.learnTransfers(core)
            session.tell { $1.session($0, activationDidCompleteWith: .activated, error: nil) }
            release()
        case .failure(let error):
            session.tell { $1.session($0, activationDidCompleteWith: .notActivated, error: WCError(error)) }
        }
    }

    private func situationChanged() {
        guard let session, let paired = session.pairedSession else { return }
        let device = paired.pairedDevice
        let new = Seen(
            isReachable: paired.reachability.isImmediate,
            watch: WatchState(
                isPaired: device != nil, isInstalled: device?.isInstalled ?? false,
                hasComplication: device?.hasComplication ?? false, directory: device?.directory))
        let old = seen
        seen = new
        if !isSwitching { session.follow(directory: core.activeDirectory) }
        if new.isReachable != old.isReachable { session.tell { $1.sessionReachabilityDidChange($0) } }
        guard new.watch != old.watch else { return }
        if paired.role == .secondary {
            session.tell { $1.sessionCompanionAppInstalledDidChange($0) }
        } else {
            session.tell { $1.sessionWatchStateDidChange($0) }
        }
    }

    // MARK: messages

    /// A message for the delegate: it speaks with the active counterpart only, and with a new one once it is activated
    /// for it. Configuration comes from this device's own daemon.
    func arrived(_ message: ReceivedMessage) {
        guard message.isConfiguration || message.pairing == core.activePairing else {
            return _ = message.refuse(.notActive)
        }
        guard isSwitching else { return session?.arrived(message) ?? () }
        guard parked.count < Self.capacity else { return message.refuseFull() }
        parked.append(message)
        session?.changePending(by: 1)
    }

    /// A durable item for the delegate: delivered whatever pairing it came through, under its label, because it was
    /// accepted to be handled. Only what concerns another counterpart's state waits for it to be the active one.
    func arrived(_ item: DeliveredItem, _ token: HandlingToken) {
        let isOfActive = item.facts.pairing == core.activePairing
        guard isOfActive ? isSwitching : item.channel == .context else { return session?.arrived(item, token) ?? () }
        parkedItems.append((item, token))
        session?.changePending(by: 1)
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
            .sessionInactive, name: "not-active", reason: "the counterpart's session is bound to another device now",
            isRetryable: true)
    }
}
