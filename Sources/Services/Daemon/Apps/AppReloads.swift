// Reloads of host apps (SignedConfiguration CFG-42). An app that answers `inbox-full` has not seen the message, and
// takes messages again without a new registration, so it gets the reload again, whoever has asked for it.

import TandemBase
import TandemReactor
import TandemSession
import TandemSignedConfiguration

/// The reloads of one endpoint, and those that its apps have no room for now; confined to its loop.
final class AppReloads {
    private typealias Completion = (OfferOutcome) -> Void

    /// A reload that waits for room: one message serves all that were asked for meanwhile.
    private struct Waiting {
        let timer: TimerToken
        /// Answers in a row that there is no room.
        let refusals: Int
        /// That of the last reload that awaits room, which knows the latest files. The app may stay full for weeks.
        var completion: Completion?
    }

    private unowned let endpoint: LocalEndpoint
    /// By the receiving connections. Unchecked, because nothing is called while it is touched: a completion runs when
    /// its entry is out.
    @exclusivity(unchecked) private var waiting: [ConnectionNumber: Waiting] = [:]

    init(of endpoint: LocalEndpoint) { self.endpoint = endpoint }

    /// Sends the message to the app of a receiving connection, again while the app has no room for it. Whatever waits
    /// goes with it: the app may have room by now.
    /// - Parameters:
    ///   - awaitsRoom: whether the completion waits until the app has room; else it is called at the first answer.
    ///   - completion: as for an offer; never called for one that awaits room if a later one takes its place meanwhile.
    func send(
        _ body: [UInt8], to app: ApplicationIdentifier, over connection: ConnectionNumber,
        awaitsRoom: Bool, completion: @escaping (OfferOutcome) -> Void
    ) {
        let waited = waiting.removeValue(forKey: connection)
        if let waited { endpoint.scheduler.cancel(waited.timer) }
        let refusals = waited?.refusals ?? 0
        if awaitsRoom { return send(body, to: app, over: connection, completion, refusals: refusals) }
        send(body, to: app, over: connection, waited?.completion, refusals: refusals, first: completion)
    }

    private func send(
        _ body: [UInt8], to app: ApplicationIdentifier, over connection: ConnectionNumber,
        _ completion: Completion?, refusals: Int, first: Completion? = nil
    ) {
        endpoint.offer(body, to: app, pairing: .zero) { [weak self] outcome in
            defer { first?(outcome) }
            guard let self, outcome.isForLackOfRoom else {
                completion?(outcome)
                return
            }
            // Another one was refused meanwhile.
            guard waiting[connection] == nil else {
                if let completion { waiting[connection]?.completion = completion }
                return
            }
            // As an offer that had no room (CFG-43): at the next tick, and after LIM-142 refusals in a row when its
            // time is over.
            let isPatient = refusals < ConfigurationLimits.unjudgedOffers
            let pause = isPatient ? ConfigurationLimits.tick : ConfigurationLimits.unjudgedPause
            let timer = endpoint.scheduler.schedule(after: pause) { [weak self] in
                guard let self, let due = waiting.removeValue(forKey: connection) else { return }
                send(body, to: app, over: connection, due.completion, refusals: refusals + 1)
            }
            waiting[connection] = Waiting(timer: timer, refusals: refusals, completion: completion)
        }
    }

    /// The connection is gone: its app reads its files when it starts again.
    func closed(_ connection: ConnectionNumber) {
        guard let entry = waiting.removeValue(forKey: connection) else { return }
        endpoint.scheduler.cancel(entry.timer)
        entry.completion?(.disconnected)
    }
}
