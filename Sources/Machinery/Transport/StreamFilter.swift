// Filter between a stream and its frames: TLS, as bytes in and bytes out. Transport knows no cryptography; the room
// that joins the two passes a filter in. Bytes are lent both ways, so that a filter needs no buffers of its own. The
// channel takes the filter's output after each call, because filters may share the memory that they write it into.

package import TandemBase

/// Why a filter refused: text for logs, never sent to the peer.
package struct StreamFilterError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The result of one read step through a filter.
package enum StreamFilterProgress {
    /// The handshake is over; there may be more to read.
    case established
    /// Plain bytes, in a block that others share; there may be more to read.
    case plaintext(ByteSlice)
    /// All input is taken.
    case needsMore
    /// The peer has said that nothing more will come.
    case ended
}

/// Turns the stream's bytes into plain bytes and back; confined to the channel's thread.
package protocol StreamFilter: AnyObject {
    /// Whether plain bytes may be written (the handshake is over).
    var isEstablished: Bool { get }

    /// Begins; a client's first bytes are in the output then.
    func start() throws(StreamFilterError)

    /// Lends bytes from the stream to the steps that the body takes, until one needs more.
    func withInput(_ bytes: ByteSlice, _ body: () -> Void)

    /// One step of reading. Plain bytes go to the room that the caller names, before they go to the end of the block.
    func read(_ room: (ByteBlock) -> ByteSlice?) throws(StreamFilterError) -> StreamFilterProgress

    /// The stream has ended.
    /// - Throws: if the peer had not said so through the filter: the last bytes may be missing.
    func receiveEnd() throws(StreamFilterError)

    /// Takes frames for the peer: all that a turn has queued.
    func write(_ frames: [ByteSlice]) throws(StreamFilterError)

    /// Takes frames for the peer in memory that is only lent.
    func write(_ frames: RawSpan) throws(StreamFilterError)

    /// Gives out the bytes for the stream since the last call, if there are any.
    func takeOutput(_ body: (ByteSlice) -> Void)

    /// Puts the closing message into the output.
    func finish()
}
