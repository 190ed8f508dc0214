// Withdrawals of durable items (SES-84). A withdrawal is pending until the daemon has answered it, on later connections
// too. Of many only some are under way at once, so that the app's other questions find room (LIM-132); the rest follow
// in the order of the calls, as answers come.

import TandemBase
import TandemReactor
import TandemWire

/// The items of one session that its app takes back; confined to its scheduler.
final class Withdrawals {
    private struct Caller {
        /// Ends its wait (LIM-8).
        let timer: TimerToken
        let completion: Completion<TransferCancellation>
    }

    private struct Pending {
        /// The order of the calls.
        let number: UInt64
        /// Ends its handover (SES-89): called when the withdrawal has ended, or the app is refused for good.
        var ended: Completion<Void>
        /// The daemon has to be asked, perhaps again.
        var isWaiting = true
        var callers: [UInt64: Caller] = [:]
    }

    /// Takes the end of a withdrawal: the daemon's answer, or its refusal for good. Returns the callers' result.
    private let onEnd: (ItemKey, Result<AnswerFrame, SessionError>) -> Result<TransferCancellation, SessionError>
    private let daemon: DaemonChannel
    private let queries: QueryTable
    private let handovers: HandoverBook
    private let scheduler: any Scheduler
    private var pending: [ItemKey: Pending] = [:]
    private var calls: UInt64 = 0
    /// The waiting ones in their order; among them some that have ended. A slice, so that taking the first is cheap.
    private var queue: ArraySlice<ItemKey> = []
    /// Those that the daemon has been asked for, until it has answered or may be asked again.
    private var underWay = 0
    /// The daemon has refused the app for good, and none has accepted it since: no wait counts the pending ones.
    private var isReleased = false

    init(
        daemon: DaemonChannel, queries: QueryTable, handovers: HandoverBook, scheduler: any Scheduler,
        onEnd: @escaping (ItemKey, Result<AnswerFrame, SessionError>) -> Result<TransferCancellation, SessionError>
    ) {
        self.daemon = daemon
        self.queries = queries
        self.handovers = handovers
        self.scheduler = scheduler
        self.onEnd = onEnd
    }

    func isPending(_ item: ItemKey) -> Bool { pending[item] != nil }

    /// Whether the daemon of this connection has not been asked yet: nothing else of the item may be sent before.
    func isWaiting(_ item: ItemKey) -> Bool { pending[item]?.isWaiting == true }

    /// Takes an item back.
    /// - Parameter completion: called once: with the result of its end, after the time of LIM-8, or at once without a
    ///   daemon.
    func begin(_ item: ItemKey, then completion: @escaping Completion<TransferCancellation>) {
        calls += 1
        let number = calls
        if pending[item] == nil {
            pending[item] = Pending(number: number, ended: handover())
            queue.append(item)
        }
        guard daemon.isRegistered else { return completion(.success(.unknown)) }
        let timer = scheduler.schedule(after: Limits.standardDeadline) { [weak self] in
            self?.pending[item]?.callers.removeValue(forKey: number)?.completion(.success(.unknown))
        }
        pending[item]?.callers[number] = Caller(timer: timer, completion: completion)
        ask()
    }

    /// Asks the daemon for as many as may be under way.
    func ask() {
        if isReleased, daemon.isRegistered { countAgain() }
        while daemon.isRegistered, underWay < Limits.withdrawalsUnderWay, let item = queue.popFirst() {
            guard isWaiting(item) else { continue }
            pending[item]?.isWaiting = false
            underWay += 1
            let connection = daemon.number
            queries.ask(.cancel(item.id), of: item.queue.pairing, on: item.queue.channel) { [weak self] result in
                self?.answered(item, result.mapError { $0.about(message: item.id, peer: nil) }, on: connection)
            }
        }
    }

    private func answered(_ item: ItemKey, _ result: Result<AnswerFrame, SessionError>, on connection: UInt64) {
        guard isConnected(connection) else { return }
        if isPending(item), case .failure(let error) = result, !error.endsWithdrawals {
            // A daemon that cannot answer now is asked again. A new connection asks for everything anyhow.
            scheduler.schedule(after: .seconds(1)) { [weak self] in self?.askAgain(item, on: connection) }
            return
        }
        underWay -= 1
        if let withdrawal = pending.removeValue(forKey: item) {
            complete(withdrawal, onEnd(item, result))
            withdrawal.ended(.success(()))
        }
        ask()
    }

    /// Behind those that wait, so that one that the daemon cannot answer keeps no other from its turn.
    private func askAgain(_ item: ItemKey, on connection: UInt64) {
        guard isConnected(connection) else { return }
        underWay -= 1
        if isPending(item) {
            pending[item]?.isWaiting = true
            queue.append(item)
        }
        ask()
    }

    private func isConnected(_ connection: UInt64) -> Bool { daemon.isRegistered && daemon.number == connection }

    private func complete(_ withdrawal: Pending, _ result: Result<TransferCancellation, SessionError>) {
        for (_, caller) in withdrawal.callers.sorted(by: { $0.key < $1.key }) {
            scheduler.cancel(caller.timer)
            caller.completion(result)
        }
    }

    // MARK: handovers

    /// Counts a withdrawal for the waits that begin from now on, until its completion is called.
    private func handover() -> Completion<Void> {
        if isReleased { return { _ in } }
        return handovers.track { _ in }
    }

    /// The daemon has refused the app for good: nothing pending can end before the app activates again, so no wait
    /// counts it (SES-89). It stays pending.
    func release(_ error: SessionError) {
        isReleased = true
        for withdrawal in pending.values { withdrawal.ended(.failure(error)) }
    }

    /// A daemon has accepted the app again: later waits count what is pending.
    private func countAgain() {
        isReleased = false
        for item in pending.keys { pending[item]?.ended = handover() }
    }

    // MARK: ends

    /// The connection is gone: its callers wait no longer, and the next daemon is asked for everything.
    func disconnected() {
        let all = pending.sorted { $0.value.number < $1.value.number }
        pending = pending.mapValues { Pending(number: $0.number, ended: $0.ended) }
        (queue, underWay) = (all.map(\.key)[...], 0)
        for (_, withdrawal) in all { complete(withdrawal, .success(.unknown)) }
    }

    /// A pairing is gone, or all with the session.
    func fail(to pairing: UniqueIdentifier?, _ error: SessionError) {
        let gone = pending.filter { pairing == nil || $0.key.queue.pairing == pairing }
        for item in gone.keys { pending[item] = nil }
        for withdrawal in gone.values.sorted(by: { $0.number < $1.number }) {
            complete(withdrawal, .failure(error))
            withdrawal.ended(.failure(error))
        }
    }
}

extension SessionError {
    /// Nothing of the pairing is left, or the app's queues are another user's: asking again changes nothing.
    fileprivate var endsWithdrawals: Bool { code == .deviceNotPaired || code == .invalidParameter }
}
