// A peer that speaks as badly as a test likes: bytes below TLS, or any bytes inside it, in any pieces.

package import TandemBase
package import TandemTLS
package import TandemTestSupport
package import TandemTransport
package import TandemWire
import Testing

package final class RawLink: ByteStreamDelegate {
    package let stream: InProcessStream
    private let tls: TLSSession?
    private var decoder = FrameDecoder(limit: Limits.frame)
    package private(set) var received: [Envelope] = []
    package private(set) var isClosed = false
    /// The vendor identifier that its hello claims.
    package var device: UniqueIdentifier?
    /// Bytes to send once TLS is up.
    private var waiting: [[UInt8]] = []
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 20_000, alignment: 16)

    /// Without an identity the peer sends plain bytes.
    package init(over stream: InProcessStream, identity: TLSIdentity? = nil, side: TLSSession.Side = .client) throws {
        self.stream = stream
        tls = try identity.map { try TLSSession(side: side, identity: $0, peer: .any) }
        stream.delegate = self
        stream.start()
        try tls?.start()
        flush()
    }

    deinit { room.deallocate() }

    /// Sends plain bytes, inside TLS if there is any.
    package func send(_ bytes: [UInt8]) {
        guard let tls else { return stream.send(bytes) }
        guard tls.isEstablished else { return waiting.append(bytes) }
        bytes.withUnsafeBytes { buffer in _ = try? tls.write(buffer) }
        try? tls.flush()
        flush()
    }

    /// Ends TLS and leaves the stream open.
    package func sayGoodbye() {
        tls?.close()
        flush()
    }

    package func send(_ envelope: Envelope) throws { send(try envelope.frame().bytes.copied()) }

    package var channelBinding: [UInt8]? { try? tls?.channelBinding() }

    package var refusals: [String] { received.filter { $0.kind == .refusal }.compactMap(\.name) }

    private func flush() {
        guard let tls else { return }
        tls.takeOutput { stream.send($0) }
        guard tls.isEstablished, !waiting.isEmpty else { return }
        let bytes = waiting.joined()
        waiting = []
        send(Array(bytes))
    }

    package func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice) {
        guard let tls else { return }
        tls.withInput(bytes.unsafeBytes) { while readOnce(tls) {} }
        while let frame = try? decoder.next() {
            if let envelope = try? Envelope(reading: frame) { received.append(envelope) }
        }
        flush()
    }

    private func readOnce(_ tls: TLSSession) -> Bool {
        guard let progress = try? tls.read(into: room) else { return false }
        switch progress {
        case .plaintext(let count): decoder.append(room.prefix(count))
        case .established: break
        case .needsMore, .ended: return false
        }
        return true
    }

    package func streamDidDrain(_ stream: any ByteStream) {}

    package func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason) { isClosed = true }
}
