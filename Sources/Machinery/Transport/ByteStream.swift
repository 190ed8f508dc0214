// A connection as bytes in and bytes out, confined to one scheduler's thread: what sockets and the in-process twin
// share. Writes are queued and leave together at the end of the turn. It knows no frames, and has no opinion on how
// much may queue: it says how much does.

package import TandemBase
package import TandemReactor

/// Receives what happens on a stream; on the scheduler's thread.
package protocol ByteStreamDelegate: AnyObject {
    /// Bytes came, in a block that other connections share: who keeps them longer than this turn says so to the stream.
    func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice)

    /// Where the next bytes belong, because they end what is unfinished there; nil if anywhere, such as the end of the
    /// block. They are told as received first, then those that went to the end of the block.
    func stream(_ stream: any ByteStream, placeForBytesBefore block: ByteBlock) -> ByteSlice?

    /// What is kept in this block must be copied away. Nothing else may happen in this call.
    func stream(_ stream: any ByteStream, mustLeave block: ByteBlock)

    /// The queue was over the high-water mark and has fallen to the low-water mark.
    func streamDidDrain(_ stream: any ByteStream)

    /// The stream is over, whoever closed it. Called exactly once for a started stream, never from inside a call to it.
    func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason)
}

/// A two-way stream of bytes.
package protocol ByteStream: AnyObject {
    /// Kept alive until the stream has closed.
    var delegate: (any ByteStreamDelegate)? { get set }

    var peer: PeerDescription { get }

    /// What it is confined to.
    var scheduler: any Scheduler { get }

    /// The bytes accepted by `send` and not given to the system: not yet, or never when the stream is closed.
    var queuedBytes: Int { get }

    /// Whether more is queued than the high-water mark; `streamDidDrain` will follow.
    var isCongested: Bool { get }

    /// Begins to read. The stream stays alive by itself until it is closed.
    func start()

    /// Queues the bytes; they leave at the end of the turn, together with all others. Nothing after a close.
    func send(_ bytes: ByteSlice)

    /// Gives bytes that are only lent to the system now, behind what is queued; what it does not take is copied into
    /// the queue. For bytes that many streams get in turn. Nothing after a close.
    func write(_ bytes: RawSpan)

    /// Bytes in this block stay needed for now; `mustLeave` may follow.
    func keep(_ block: ByteBlock)

    /// Stops reading, so that the peer feels it. What has been delivered stays delivered.
    func pauseReading()

    func resumeReading()

    /// Ends the stream now; what is queued is lost.
    func close(_ reason: CloseReason)

    /// Ends the stream when the queue has been written and the peer had a moment to read it. Nothing more is received.
    func closeAfterFlush(_ reason: CloseReason)
}

extension ByteStream {
    package func write(_ bytes: RawSpan) { send(ByteSlice(copying: bytes)) }

    /// Queues a copy of the bytes.
    package func send(_ bytes: [UInt8]) { send(ByteSlice(copying: bytes)) }
}

extension ByteStreamDelegate {
    package func stream(_ stream: any ByteStream, placeForBytesBefore block: ByteBlock) -> ByteSlice? { nil }

    package func stream(_ stream: any ByteStream, mustLeave block: ByteBlock) {}
}
