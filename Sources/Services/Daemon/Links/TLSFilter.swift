// TLS as what stands between a stream and its frames: Crypto's session in Transport's socket. It keeps the typed error,
// because a closed connection must be told by its cause (wrong pin, no TLS at all), not by a text.

import TandemBase
import TandemCrypto
import TandemReactor
import TandemTransport

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

    func withInput(_ bytes: ByteSlice, _ body: () -> Void) {
        session.withInput(bytes.unsafeBytes, body)
        withExtendedLifetime(bytes.block) {}
    }

    func read(_ place: (ByteBlock) -> ByteSlice?) throws(StreamFilterError) -> StreamFilterProgress {
        guard session.canRead else { return .needsMore }
        let block = memory.blocks.block
        if let place = place(block) {
            return try read(into: place.block, place.start..<place.end) { place.prefix($0) }
        }
        return try read(into: block, block.filled..<ReadBlocks.readSize) { block.take($0) }
    }

    private func read(
        into block: ByteBlock, _ range: Range<Int>, _ slice: (Int) -> ByteSlice
    ) throws(StreamFilterError) -> StreamFilterProgress {
        let room = UnsafeMutableRawBufferPointer(rebasing: block.bytes[range])
        return switch try named({ () throws(TLSError) in try session.read(into: room) }) {
        case .established: .established
        case .plaintext(let count): .plaintext(slice(count))
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
            for frame in frames.dropLast() { try session.write(frame.unsafeBytes) }
            if let last = frames.last { try session.write(last: last.unsafeBytes) }
        }
    }

    func write(_ frames: RawSpan) throws(StreamFilterError) {
        try named { () throws(TLSError) in
            try frames.withUnsafeBytes { (bytes) throws(TLSError) in try session.write(last: bytes) }
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
