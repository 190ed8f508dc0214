// Reloads of host apps (SignedConfiguration CFG-42). An app that answers `inbox-full` has not seen the message, and
// takes messages again without a new registration, so it gets the reload again, whoever has asked for it.

import TandemBase
import TandemReactor
import TandemSession
import TandemSignedConfiguration

/// The reloads of one endpoint, and those that its apps have no room for now; confined to its loop.
final class AppReloads {
    private typealias Completion = (OfferOutcome) -> Void

    /// A reload that waits for room, and those who have asked for it: one message is the answer to all.
    private struct Waiting {
        let timer: TimerToken
        var completions: [Completion]
    }

    /// Time until a reload is sent again, as many times as LIM-142 says; the later ones have its time between them.
    private static var pause: Duration { .seconds(10) }

    private unowned let endpoint: LocalEndpoint
    /// By the receiving connections. Unchecked, because nothing is called while it is touched: a completion runs when
    /// its entry is out.
    @exclusivity(unchecked) private var waiting: [ConnectionNumber: Waiting] = [:]

    init(of endpoint: LocalEndpoint) { self.endpoint = endpoint }

    /// Sends the message to the app of a receiving connection, again while the app has no room for it.
    /// - Parameter completion: as for an offer.
    func send(
        _ body: [UInt8], to app: ApplicationIdentifier, over connection: ConnectionNumber,
        completion: @escaping (OfferOutcome) -> Void
    ) {
        if waiting[connection] == nil { return send(body, to: app, over: connection, [completion], refusals: 0) }
        waiting[connection]?.completions.append(completion)
    }

    /// - Parameter refusals: answers in a row that there is no room.
    private func send(
        _ body: [UInt8], to app: ApplicationIdentifier, over connection: ConnectionNumber,
        _ completions: [Completion], refusals: Int
    ) {
        endpoint.offer(body, to: app, pairing: .zero) { [weak self] outcome in
            guard let self, outcome.isForLackOfRoom else { return completions.forEach { $0(outcome) } }
            // Another one was refused meanwhile.
            guard waiting[connection] == nil else {
                waiting[connection]?.completions += completions
                return
            }
            let pause =
                refusals < ConfigurationLimits.unjudgedOffers ? Self.pause : ConfigurationLimits.unjudgedPause
            let timer = endpoint.scheduler.schedule(after: pause) { [weak self] in
                guard let self, let due = waiting.removeValue(forKey: connection) else { return }
                send(body, to: app, over: connection, due.completions, refusals: refusals + 1)
            }
            waiting[connection] = Waiting(timer: timer, completions: completions)
        }
    }

    /// The connection is gone: its app reads its files when it starts again.
    func closed(_ connection: ConnectionNumber) {
        guard let entry = waiting.removeValue(forKey: connection) else { return }
        endpoint.scheduler.cancel(entry.timer)
        for completion in entry.completions { completion(.disconnected) }
    }
}
