// One TLS 1.3 connection as bytes in and bytes out: it owns no socket, no timer and no thread, so the same code runs
// over TCP, Unix sockets and the tests' streams inside one process. It owns no buffers either: it reads from lent
// bytes, decrypts into the caller's room, and leaves what is for the peer in the thread's workspace. After any call the
// caller sends what `takeOutput` lends, after an error too: the alert that tells the peer why is in it. A client's
// handshake ends before the server has looked at its certificate: connected means that a first frame came.

import CTandemTLS
package import TandemBase
package import TandemCrypto

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
    /// The error that ended the connection behind plaintext that had to be returned first.
    private var fault: TLSError?

    /// Whether the handshake is done and neither side has closed.
    package var isEstablished: Bool { state == .established }

    /// The identifier of the peer's key once its certificate was accepted.
    package var peerPin: KeyIdentifier? { verification.peerPin }

    /// - Throws: ``TLSError/failed(_:)`` if OpenSSL cannot make a connection.
    package init(
        side: Side, identity: TLSIdentity, peer: TLSPeerRule, workspace: TLSWorkspace = TLSWorkspace()
    ) throws(TLSError) {
        let port = TLSPort(workspace: workspace)
        let made = unsafe openSSL { unsafe Self.makeConnection(side, identity, port) }
        guard let connection = unsafe made.value else { throw unsafe .failed(made.faults.tlsText) }
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

extension TLSSession {
    /// The channel binding of RFC 9266, 32 bytes: keying material of this connection (RFC 8446, 7.5), the same at both
    /// ends.
    /// - Throws: ``TLSError/notEstablished`` before the handshake is done.
    package func channelBinding() throws(TLSError) -> [UInt8] {
        guard state == .established else { throw .notEstablished }
        let (label, count) = ("EXPORTER-Channel-Binding", 32)
        var material = [UInt8](repeating: 0, count: count)
        let exported = openSSL {
            unsafe SSL_export_keying_material(
                connection, &material, count, label, label.utf8.count, nil, 0, 0)
        }
        guard exported.value == 1 else { throw .failed(exported.faults.tlsText) }
        return material
    }
}

// MARK: - Output. Small writes are gathered into full records, since each record costs a nonce, a tag and 22 bytes;
// a write larger than a record is encrypted in place.

extension TLSSession {
    /// Takes plaintext for the peer; the last of it waits for a full record or for `flush`, which must come before
    /// another session of the workspace is called.
    /// - Throws: ``TLSError/notEstablished`` before the handshake is done or after the end.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
        guard state == .established else { throw .notEstablished }
        var rest = unsafe bytes
        while unsafe !rest.isEmpty {
            let waiting = port.workspace.gathered.count
            let count = min(rest.count, TLSWorkspace.recordCount - waiting)
            let piece = unsafe UnsafeRawBufferPointer(rebasing: rest.prefix(count))
            unsafe rest = unsafe UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            if count == TLSWorkspace.recordCount { try unsafe encrypt(piece) } else { try unsafe gather(piece) }
        }
    }

    /// Takes the last plaintext of a turn and encrypts all that waits. Plaintext that comes alone is encrypted in
    /// place.
    package func write(last bytes: UnsafeRawBufferPointer) throws(TLSError) {
        guard port.workspace.gathered.isEmpty else {
            try unsafe write(bytes)
            return try flush()
        }
        guard state == .established else { throw .notEstablished }
        if unsafe !bytes.isEmpty { try unsafe encrypt(bytes) }
    }

    /// Encrypts what waits for a full record.
    package func flush() throws(TLSError) {
        guard !port.workspace.gathered.isEmpty else { return }
        defer { port.workspace.gathered.removeAll(keepingCapacity: true) }
        guard state == .established else { throw .notEstablished }
        var failure: TLSError?
        unsafe port.workspace.gathered.withUnsafeBytes { bytes in
            do throws(TLSError) { try unsafe encrypt(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    private func gather(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
        port.workspace.gathered.reserveCapacity(TLSWorkspace.recordCount)
        unsafe port.workspace.gathered.append(contentsOf: bytes)
        if port.workspace.gathered.count == TLSWorkspace.recordCount { try flush() }
    }

    private func encrypt(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
        var count = 0
        let written = openSSL { unsafe SSL_write_ex(connection, bytes.baseAddress, bytes.count, &count) }
        guard written.value == 1, count == bytes.count else { throw end(TLSError(written.faults)) }
    }

    /// Gives out the bytes for the peer, if there are any, and forgets them.
    package func takeOutput(_ body: (ByteSlice) -> Void) { port.workspace.takeOutput(of: port, body) }
}

/// One connection's BIO: OpenSSL reads bytes that the caller lends for one call, and writes into the thread's
/// workspace. OpenSSL's memory BIOs would copy everything once more and keep the room of their largest burst.
@safe final class TLSPort {
    let workspace: TLSWorkspace
    /// Lent bytes that OpenSSL has not taken yet.
    private var input = unsafe UnsafeRawBufferPointer(start: nil, count: 0)

    init(workspace: TLSWorkspace) { self.workspace = workspace }

    /// A BIO over this port, which must outlive it; nil only if OpenSSL is out of memory. Call inside `openSSL`.
    func makeBIO() -> OpaquePointer? {
        guard let bio = unsafe BIO_new(TLSPortMethod.shared.pointer) else { return nil }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    /// Lets OpenSSL read these bytes while the body runs; what it leaves is dropped.
    func lending<Result, Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe input = unsafe bytes
        defer { unsafe input = unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
        return try body()
    }

    /// Whether lent bytes wait.
    var hasInput: Bool { unsafe !input.isEmpty }

    fileprivate func read(into room: UnsafeMutableRawBufferPointer) -> Int {
        let count = unsafe min(room.count, input.count)
        unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: input.prefix(count)))
        unsafe input = unsafe UnsafeRawBufferPointer(rebasing: input.dropFirst(count))
        return count
    }

    /// Lends the port of a BIO, which it outlives; nil for a BIO without one.
    fileprivate static func with<Result>(_ bio: OpaquePointer?, _ body: (TLSPort) -> Result) -> Result? {
        guard let data = unsafe BIO_get_data(bio) else { return nil }
        return unsafe Unmanaged<TLSPort>.fromOpaque(data)._withUnsafeGuaranteedRef(body)
    }
}

/// The methods of the BIO; made once for the process and never freed.
///
/// `@unchecked`: immutable. The initialiser of `shared` sets the methods, once, and OpenSSL only reads them.
@safe private struct TLSPortMethod: @unchecked Sendable {
    static let shared = TLSPortMethod()

    let pointer = unsafe BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "tandem")

    private init() {
        unsafe BIO_meth_set_read_ex(pointer, readFromPort)
        unsafe BIO_meth_set_write_ex(pointer, writeToPort)
        unsafe BIO_meth_set_ctrl(pointer, controlPort)
    }
}

private func readFromPort(
    _ bio: OpaquePointer?, _ bytes: UnsafeMutablePointer<CChar>?, _ room: Int, _ count: UnsafeMutablePointer<Int>?
) -> CInt {
    let room = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: room)
    let taken = unsafe TLSPort.with(bio) { unsafe $0.read(into: room) } ?? 0
    unsafe count?.pointee = taken
    unsafe BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
    if taken == 0 { unsafe BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY) }
    return taken == 0 ? 0 : 1
}

