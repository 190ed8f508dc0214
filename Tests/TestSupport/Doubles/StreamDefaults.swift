// Default implementations of the stream protocols, for doubles that need no more.

package import TandemBase
package import TandemTransport

extension ByteStream {
    package func write(_ bytes: RawSpan) { send(ByteSlice(copying: bytes)) }

    /// Queues a copy of the bytes.
    package func send(_ bytes: [UInt8]) { send(ByteSlice(copying: bytes)) }
}

extension ByteStreamDelegate {
    package func stream(_ stream: any ByteStream, roomForBytesBefore block: ByteBlock) -> ByteSlice? { nil }

    package func stream(_ stream: any ByteStream, mustLeave block: ByteBlock) {}
}

extension StreamFilter {
    package func write(_ frames: RawSpan) throws(StreamFilterError) { try write([ByteSlice(copying: frames)]) }
}
