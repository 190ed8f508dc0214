// Changes as an asynchronous sequence with a bounded buffer: a consumer that falls behind loses the oldest batches and
// not the newest, and a snapshot always tells the whole present state.

public import TandemSettings

/// The batches of changes of a configuration from now on.
public struct ConfigurationUpdates: AsyncSequence, Sendable {
    public typealias Element = SettingChanges
    public typealias Failure = Never

    /// Batches kept for a consumer that is busy.
    public static let bufferLimit = 64

    private let stream: AsyncStream<SettingChanges>

    init(_ notices: NoticeQueue) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SettingChanges.self, bufferingPolicy: .bufferingNewest(Self.bufferLimit))
        let observation = notices.observe { continuation.yield($0) }
        continuation.onTermination = { _ in observation.cancel() }
        self.stream = stream
    }

    /// One reading of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<SettingChanges>.Iterator

        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> SettingChanges? {
            await base.next(isolation: actor)
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }
}
