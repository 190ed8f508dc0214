// TLS as what stands between a stream and its frames: Crypto's session in Transport's socket. It keeps the typed error,
// because a closed connection must be told by its cause (wrong pin, no TLS at all), not by a text.

import TandemCrypto
import TandemTransport

/// One connection's TLS; confined to the connection's loop.
final class TLSFilter: StreamFilter {
    private let session: TLSSession
    /// Why TLS ended, if it failed.
    private(set) var error: TLSError?

    init(side: TLSSession.Side, identity: TLSIdentity, peer: TLSPeerRule) throws(TLSError) {
        session = try TLSSession(side: side, identity: identity, peer: peer)
    }

    var isEstablished: Bool { session.isEstablished }

    /// The pin of the peer once TLS has proved it.
    var peerPin: KeyIdentifier? { session.isEstablished ? session.peerKey?.identifier : nil }

    /// The channel binding of this connection; nil before the handshake is done.
    var channelBinding: [UInt8]? { try? session.channelBinding() }

    func start() throws(StreamFilterError) {
        try named { () throws(TLSError) in try session.start() }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(StreamFilterError) {
        try named { () throws(TLSError) in try session.receive(bytes) }
    }

    func takePlaintext() -> [UInt8] { session.takePlaintext() }

    func write(_ plaintext: [UInt8]) throws(StreamFilterError) {
        let result = plaintext.withUnsafeBytes { bytes in
            Result { () throws(TLSError) in try session.write(bytes) }
        }
        try named { () throws(TLSError) in try result.get() }
    }

    func takeOutput() -> [UInt8] { session.takeOutput() }

    func finish() { session.close() }

    private func named(_ body: () throws(TLSError) -> Void) throws(StreamFilterError) {
        do throws(TLSError) {
            try body()
        } catch {
            self.error = self.error ?? error
            throw StreamFilterError("\(error.name): \(error)")
        }
    }
}
