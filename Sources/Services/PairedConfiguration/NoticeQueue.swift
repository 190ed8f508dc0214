// Delivery of notices to observers: notices are queued in the order of what happened, and one thread at a time delivers
// them without a lock. An observer that sets a value queues a notice that follows the present one.

import PairedSession
import Synchronization
import TandemBase
public import TandemSettings

enum Notice: Sendable {
    case changes(SettingChanges)
    case event(ConfigurationEvent)
}

extension Notice {
    /// Changes are for those who look for a fault; secret values are in no event.
    fileprivate func log() {
        switch self {
        case .event(let event): PairedLog.write(event.log)
        case .changes(let changes):
            guard PairedLog.takes(.debug) else { return }
            for change in changes.changes { PairedLog.write(change.log(changes.origin)) }
        }
    }
}

extension SettingChange {
    fileprivate func log(_ origin: SettingOrigin) -> LogEvent {
        LogEvent(
            .debug, "setting changed", .text("key", name), .text("origin", origin.rawValue),
            isSecret ? .secret("old") : .outside("old", old.line),
            isSecret ? .secret("new") : .outside("new", new.line),
            .boolean("restart", needsRestart))
    }
}

extension SettingValue {
    /// The value for a line of the log: a container by its kind, because what is in it may be a secret (PAG-23).
    fileprivate var line: String {
        switch self {
        case .strings, .array, .dictionary, .coded: description
        case .boolean, .integer, .float, .double, .string, .data, .date, .url, .nothing: text
        }
    }
}

final class NoticeQueue: Sendable {
    private struct State {
        var waiting: [Notice] = []
        var isDelivering = false
    }

    private let state = Mutex(State())
    private let observers = Observers<Notice>()

    func add(_ notice: Notice) {
        if case .changes(let changes) = notice, changes.changes.isEmpty { return }
        state.withLock { $0.waiting.append(notice) }
    }

    /// Delivers what waits, unless another call is at it: then that one delivers this too.
    func deliver() {
        let isMine = state.withLock { state in
            defer { state.isDelivering = true }
            return !state.isDelivering
        }
        guard isMine else { return }
        while let notice = next() {
            let calls = observers.calls
            notice.log()
            for call in calls { call(notice) }
        }
    }

    /// The next notice; nil ends the delivery.
    private func next() -> Notice? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isDelivering = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    func observe(_ observer: @escaping @Sendable (Notice) -> Void) -> ConfigurationObservation {
        observers.add(observer)
    }

    func observeChanges(_ observer: @escaping @Sendable (SettingChanges) -> Void) -> ConfigurationObservation {
        observe { if case .changes(let changes) = $0 { observer(changes) } }
    }
}

/// The batches of changes of a configuration from now on. The buffer is bounded: a slow consumer loses the oldest
/// batches and not the newest, and a snapshot always has the whole present state.
public struct ConfigurationUpdates: AsyncSequence, Sendable {
    public typealias Element = SettingChanges
    public typealias Failure = Never

    /// Batches kept for a consumer that is busy.
    public static let bufferLimit = 64

    private let stream: AsyncStream<SettingChanges>

    init(_ notices: NoticeQueue) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SettingChanges.self, bufferingPolicy: .bufferingNewest(Self.bufferLimit))
        let observation = notices.observeChanges { continuation.yield($0) }
        continuation.onTermination = { _ in observation.cancel() }
        self.stream = stream
    }

    /// One reading of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<SettingChanges>.Iterator

        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> SettingChanges? {
            await base.next(isolation: actor)
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }
}
