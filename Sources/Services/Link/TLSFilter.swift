// TLS as what stands between a stream and its frames: Crypto's session in Transport's socket. It keeps the typed error,
// because a closed connection must be told by its cause (wrong pin, no TLS at all), not by a text.

import TandemBytes
import TandemCrypto
import TandemTransport

/// The memory that the device connections of one loop share while they work; an idle connection has none of its own.
final class LinkMemory {
    let workspace = TLSWorkspace()
    let plaintext = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)

    deinit { plaintext.deallocate() }
}

/// One connection's TLS; confined to the connection's loop.
final class TLSFilter: StreamFilter {
    private let session: TLSSession
    private let memory: LinkMemory
    /// Why TLS ended, if it failed.
    private(set) var error: TLSError?

    init(side: TLSSession.Side, identity: TLSIdentity, peer: TLSPeerRule, memory: LinkMemory) throws(TLSError) {
        session = try TLSSession(side: side, identity: identity, peer: peer, workspace: memory.workspace)
        self.memory = memory
    }

    var isEstablished: Bool { session.isEstablished }

    /// The pin of the peer once TLS has proved it.
    var peerPin: KeyIdentifier? { session.isEstablished ? session.peerKey?.identifier : nil }

    /// The channel binding of this connection; nil before the handshake is done.
    var channelBinding: [UInt8]? { try? session.channelBinding() }

    func start() throws(StreamFilterError) {
        try named { () throws(TLSError) in try session.start() }
    }

    func withInput(_ bytes: UnsafeRawBufferPointer, _ body: () -> Void) { session.withInput(bytes, body) }

    func read() throws(StreamFilterError) -> StreamFilterProgress {
        let progress = try named { () throws(TLSError) in try session.read(into: memory.plaintext) }
        return switch progress {
        case .established: .established
        case .plaintext(let count): .plaintext(UnsafeRawBufferPointer(rebasing: memory.plaintext.prefix(count)))
        case .needsMore: .needsMore
        case .ended: .ended
        }
    }

    func receiveEnd() throws(StreamFilterError) {
        guard session.isEstablished else { return }
        try named { () throws(TLSError) in try session.receiveEnd() }
    }

    func write(_ frames: [ByteSlice]) throws(StreamFilterError) {
        try named { () throws(TLSError) in
            for frame in frames { try session.write(frame.unsafeBytes) }
            try session.flush()
        }
    }

    func takeOutput(_ body: (ByteSlice) -> Void) { session.takeOutput(body) }

    func finish() { session.close() }

    private func named<Result>(_ body: () throws(TLSError) -> Result) throws(StreamFilterError) -> Result {
        do throws(TLSError) {
            return try body()
        } catch {
            self.error = self.error ?? error
            throw StreamFilterError("\(error.name): \(error)")
        }
    }
}
