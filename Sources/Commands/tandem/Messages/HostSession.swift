// Paired session of a shell command: `send`, `receive`, `context` and `transfers` are host apps in one line, with the
// same library, socket and rules as any other app.

import PairedSession
import Synchronization
import TandemBase
import TandemControl
import TandemWire

/// Constants of the commands that are host apps.
enum HostSession {
    /// For the daemon to take the app; the counterpart has a time of its own (`--timeout`).
    static let patience = Duration.seconds(10)
}

extension Arguments {
    /// The session of the app that `--app` names, with the daemon that `--device` names; not activated yet.
    /// - Parameter channels: what a receiving one takes; other items wait in the daemon.
    /// - Throws: at once for a socket that stays closed to this user: a session of an app would wait (CTL-73).
    func session(receives: Bool, channels: Set<Channel> = Channel.forApps) throws -> PairedSession {
        let path = try daemonPath()
        if let obstacle = LocalSockets.obstacle(at: path) { throw obstacle }
        var options = PairedSessionOptions(application: try application().description, socketPath: path)
        options.receivesMessages = receives
        options.channels = channels
        options.software = Version.text
        return try PairedSession(options)
    }
}

extension PairedSession {
    /// Runs until the body returns.
    /// - Throws: the refusal, once the daemon refuses the app for good.
    func whileAdmitted(_ body: @escaping @Sendable () async -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await body() }
            group.addTask { [self] in
                for await _ in activationUpdates { if let refusal { throw refusal } }
            }
            try await group.next()
            group.cancelAll()
        }
    }
}

/// The places for what is received; usable from any thread.
final class Places: Sendable {
    private struct Full: Error {}

    private struct Left {
        /// Not taken; and taken or not, not done with.
        var free: Int
        var open: Int
    }

    private let left: Mutex<Left>
    private let ended = AsyncStream.makeStream(of: Void.self)

    init(_ count: Int) { left = Mutex(Left(free: count, open: count)) }

    /// Takes a place, or throws if there is none. A body that throws has taken none.
    func take(_ body: () throws -> Void) throws {
        try left.withLock { left in
            guard left.free > 0 else { throw Full() }
            left.free -= 1
        }
        do { try body() } catch {
            left.withLock { $0.free += 1 }
            throw error
        }
        let isLast = left.withLock { left in
            left.open -= 1
            return left.open == 0
        }
        if isLast { ended.continuation.finish() }
    }

    /// Returns when all places are taken, or when the caller's task is cancelled.
    func allTaken() async { for await _ in ended.stream {} }
}
