// A session beside a scripted daemon on one manual clock.

import PairedSession
import Synchronization
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire

/// Collects what completions say; they may come from any thread.
final class Collector<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    func add(_ value: Value) { values.withLock { $0.append(value) } }

    func removeAll() { values.withLock { $0 = [] } }

    var all: [Value] { values.withLock { $0 } }
}

struct SessionFixture {
    let scheduler = ManualScheduler()
    let daemon: ScriptedDaemon
    let session: PairedSession

    var core: SessionActor { session.core }

    init(_ options: PairedSessionOptions = PairedSessionOptions(application: "com.example.app")) throws {
        daemon = try ScriptedDaemon(scheduler)
        let settings = try SessionSettings(options, environment: { _ in nil })
        // Used on the manual scheduler's thread only, as the session is.
        nonisolated(unsafe) let dialer: any Dialer = daemon
        session = PairedSession(settings, on: scheduler, dialer: dialer)
    }

    /// Activates and returns what the caller of `activate` learns.
    @discardableResult
    func activate() -> Collector<Result<Void, SessionError>> {
        let results = Collector<Result<Void, SessionError>>()
        let number = UInt64.random(in: .min ... .max)
        core.run { core in core.activate(waiter: number) { results.add($0) } }
        scheduler.run()
        return results
    }

    /// The connection to the daemon ends, and time passes.
    func cut(waiting time: Duration = .zero) {
        daemon.cut()
        scheduler.advance(by: time)
    }

    func tellSituation() {
        daemon.tellSituation()
        scheduler.run()
    }

    /// Sends a message that wants a reply; its completions are collected.
    @discardableResult
    func request(
        _ message: PropertyListDictionary = ["question": 1], to pairing: UniqueIdentifier? = nil,
        timeout: Duration = .seconds(30)
    ) -> Collector<Result<[UInt8], SessionError>> {
        let results = Collector<Result<[UInt8], SessionError>>()
        let content = OutgoingContent(message)
        core.run { core in
            core.request(content, to: pairing, timeout: timeout) { results.add($0) }
        }
        scheduler.run()
        return results
    }

    /// Collects what arrives.
    @discardableResult
    func receive(
        pairing: UniqueIdentifier? = nil, topic: String? = nil, claims: Bool = false
    ) -> Collector<ReceivedMessage> {
        let messages = Collector<ReceivedMessage>()
        core.run { core in
            core.receive(pairing: pairing, topic: topic) { message in
                if claims { message.claim() }
                messages.add(message)
            }
        }
        scheduler.run()
        return messages
    }
}

extension ManualScheduler {
    /// Runs the loop, with turns for tasks in between, until it is so or after many turns.
    func run(atMost turns: Int = 100_000, until isDone: () -> Bool) async {
        for _ in 0..<turns where !isDone() {
            run()
            await Task.yield()
        }
    }
}

extension Result where Failure == SessionError {
    var error: SessionError? { if case .failure(let error) = self { error } else { nil } }
}
