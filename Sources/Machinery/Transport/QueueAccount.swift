// Account of the memory that the streams of one owner take: bytes that wait at full sockets, and large frames that have
// begun to arrive. A stream charges it only while its peer does not read, or leaves a large frame unfinished: a stream
// whose queue leaves at the end of each turn, and whose frames come whole, costs nothing here. When the owner exceeds
// its part, its fullest streams are closed, also those that only wait to be closed.

/// The bytes of one owner's streams; confined to their thread.
package final class QueueAccount {
    // Unchecked, because it is one word. Private, because a stored property that other modules see keeps its check.
    @exclusivity(unchecked) private var chargedCount = 0
    package var byteCount: Int { chargedCount }
    private var blocked: [ObjectIdentifier: any ByteStream] = [:]
    private var begun: [ObjectIdentifier: FrameChannel] = [:]
    /// Notes a change; false if the owner exceeds its part.
    private let record: (_ change: Int) -> Bool
    /// The same for bytes of begun frames.
    private let recordBegun: (_ change: Int) -> Bool

    package init(
        record: @escaping (_ change: Int) -> Bool = { _ in true },
        recordBegun: @escaping (_ change: Int) -> Bool = { _ in true }
    ) {
        self.record = record
        self.recordBegun = recordBegun
    }

    /// A stream's socket is full from now on, with this much waiting.
    package func block(_ stream: any ByteStream, _ count: Int) {
        blocked[ObjectIdentifier(stream)] = stream
        charge(count)
    }

    /// More bytes wait at a stream whose socket is full. May close the stream.
    package func charge(_ count: Int) {
        chargedCount += count
        var isWithin = record(count)
        while !isWithin, let fullest = blocked.values.max(by: { $0.queuedBytes < $1.queuedBytes }) {
            fullest.close(.slowConsumer)
            isWithin = record(0)
        }
    }

    /// A stream is closed or its socket takes bytes again, of which this much waited.
    package func unblock(_ stream: any ByteStream, _ count: Int) {
        guard blocked.removeValue(forKey: ObjectIdentifier(stream)) != nil else { return }
        chargedCount -= count
        _ = record(-count)
    }
    /// The unfinished frame of a channel has grown by so much, or shrunk. May close the channel.
    func begin(_ channel: FrameChannel, _ change: Int) {
        begun[ObjectIdentifier(channel)] = channel
        var isWithin = recordBegun(change)
        while !isWithin, let fullest = begun.values.max(by: { $0.begunBytes < $1.begunBytes }) {
            fullest.refuseBegun()
            isWithin = recordBegun(0)
        }
    }

    /// A channel's frame is complete, or will never be.
    func end(_ channel: FrameChannel, _ count: Int) {
        begun[ObjectIdentifier(channel)] = nil
        _ = recordBegun(-count)
    }
}
