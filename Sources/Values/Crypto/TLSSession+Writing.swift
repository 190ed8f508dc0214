// Plaintext on its way out. Many small writes leave as few full records: they are gathered first, since a record costs
// a nonce, a tag and 22 bytes however little is in it. What is larger than a record is encrypted where it lies.

import CTandemOpenSSL
package import TandemBase

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

    /// Takes the last plaintext of a turn and encrypts all that waits. What comes alone is encrypted where it lies.
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
