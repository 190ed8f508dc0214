// A session by Apple's names beside a scripted daemon, which several suites use.

import Foundation
import PairedSession
import PairedSessionFoundation
import TandemReactor
import TandemTestSupport

/// A session by Apple's names over a session beside a scripted daemon.
struct WCSessionFixture<Delegate: WCSessionDelegate> {
    let fixture: SessionFixture
    let session: WCSession
    let delegate: Delegate

    init(_ delegate: Delegate, over fixture: SessionFixture? = nil) throws {
        self.fixture = try fixture ?? SessionFixture()
        self.delegate = delegate
        session = WCSession(over: self.fixture.session)
        session.delegate = delegate
    }
}

/// Tests of one such session.
protocol WCSessionSuite {
    associatedtype Delegate: WCSessionDelegate
    var apple: WCSessionFixture<Delegate> { get }
    /// Runs the loop, and then everything that the callback queue has to do.
    func settle()
}

extension WCSessionSuite {
    var fixture: SessionFixture { apple.fixture }
    var session: WCSession { apple.session }
    var delegate: Delegate { apple.delegate }

    func activate() {
        session.activate()
        settle()
    }

    func tellSituation() {
        fixture.daemon.tellSituation()
        settle()
    }

    /// All pairings of the device end.
    func unpair() {
        (fixture.daemon.situation.pairings, fixture.daemon.situation.active) = ([], nil)
        tellSituation()
    }

    func settle() { session.settle(with: fixture.scheduler) }
}

extension WCSession {
    /// Runs the loop, and then everything that the callback queue has to do.
    func settle(with scheduler: ManualScheduler) {
        for _ in 0..<4 {
            scheduler.run()
            callbacks.sync {}
        }
    }
}

/// A delegate that notes its calls as texts.
protocol RecordsCalls: WCSessionDelegate {
    var calls: Collector<String> { get }
}

extension RecordsCalls {
    func add(_ call: String) { calls.add(call) }
}

extension WCSessionSuite where Delegate: RecordsCalls {
    var calls: [String] { delegate.calls.all }
}
