// What may stand between a stream and its frames: TLS, as bytes in and bytes out. Transport knows no cryptography; the
// room that joins the two hands a filter in.

/// Why a filter refused: text for logs, never sent to the peer.
package struct StreamFilterError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Turns the stream's bytes into plain bytes and back; confined to the channel's thread.
package protocol StreamFilter: AnyObject {
    /// Whether plain bytes may be written (the handshake is over).
    var isEstablished: Bool { get }

    /// Begins; a client's first bytes are in the output then.
    func start() throws(StreamFilterError)

    /// Takes bytes from the stream.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(StreamFilterError)

    /// The plain bytes that have come since the last call; empty if none.
    func takePlaintext() throws(StreamFilterError) -> [UInt8]

    /// Takes plain bytes for the peer.
    func write(_ plaintext: [UInt8]) throws(StreamFilterError)

    /// The bytes for the stream since the last call; empty if none.
    func takeOutput() -> [UInt8]

    /// Puts the closing message into the output.
    func finish()
}
