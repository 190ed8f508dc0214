// One TLS 1.3 connection as bytes in and bytes out: it owns no socket, no timer and no thread, so the same code runs
// over TCP, Unix sockets and the tests' streams inside one process. It owns no buffers either: it reads from lent bytes, decrypts
// into the caller's room, and leaves what is for the peer in the thread's workspace. After any call the caller sends
// what `takeOutput` lends, after an error too: the alert that tells the peer why is in it. A client's handshake ends
// before the server has looked at its certificate: connected means that a first frame came.

import CTandemOpenSSL

/// One end of a TLS connection. Confined to its workspace's thread.
@safe package final class TLSSession {
    /// Which end begins.
    package enum Side: Sendable {
        case client
        case server
    }

    /// How far reading went.
    package enum Progress: Sendable, Equatable {
        /// The handshake is done; there may be more to read.
        case established
        /// So much plaintext is in the room; there may be more to read.
        case plaintext(Int)
        /// All lent bytes are taken.
        case needsMore
        /// The peer has said that nothing more will come.
        case ended
    }

    enum State {
        case new
        case handshaking
        case established
        case ended
    }

    let connection: OpaquePointer
    let port: TLSPort
    private let identity: TLSIdentity
    private let verification: TLSPeerVerification
    private(set) var state = State.new

    /// Whether the peer has said that nothing more will come.
    package private(set) var isClosedByPeer = false
    /// A record may have filled the last room and have more.
    private var hasRest = false
    /// What ended the connection behind plaintext that had to be given out first.
    private var fault: TLSError?

    /// Whether the handshake is done and neither side has closed.
    package var isEstablished: Bool { state == .established }

    /// The peer's key once its certificate was accepted.
    package var peerKey: PublicKey? { verification.peerKey }

    /// - Throws: ``TLSError/failed(_:)`` if OpenSSL cannot make a connection.
    package init(
        side: Side, identity: TLSIdentity, peer: TLSPeerRule, workspace: TLSWorkspace = TLSWorkspace()
    ) throws(TLSError) {
        let port = TLSPort(workspace: workspace)
        let made = unsafe openSSL { unsafe Self.makeConnection(side, identity, port) }
        guard let connection = unsafe made.value else { throw unsafe .failed(made.faults.text) }
        unsafe self.connection = unsafe connection
        self.port = port
        self.identity = identity
        verification = TLSPeerVerification(rule: peer)
        // Unretained: this object owns both, and frees the connection before the verification is released.
        _ = unsafe SSL_set_ex_data(connection, 0, Unmanaged.passUnretained(verification).toOpaque())
    }

    deinit {
        unsafe SSL_free(connection)
        port.workspace.dropOutput(of: port)
    }

    private static func makeConnection(_ side: Side, _ identity: TLSIdentity, _ port: TLSPort) -> OpaquePointer? {
        guard let connection = unsafe identity.makeConnection() else { return nil }
        guard let bio = unsafe port.makeBIO() else {
            unsafe SSL_free(connection)
            return nil
        }
        // The same for both ways, and the connection's from here on.
        unsafe SSL_set_bio(connection, bio, bio)
        unsafe side == .client ? SSL_set_connect_state(connection) : SSL_set_accept_state(connection)
        return unsafe connection
    }

    /// Begins the handshake. A client's first message is in the output afterwards.
    package func start() throws(TLSError) {
        guard state == .new else { return }
        state = .handshaking
        _ = try continueHandshake()
    }

    /// Lends bytes that came from the peer to the reads of the body, which goes on until one `needsMore`.
    package func withInput<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ body: () throws(Failure) -> Void
    ) throws(Failure) {
        try unsafe port.lending(bytes, body)
    }

    /// Whether a read has anything to go on with; without, it would say `needsMore`.
    package var canRead: Bool { port.hasInput || hasRest || isClosedByPeer || fault != nil }

    /// Goes on with the handshake, or decrypts into the room: what is there, or about as much as fits.
    /// - Throws: the named cause if the peer's bytes break the connection; later calls say `needsMore`.
    package func read(into room: UnsafeMutableRawBufferPointer) throws(TLSError) -> Progress {
        if let fault = fault.take() { throw fault }
        return switch state {
        case .handshaking: try continueHandshake()
        case .established: try unsafe decrypt(into: room)
        case .new, .ended: .needsMore
        }
    }

    /// Tells that no more bytes will come from below.
    /// - Throws: ``TLSError/truncated`` unless the peer had closed properly.
    package func receiveEnd() throws(TLSError) {
        guard state != .ended, !isClosedByPeer else { return }
        throw end(.truncated)
    }

    /// Says goodbye: the close notification is in the output afterwards, and nothing more can be written.
    package func close() {
        guard state == .established else { return state = .ended }
        state = .ended
        _ = openSSL { unsafe SSL_shutdown(connection) }
    }

    private func continueHandshake() throws(TLSError) -> Progress {
        let step = openSSL { unsafe SSL_get_error(connection, SSL_do_handshake(connection)) }
        switch step.value {
        case SSL_ERROR_NONE:
            state = .established
            return .established
        case SSL_ERROR_WANT_READ: return .needsMore
        default: throw end(verification.refusal ?? TLSError(step.faults))
        }
    }

    /// Record after record, as long as lent bytes are left and the next one is sure to fit.
    private func decrypt(into room: UnsafeMutableRawBufferPointer) throws(TLSError) -> Progress {
        guard !isClosedByPeer else { return .ended }
        var filled = 0
        while canRead, filled == 0 || room.count - filled >= TLSWorkspace.recordCount {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room.dropFirst(filled))
            let progress: Progress
            do throws(TLSError) {
                progress = try unsafe decryptRecord(into: rest)
            } catch {
                guard filled > 0 else { throw error }
                fault = error
                break
            }
            guard case .plaintext(let count) = progress else { return filled > 0 ? .plaintext(filled) : progress }
            filled += count
        }
        return filled > 0 ? .plaintext(filled) : .needsMore
    }

    private func decryptRecord(into room: UnsafeMutableRawBufferPointer) throws(TLSError) -> Progress {
        var count = 0
        let step = openSSL {
            let result = unsafe SSL_read_ex(connection, room.baseAddress, room.count, &count)
            return result == 1 ? SSL_ERROR_NONE : unsafe SSL_get_error(connection, result)
        }
        // One call reads of one record: what leaves room has taken it all.
        hasRest = step.value == SSL_ERROR_NONE && count == room.count
        switch step.value {
        case SSL_ERROR_NONE: return .plaintext(count)
        case SSL_ERROR_WANT_READ: return .needsMore
        case SSL_ERROR_ZERO_RETURN:
            isClosedByPeer = true
            return .ended
        default: throw end(TLSError(step.faults))
        }
    }

    func end(_ error: TLSError) -> TLSError {
        state = .ended
        return error
    }
}
