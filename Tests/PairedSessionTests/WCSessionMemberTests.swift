// SES-33: Apple's members beside those of messages and transfers, and that callbacks never overlap nor leave their
// queue.

import Foundation
import PairedSession
import PairedSessionFoundation
import Synchronization
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

/// Notes from where it is called, and whether two calls overlap.
final class ThreadDelegate: WCSessionDelegate {
    static let key = DispatchSpecificKey<String>()
    let queues = Mutex<[String?]>([])
    let running = Mutex(0)
    let overlaps = Mutex(0)

    private func note() {
        let others = running.withLock { running in
            running += 1
            return running - 1
        }
        if others > 0 { overlaps.withLock { $0 += 1 } }
        queues.withLock { $0.append(DispatchQueue.getSpecific(key: Self.key)) }
        running.withLock { $0 -= 1 }
    }

    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
        note()
    }

    func sessionDidBecomeInactive(_ session: WCSession) { note() }
    func sessionDidDeactivate(_ session: WCSession) { note() }
    func sessionWatchStateDidChange(_ session: WCSession) { note() }
    func sessionReachabilityDidChange(_ session: WCSession) { note() }
    func session(_ session: WCSession, didReceiveMessage message: [String: Any]) { note() }
    func session(_ session: WCSession, didReceiveMessageData messageData: Data) { note() }
}

struct WCSessionMemberTests: WCSessionSuite {
    let apple: WCSessionFixture<ThreadDelegate>

    init() throws {
        apple = try WCSessionFixture(ThreadDelegate())
        session.callbacks.setSpecific(key: ThreadDelegate.key, value: "callbacks")
    }

    /// Compiles only if no conformance can be isolated to an actor: the delegate is called on the callback queue.
    private func isNonisolated<Delegate: WCSessionDelegate>(_ type: Delegate.Type) -> Bool {
        func takes<Metatype: SendableMetatype>(_ type: Metatype.Type) -> Bool { true }
        return takes(type)
    }

    @Test("a delegate whose conformance is isolated to an actor does not compile")
    func nonisolatedConformance() { #expect(isNonisolated(ThreadDelegate.self)) }

    private func activate(as role: DeviceRole = .primary, _ change: (inout PairingState) -> Void = { _ in }) {
        fixture.daemon.role = role
        fixture.daemon.pair()
        change(&fixture.daemon.situation.pairings[0])
        session.activate()
        settle()
    }

    @Test("SES-33: every callback and reply comes from the one queue, one after the other")
    func oneQueue() throws {
        activate()
        let answers = Collector<String?>()
        for _ in 0..<20 {
            session.sendMessage(["q": 1]) { _ in
                answers.add(DispatchQueue.getSpecific(key: ThreadDelegate.key))
            } errorHandler: { _ in
                answers.add(DispatchQueue.getSpecific(key: ThreadDelegate.key))
            }
            try fixture.daemon.message()
        }
        fixture.scheduler.run()
        fixture.daemon.situation.active = fixture.daemon.pair()
        tellSituation()
        session.activate()
        settle()
        let queues = delegate.queues.withLock { $0 }
        #expect(queues.count > 20 && queues.allSatisfy { $0 == "callbacks" })
        #expect(answers.all == [String?](repeating: "callbacks", count: 20))
        #expect(delegate.overlaps.withLock { $0 } == 0)
    }

    @Test("SES-33: a primary's properties speak of the active secondary, and not of a companion")
    func primaryProperties() {
        #expect(!session.isPaired && !session.isWatchAppInstalled && session.watchDirectoryURL == nil)
        activate {
            $0.features.hasComplication = true
            $0.directory = "/apps/x/pairings/1"
        }
        #expect(WCSession.isSupported() && session.isPaired && session.isReachable)
        #expect(session.isWatchAppInstalled && !session.isCompanionAppInstalled && session.isComplicationEnabled)
        #expect(session.watchDirectoryURL?.path == "/apps/x/pairings/1")
        #expect(!session.iOSDeviceNeedsUnlockAfterRebootForReachability && !session.hasContentPending)
        #expect(session.deliveringPairing == nil && session.activationState == .activated)
    }

    @Test("SES-33: a secondary's properties speak of its companion")
    func secondaryProperties() {
        activate(as: .secondary)
        #expect(session.isCompanionAppInstalled && !session.isWatchAppInstalled && !session.isComplicationEnabled)
    }

    @Test("SES-36: a complication that comes or goes on the secondary is a change of the watch state")
    func complication() {
        activate()
        let before = delegate.queues.withLock { $0.count }
        fixture.daemon.situation.pairings[0].features.hasComplication = true
        tellSituation()
        #expect(session.isComplicationEnabled && delegate.queues.withLock { $0.count } == before + 1)
    }

    @Test("SES-33: a test of an app makes the file that a delegate is called with")
    func fileOfTests() {
        let file = WCSessionFile(fileURL: URL(fileURLWithPath: "/tmp/photo.jpg"), metadata: ["album": 7])
        #expect(file.fileURL.path == "/tmp/photo.jpg" && file.metadata?["album"] as? Int == 7)
    }
}
