// Host apps written with the libraries, in this process, against a real simulator over its sockets: the async API and
// Apple's names talk to each other as two apps on two devices would.

import Foundation
import PairedSession
import PairedSessionFoundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct HostAppTests {
    private func session(_ side: String, in workspace: Workspace, receives: Bool = true) throws -> PairedSession {
        var options = PairedSessionOptions(application: "com.example.app", socketPath: workspace["\(side).sock"])
        options.receivesMessages = receives
        return try PairedSession(options)
    }

    /// Waits until the counterpart is reachable.
    private func untilReachable(_ session: PairedSession) async {
        for await status in session.reachabilityUpdates where status.isImmediate { return }
    }

    @Test("A question reaches the counterpart's handler and its answer comes back, both ways and at once")
    func bothWays() async throws {
        try await withSimulator { workspace in
            let (phone, watch) = (try session("primary", in: workspace), try session("secondary", in: workspace))
            for app in [phone, watch] {
                app.handleMessages { message in
                    guard let number = message.dictionary?["n"]?.integerValue else { return nil }
                    return ["n": .integer(number + 1)]
                }
                app.handleMessageData { $0.data?.reversed() }
                try await app.activate(timeout: .seconds(20))
            }
            await untilReachable(phone)
            await untilReachable(watch)
            #expect(phone.role == .primary && watch.role == .secondary)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in Int64(0)..<50 {
                    let app = number.isMultiple(of: 2) ? phone : watch
                    group.addTask {
                        let reply = try await app.sendMessage(["n": .integer(number)])
                        #expect(reply == ["n": .integer(number + 1)])
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await watch.sendMessageData([1, 2, 3]) == [3, 2, 1])
            let error = await #expect(throws: SessionError.self) { try await phone.sendMessage(["other": 1]) }
            #expect(error?.code == .deliveryFailed && error?.name == "unhandled")
        }
    }

    @Test("A reader of the sequence answers when it likes; what it lets go is told to the sender at once")
    func sequence() async throws {
        try await withSimulator { workspace in
            let (phone, watch) = (try session("primary", in: workspace), try session("secondary", in: workspace))
            let reader = Task {
                for await message in watch.messages {
                    if message.dictionary?["ignore"] == nil { try? message.reply(["ok": true]) }
                }
            }
            try await watch.activate(timeout: .seconds(20))
            try await phone.activate(timeout: .seconds(20))
            await untilReachable(phone)
            #expect(try await phone.sendMessage(["a": 1]) == ["ok": true])
            let error = await #expect(throws: SessionError.self) { try await phone.sendMessage(["ignore": true]) }
            #expect(error?.code == .messageReplyFailed && error?.name == "reply-dropped")
            await watch.end()
            await reader.value  // the sequence ends with its session
            let ended = await #expect(throws: SessionError.self) { try await watch.activate() }
            #expect(ended?.name == "ended")
        }
    }

    @Test("Without a daemon activation waits as long as asked and says so; a cancelled call ends")
    func withoutDaemon() async throws {
        let workspace = Workspace()
        let app = try session("primary", in: workspace)
        let error = await #expect(throws: SessionError.self) { try await app.activate(timeout: .milliseconds(50)) }
        #expect(error?.code == .sessionNotActivated && error?.name == "no-daemon")
        #expect(app.reachability.reason == .noDaemon && app.activationState == .notActivated)
        let waiting = Task { try await app.activate() }
        waiting.cancel()
        let cancelled = await #expect(throws: SessionError.self) { try await waiting.value }
        #expect(cancelled?.name == "cancelled")
        let unsent = await #expect(throws: SessionError.self) { try await app.sendMessage(["a": 1]) }
        #expect(unsent?.code == .sessionNotActivated)
    }

    @Test("An app with Apple's names talks to an app with the async API")
    func appleNames() async throws {
        try await withSimulator { workspace in
            let watch = try session("secondary", in: workspace)
            watch.handleMessages { message in ["echo": message.dictionary?["text"] ?? "none"] }
            try await watch.activate(timeout: .seconds(20))
            let delegate = AppleDelegate()
            let phone = WCSession(over: try session("primary", in: workspace))
            phone.delegate = delegate
            phone.activate()
            #expect(try await holds(within: .seconds(20)) { phone.isReachable && phone.activationState == .activated })
            let echo = await withCheckedContinuation { continuation in
                phone.sendMessage(["text": "grüße"]) {
                    continuation.resume(returning: $0["echo"] as? String)
                } errorHandler: {
                    continuation.resume(returning: "\($0)")
                }
            }
            #expect(echo == "grüße")
            await untilReachable(watch)
            #expect(try await watch.sendMessage(["n": 20]) == ["half": .real(10)])
        }
    }
}

/// A delegate as a port would have it.
private final class AppleDelegate: NSObject, WCSessionDelegate {
    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState, error: (any Error)?
    ) {}

    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping ([String: Any]) -> Void
    ) { replyHandler(["half": (message["n"] as? Double ?? 0) / 2]) }
}
