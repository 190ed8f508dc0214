// SES-31 by Apple's names over the simulator: random switches of a primary between its secondaries, also to none, while
// all of them send messages and contexts.

import Foundation
import PairedSession
import PairedSessionFoundation
import Synchronization
import TandemBase
import TandemDaemon
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

/// Activates the session again after each switch, and judges what it is given: its label, and of which device the
/// session speaks meanwhile.
private final class JudgingDelegate: WCSessionDelegate {
    let seen = Tally()
    private let pairings: [UniqueIdentifier]
    private let contexts = Mutex<[Int: Int]>([:])

    init(_ pairings: [UniqueIdentifier]) { self.pairings = pairings }

    /// The number of the last context that came from a secondary.
    func lastContext(from sender: Int) -> Int? { contexts.withLock { $0[sender] } }

    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
        seen.add(state == .activated ? "activated" : "failed")
    }

    func sessionDidDeactivate(_ session: WCSession) { session.activate() }

    func session(_ session: WCSession, didReceiveMessage message: [String: Any]) {
        seen.add(isRight(message, session) ? "message" : "wrong")
    }

    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {
        let (sender, number) = (applicationContext["from"] as? Int ?? -1, applicationContext["n"] as? Int ?? -1)
        let isNewer = contexts.withLock { contexts in
            defer { contexts[sender] = number }
            return number > contexts[sender] ?? 0
        }
        seen.add(isNewer && isRight(applicationContext, session) ? "context" : "wrong")
    }

    private func isRight(_ values: [String: Any], _ session: WCSession) -> Bool {
        guard let sender = values["from"] as? Int, pairings.indices.contains(sender) else { return false }
        let known = session.receivedApplicationContext["from"] as? Int ?? sender
        return session.deliveringPairing == pairings[sender] && known == sender && session.isPaired
    }
}

struct WCSessionRandomSwitchTests {
    private let apps: SimulatedApps
    private let session: WCSession
    private let delegate: JudgingDelegate

    init() throws {
        apps = try SimulatedApps(secondaries: 3)
        session = WCSession(over: apps.primary)
        delegate = JudgingDelegate(apps.pairings)
        session.delegate = delegate
        session.activate()
        apps.activateAll()
        settle()
    }

    /// The callbacks run only here, so that the same seed makes the same run.
    private func settle() {
        for _ in 0..<8 {
            apps.scheduler.run()
            session.callbacks.sync {}
        }
    }

    /// A message or a context of a secondary.
    private func send(_ number: Int, from sender: Int, asContext isContext: Bool) {
        let content = OutgoingContent(["from": .integer(Int64(sender)), "n": .integer(Int64(number))])
        apps.secondaries[sender].core.run { core in
            if isContext {
                core.submit(Submission(.context, to: nil, content)) { _ in }
            } else {
                core.note(content, given: { _ in })
            }
        }
    }

    @Test(
        "SES-31, SES-88: three secondaries or none, random switching: what arrives is from the device that the session names",
        arguments: Repetition.seeds(1, long: 5))
    func randomSwitching(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var last = [0, 0, 0]
        session.callbacks.suspend()
        for round in 1...1000 {
            if random.next() % 8 == 0 {
                let number = Int(random.next() % 4)
                apps.simulator.activate(number == 0 ? nil : number)
            }
            let (sender, isContext) = (Int(random.next() % 3), random.next() % 2 == 0)
            if isContext { last[sender] = round }
            send(round, from: sender, asContext: isContext)
            switch random.next() % 4 {
            case 0: apps.scheduler.run()
            case 1:
                session.callbacks.resume()
                settle()
                session.callbacks.suspend()
            default: break
            }
        }
        session.callbacks.resume()
        for number in 1...3 {
            apps.simulator.activate(number)
            settle()
            // A context that was put off as the switch began comes after a pause.
            apps.scheduler.advance(by: .seconds(70))
            settle()
            #expect(session.receivedApplicationContext["n"] as? Int == last[number - 1])
            #expect(delegate.lastContext(from: number - 1) == last[number - 1])
        }
        #expect(delegate.seen["wrong"] == 0 && delegate.seen["failed"] == 0)
        #expect(delegate.seen["message"] > 20 && delegate.seen["context"] > 20 && delegate.seen["activated"] > 20)
        apps.simulator.activate(nil)
        settle()
        #expect(session.activationState == .activated && !session.isPaired)
    }
}
