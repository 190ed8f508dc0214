// One TLS 1.3 connection as bytes in and bytes out: it owns no socket, no timer and no thread, so the same code runs
// over TCP, Unix sockets and the in-process transport. After any call the caller sends what `takeOutput` gives, after an
// error too: the alert that tells the peer why is in it.
// A client's handshake ends before the server has looked at its certificate: connected means that a first frame came.

import CTandemOpenSSL

/// One end of a TLS connection. Confined to one thread at a time.
@safe package final class TLSSession {
    /// Which end begins.
    package enum Side: Sendable {
        case client
        case server
    }

    private enum State {
        case new
        case handshaking
        case established
        case ended
    }

    private let connection: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    private let identity: TLSIdentity
    private let verification: TLSPeerVerification
    private var state = State.new
    private var plaintext: [UInt8] = []

    /// Whether the peer has said that nothing more will come.
    package private(set) var isClosedByPeer = false

    /// Whether the handshake is done and neither side has closed.
    package var isEstablished: Bool { state == .established }

    /// The peer's key once its certificate was accepted.
    package var peerKey: PublicKey? { verification.peerKey }

    /// - Throws: ``TLSError/failed(_:)`` if OpenSSL cannot make a connection.
    package init(side: Side, identity: TLSIdentity, peer: TLSPeerRule) throws(TLSError) {
        let made = unsafe openSSL { unsafe Self.makeConnection(side, identity) }
        guard let parts = unsafe made.value else { throw unsafe .failed(made.faults.text) }
        unsafe (connection, input, output) = unsafe parts
        self.identity = identity
        verification = TLSPeerVerification(rule: peer)
        // Unretained: this object owns both, and frees the connection before the verification is released.
        _ = unsafe SSL_set_ex_data(connection, 0, Unmanaged.passUnretained(verification).toOpaque())
    }

    deinit { unsafe SSL_free(connection) }

    private static func makeConnection(_ side: Side, _ identity: TLSIdentity)
        -> (OpaquePointer, OpaquePointer, OpaquePointer)?
    {
        guard let connection = unsafe identity.makeConnection() else { return nil }
        guard let input = unsafe BIO_new(BIO_s_mem()), let output = unsafe BIO_new(BIO_s_mem()) else {
            unsafe SSL_free(connection)
            return nil
        }
        unsafe SSL_set_bio(connection, input, output)
        unsafe side == .client ? SSL_set_connect_state(connection) : SSL_set_accept_state(connection)
        return unsafe (connection, input, output)
    }

    /// Begins the handshake. A client's first message is in the output afterwards.
    package func start() throws(TLSError) {
        guard state == .new else { return }
        state = .handshaking
        try continueHandshake()
    }

    /// Takes bytes that came from the peer and goes as far as they allow.
    /// - Throws: the named cause if they break the connection; later calls do nothing.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
        guard state == .handshaking || state == .established, unsafe !bytes.isEmpty else { return }
        guard let count = Int32(exactly: bytes.count) else { throw end(.failed("over 2 GiB at once")) }
        let written = openSSL { unsafe BIO_write(input, bytes.baseAddress, count) }
        guard written.value == count else { throw end(.failed(written.faults.text)) }
        if state == .handshaking { try continueHandshake() }
        if state == .established { try decrypt() }
    }

    /// Tells that no more bytes will come from below.
    /// - Throws: ``TLSError/truncated`` unless the peer had closed properly.
    package func receiveEnd() throws(TLSError) {
        guard state != .ended, !isClosedByPeer else { return }
        throw end(.truncated)
    }

    /// The decrypted bytes since the last call; empty if there are none.
    package func takePlaintext() -> [UInt8] {
        defer { plaintext = [] }
        return plaintext
    }

    /// Encrypts bytes for the peer into the output.
    /// - Throws: ``TLSError/notEstablished`` before the handshake is done or after the end.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
        guard state == .established else { throw .notEstablished }
        guard unsafe !bytes.isEmpty else { return }
        var count = 0
        let written = openSSL { unsafe SSL_write_ex(connection, bytes.baseAddress, bytes.count, &count) }
        guard written.value == 1, count == bytes.count else { throw end(TLSError(written.faults)) }
    }

    /// The bytes to send to the peer; empty if there are none.
    package func takeOutput() -> [UInt8] {
        let pending = unsafe BIO_ctrl_pending(output)
        guard pending > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: pending) { buffer, count in
            let read = openSSL { unsafe BIO_read(output, buffer.baseAddress, Int32(clamping: pending)) }.value
            count = max(0, Int(read))
        }
    }

    /// Says goodbye: the close notification is in the output afterwards, and nothing more can be written.
    package func close() {
        guard state == .established else { return state = .ended }
        state = .ended
        _ = openSSL { unsafe SSL_shutdown(connection) }
    }

    /// Keying material that only the two ends of this connection know (RFC 8446, 7.5); the same at both.
    /// - Throws: ``TLSError/notEstablished`` before the handshake is done.
    package func exporter(label: String, context: [UInt8]? = nil, count: Int) throws(TLSError) -> [UInt8] {
        guard state == .established else { throw .notEstablished }
        var material = [UInt8](repeating: 0, count: count)
        let exported = openSSL {
            unsafe SSL_export_keying_material(
                connection, &material, count, label, label.utf8.count, context, context?.count ?? 0,
                context == nil ? 0 : 1)
        }
        guard exported.value == 1 else { throw .failed(exported.faults.text) }
        return material
    }

    /// The channel binding of RFC 9266, 32 bytes.
    package func channelBinding() throws(TLSError) -> [UInt8] {
        try exporter(label: "EXPORTER-Channel-Binding", count: 32)
    }

    private func continueHandshake() throws(TLSError) {
        let step = openSSL { unsafe SSL_get_error(connection, SSL_do_handshake(connection)) }
        switch step.value {
        case SSL_ERROR_NONE: state = .established
        case SSL_ERROR_WANT_READ: break
        default: throw end(verification.refusal ?? TLSError(step.faults))
        }
    }

    /// Largest plaintext of one TLS record.
    private static let recordCount = 16384

    private func decrypt() throws(TLSError) {
        while state == .established {
            var status = SSL_ERROR_NONE
            var faults = OpenSSLFaults(codes: [])
            let record = unsafe [UInt8](unsafeUninitializedCapacity: Self.recordCount) { buffer, count in
                let step = openSSL {
                    unsafe SSL_get_error(connection, SSL_read_ex(connection, buffer.baseAddress, buffer.count, &count))
                }
                (status, faults) = (step.value, step.faults)
            }
            switch status {
            case SSL_ERROR_NONE: plaintext += record
            case SSL_ERROR_WANT_READ: return
            case SSL_ERROR_ZERO_RETURN:
                isClosedByPeer = true
                return
            default: throw end(TLSError(faults))
            }
        }
    }

    private func end(_ error: TLSError) -> TLSError {
        state = .ended
        return error
    }
}