private func writeToPort(
    _ bio: OpaquePointer?, _ bytes: UnsafePointer<CChar>?, _ given: Int, _ count: UnsafeMutablePointer<Int>?
) -> CInt {
    let bytes = unsafe UnsafeRawBufferPointer(start: bytes, count: given)
    let isTaken: Void? = unsafe TLSPort.with(bio) { unsafe $0.workspace.append(bytes, for: $0) }
    unsafe count?.pointee = given
    return isTaken == nil ? 0 : 1
}

/// A flush has nothing to do and succeeds; everything else is no business of ours.
private func controlPort(_: OpaquePointer?, _ command: CInt, _: Int, _: UnsafeMutableRawPointer?) -> Int {
    command == BIO_CTRL_FLUSH ? 1 : 0
}

/// Memory of the TLS connections of one thread: an idle session has no buffer, and a busy one allocates none. The
/// caller takes the output of one session before it calls another. That is checked, because bytes that left through the
/// wrong connection could not be taken back.
package final class TLSWorkspace {
    /// Largest plaintext of one TLS record.
    static let recordCount = 16384
    /// Room for a few full records at once.
    private static let blockCount = 64 * 1024

    /// Plaintext that waits to fill a record.
    fileprivate var gathered: [UInt8] = []
    /// Bytes for peers. The workspace fills it from the beginning again as soon as no slice refers to it.
    private var block = ByteBlock(capacity: 0)
    private var output: [ByteSlice] = []
    private var user: ObjectIdentifier?

    package init() {}

    /// Adds bytes for the peer of the session that works through this port.
    func append(_ bytes: UnsafeRawBufferPointer, for port: TLSPort) {
        precondition(output.isEmpty || user == ObjectIdentifier(port), "another session's output was not taken")
        user = ObjectIdentifier(port)
        makeRoom(bytes.count)
        let first = block.filled
        unsafe UnsafeMutableRawBufferPointer(rebasing: block.bytes.dropFirst(first)).copyMemory(from: bytes)
        add(block.take(bytes.count))
    }

    private func makeRoom(_ count: Int) {
        if output.isEmpty, isKnownUniquelyReferenced(&block) { block.rewind() }
        if block.room < count { block = ByteBlock(capacity: max(count, Self.blockCount)) }
    }

    private func add(_ slice: ByteSlice) {
        if output.isEmpty || !output[output.count - 1].join(slice) { output.append(slice) }
    }

    /// Gives out the bytes for the peer and forgets them.
    func takeOutput(of port: TLSPort, _ body: (ByteSlice) -> Void) {
        guard !output.isEmpty, user == ObjectIdentifier(port) else { return }
        for slice in output { body(slice) }
        output.removeAll(keepingCapacity: true)
    }

    /// Forgets what a session that is gone has left.
    func dropOutput(of port: TLSPort) {
        if user == ObjectIdentifier(port) { output.removeAll() }
    }
}
