// Account of the bytes that wait at full sockets of one owner. A stream charges it only while its peer does not read: a
// stream whose queue leaves at the end of each turn costs nothing here. When the owner exceeds its part, its fullest
// streams are closed, also those that only wait to be closed.

/// The waiting bytes of one owner's streams; confined to their thread.
package final class QueueAccount {
    package private(set) var byteCount = 0
    private var blocked: [ObjectIdentifier: any ByteStream] = [:]
    /// Notes a change; false if the owner exceeds its part.
    private let record: (_ change: Int) -> Bool

    package init(record: @escaping (_ change: Int) -> Bool = { _ in true }) { self.record = record }

    /// A stream's socket is full from now on, with this much waiting.
    package func block(_ stream: any ByteStream, _ count: Int) {
        blocked[ObjectIdentifier(stream)] = stream
        charge(count)
    }

    /// More bytes wait at a stream whose socket is full. May close the stream.
    package func charge(_ count: Int) {
        byteCount += count
        var isWithin = record(count)
        while !isWithin, let fullest = blocked.values.max(by: { $0.queuedBytes < $1.queuedBytes }) {
            fullest.close(.slowConsumer)
            isWithin = record(0)
        }
    }

    /// A stream is closed or its socket takes bytes again, of which this much waited.
    package func unblock(_ stream: any ByteStream, _ count: Int) {
        guard blocked.removeValue(forKey: ObjectIdentifier(stream)) != nil else { return }
        byteCount -= count
        _ = record(-count)
    }
}
