// One end of a test's TLS connection: a session, the room that it decrypts into, and what has come out of it so far.

import TandemBase
import TandemCrypto
import TandemTLS

final class TLSEnd {
    let session: TLSSession
    private var plaintext: [UInt8] = []
    /// One record must fit.
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 20_000, alignment: 16)

    init(side: TLSSession.Side, identity: TLSIdentity, peer: TLSPeerRule, workspace: TLSWorkspace = TLSWorkspace())
        throws(TLSError)
    {
        session = try TLSSession(side: side, identity: identity, peer: peer, workspace: workspace)
    }

    deinit { room.deallocate() }

    var isEstablished: Bool { session.isEstablished }
    var isClosedByPeer: Bool { session.isClosedByPeer }
    var peerPin: KeyIdentifier? { session.peerPin }

    func start() throws(TLSError) { try session.start() }
    func receiveEnd() throws(TLSError) { try session.receiveEnd() }
    func close() { session.close() }
    func channelBinding() throws(TLSError) -> [UInt8] { try session.channelBinding() }

    func receive(_ bytes: [UInt8]) throws(TLSError) {
        let result = bytes.withUnsafeBytes { lent in
            Result { () throws(TLSError) in
                try session.withInput(lent) { () throws(TLSError) in while try readOnce() {} }
            }
        }
        try result.get()
    }

    private func readOnce() throws(TLSError) -> Bool {
        switch try session.read(into: room) {
        case .established: true
        case .plaintext(let count): add(count)
        case .needsMore, .ended: false
        }
    }

    private func add(_ count: Int) -> Bool {
        plaintext += room.prefix(count)
        return true
    }

    /// Takes the bytes; the last of them may wait for a full record.
    func add(_ bytes: [UInt8]) throws(TLSError) {
        let result = bytes.withUnsafeBytes { lent in
            Result { () throws(TLSError) in try session.write(lent) }
        }
        try result.get()
    }

    func flush() throws(TLSError) { try session.flush() }

    /// Takes the bytes and encrypts all that waits.
    func finish(with bytes: [UInt8]) throws(TLSError) {
        let result = bytes.withUnsafeBytes { lent in
            Result { () throws(TLSError) in try session.write(last: lent) }
        }
        try result.get()
    }

    func write(_ bytes: [UInt8]) throws(TLSError) {
        try add(bytes)
        try flush()
    }

    func takePlaintext() -> [UInt8] {
        defer { plaintext = [] }
        return plaintext
    }

    func takeOutput() -> [UInt8] {
        var output: [UInt8] = []
        session.takeOutput { output += $0.copied() }
        return output
    }
}
