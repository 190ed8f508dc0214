// Log of both libraries in an app's process, and their version. Events are values: the message is fixed in the code,
// text of others is marked, and a secret is not in them at all. Nothing else is set up: mistakes reach standard error
// also in an app that never heard of the log.

import Synchronization
public import TandemBase
import TandemReactor

/// The log of `PairedSession` and `PairedConfiguration` in this process; any thread.
///
/// Set it before the first session or configuration is created, and nothing is missed. Without a receiver errors alone
/// are written to standard error, a line each.
public enum PairedLog {
    private struct State {
        var threshold = LogLevel.error
        var receiver: (@Sendable (LogEvent) -> Void)?
    }

    private static let state = Mutex(State())
    private static let standardError = LogSink(lending: 2, threshold: .debug)

    /// Hands events of at least a level to a receiver instead of standard error. It is called on the thread of the
    /// event, without a lock of the library's that it could need, and must not block.
    /// - Parameters:
    ///   - level: events below it are dropped.
    ///   - receiver: nil for standard error.
    public static func send(from level: LogLevel = .info, to receiver: (@Sendable (LogEvent) -> Void)?) {
        let former = state.withLock { state in
            defer { state = State(threshold: level, receiver: receiver) }
            return state.receiver
        }
        // Released without the lock: what the former receiver alone kept may use the log when it ends.
        withExtendedLifetime(former) {}
    }

    /// Whether every event is logged, of level debug too; false leaves errors only. Appfigurate's `APLSetLogging` and
    /// the app manifest's `APLLogging`.
    public static var isVerbose: Bool {
        get { state.withLock { $0.threshold == .debug } }
        set { state.withLock { $0.threshold = newValue ? .debug : .error } }
    }

    /// Writes a line to standard error, whatever receives the events; none if it would block, or without one.
    static func writeToStandardError(_ line: String) { standardError.write(line: line) }

    /// Whether an event of the level goes anywhere.
    package static func takes(_ level: LogLevel) -> Bool { state.withLock { level >= $0.threshold } }

    package static func write(_ event: LogEvent) {
        let current = state.withLock { $0 }
        guard event.level >= current.threshold else { return }
        if let receiver = current.receiver { receiver(event) } else { standardError.write(event) }
    }
}

extension SessionConnection.Event {
    /// Writes what an operator may look for.
    func log(of app: ApplicationIdentifier) {
        let app = LogField.text("app", app.description)
        switch self {
        case .activation(let state):
            PairedLog.write(LogEvent(.info, "session activation", app, .text("state", "\(state)")))
        case .refused(let error):
            PairedLog.write(LogEvent(.error, "session refused", app, .outside("reason", error.reason)))
        case .disconnected: PairedLog.write(LogEvent(.info, "session disconnected", app))
        case .stateChanged, .requestsLost, .switching, .daemonLeaves, .frame: break
        }
    }
}

extension PairedSession {
    /// The version of the libraries. Appfigurate's `APLVersion`.
    public static var version: String { "0.1.0" }
}
