// From the session's steps to the delegate's callbacks, each exactly once and in order.

import Foundation
import PairedSession
import TandemWire

extension WCSession {
    func observe(_ session: PairedSession) {
        session.handle.run { [weak self] core in
            var watch = StateWatch()
            core.onEvent = { event in self?.happened(event, &watch) }
            core.receive { message in self?.arrived(message) }
            self?.observeTransfers(core)
        }
    }

    func activationEnded(_ result: Result<Void, SessionError>) {
        switch result {
        case .success:
            setActivation(.activated)
            pairedSession?.handle.run { [weak self] core in self?.learnTransfers(core) }
            tell { $1.session($0, activationDidCompleteWith: .activated, error: nil) }
        case .failure(let error):
            tell { $1.session($0, activationDidCompleteWith: .notActivated, error: WCError(error)) }
        }
    }

    private func happened(_ event: SessionEvent, _ watch: inout StateWatch) {
        switch event {
        case .activation(let state): passed(through: state, &watch)
        case .refused(let error):
            guard watch.wasLost else { return }  // else a caller of activate() is told
            tell { $1.session($0, activationDidCompleteWith: .notActivated, error: WCError(error)) }
        case .situation: situationChanged(&watch)
        }
    }

    private func passed(through state: ActivationState, _ watch: inout StateWatch) {
        switch state {
        case .inactive:
            watch.isSwitching = true
            setActivation(.inactive)
            tell { $1.sessionDidBecomeInactive($0) }
        case .notActivated where watch.isSwitching:
            setActivation(.notActivated, isDeactivated: true)
            tell { $1.sessionDidDeactivate($0) }
        case .notActivated:
            watch.wasLost = true
            setActivation(.notActivated)
        case .activated:
            let mustAsk = watch.isSwitching || isDeactivated
            watch.isSwitching = false
            guard !mustAsk, watch.wasLost else { return }
            watch.wasLost = false
            activationEnded(.success(()))
        }
    }

    private func situationChanged(_ watch: inout StateWatch) {
        guard let session = pairedSession else { return }
        let new = StateWatch.Seen(
            isReachable: session.reachability.isImmediate, isPaired: session.pairedDevice != nil,
            isInstalled: session.pairedDevice?.isInstalled ?? false)
        let old = watch.seen
        watch.seen = new
        if new.isReachable != old.isReachable { tell { $1.sessionReachabilityDidChange($0) } }
        guard (new.isPaired, new.isInstalled) != (old.isPaired, old.isInstalled) else { return }
        if session.role == .secondary {
            tell { $1.sessionCompanionAppInstalledDidChange($0) }
        } else {
            tell { $1.sessionWatchStateDidChange($0) }
        }
    }
}

/// What the delegate has been told.
private struct StateWatch {
    struct Seen {
        var isReachable = false
        var isPaired = false
        var isInstalled = false
    }

    var seen = Seen()
    var isSwitching = false
    var wasLost = false
}
