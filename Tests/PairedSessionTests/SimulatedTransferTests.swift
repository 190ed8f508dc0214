// Items of apps beside the simulator, whose daemons' code keeps them, when connections and processes end in between.

import Dispatch
import PairedSession
import PairedSessionFoundation
import Synchronization
import TandemBase
import TandemDaemon
import TandemOperations
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

/// Counts the ends that are reported to it.
private final class CountingDelegate: WCSessionDelegate {
    let finished = Mutex(0)

    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
    }

    func session(_ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?) {
        finished.withLock { $0 += 1 }
    }
}

struct SimulatedTransferTests {
    private let apps: SimulatedApps

    init() throws {
        apps = try SimulatedApps(secondaries: 1)
        apps.activateAll()
    }

    private func handle() {
        apps.secondaries[0].core.run { core in core.handleItems([.userInfo]) { _, token in token.returned() } }
        apps.scheduler.run()
    }

    @Test(
        "SES-84: an item whose acceptance was lost is taken back on the next connection, or has been handled",
        arguments: [true, false])
    func acceptanceLost(isHandled: Bool) throws {
        if isHandled { handle() } else { apps.secondaries[0].core.run { $0.end() } }
        apps.scheduler.run()
        apps.simulator.primary.items?.trace = { [weak apps] event in if event.step == .accepted { apps?.cut(0) } }
        let submission = Submission(.userInfo, to: nil, OutgoingContent(["n": 1]))
        let (results, answers) = (
            Collector<Result<Transfer, SessionError>>(), Collector<Result<TransferCancellation, SessionError>>()
        )
        apps.primary.core.run { core in core.transfer(submission) { results.add($0) } }
        apps.scheduler.run()
        apps.primary.core.run { core in core.takeBack(submission.id, on: .userInfo) { answers.add($0) } }
        apps.scheduler.run()
        #expect(results.all.isEmpty)
        #expect(try answers.all.map { try $0.get() } == [.unknown])
        apps.scheduler.advance(by: .seconds(1))
        let transfer = try #require(try results.all.first?.get())
        #expect(transfer.state == .finished(isHandled ? .handled : .cancelled))
    }

    @Test("SES-85: an end whose process ended before its delegate was called is told to the next process, once")
    func processEnds() throws {
        let delegates = [CountingDelegate(), CountingDelegate()]
        let first = WCSession(over: apps.primary)
        start(first, delegates[0])
        first.callbacks.suspend()
        first.transferUserInfo(["n": 1])
        handle()
        apps.primary.end {}
        apps.scheduler.run()
        let second = WCSession(over: try apps.anotherPrimary())
        start(second, delegates[1])
        #expect(delegates.map { $0.finished.withLock { $0 } } == [0, 1])
        second.pairedSession?.end {}
        apps.scheduler.run()
        let third = WCSession(over: try apps.anotherPrimary())
        start(third, delegates[1])
        #expect(delegates[1].finished.withLock { $0 } == 1)
        first.callbacks.resume()
    }

    private func start(_ session: WCSession, _ delegate: CountingDelegate) {
        session.delegate = delegate
        session.activate()
        session.settle(with: apps.scheduler)
        apps.scheduler.run()
    }
}
