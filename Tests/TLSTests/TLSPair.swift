// Two ends of a TLS connection in one test, with every byte between them in the test's hands.

import TandemBase
import TandemCrypto
import TandemTLS
import TandemTestSupport
import Testing

final class TLSPair {
    let client: TLSEnd
    let server: TLSEnd
    /// The error of each end, if it failed.
    private(set) var clientError: TLSError?
    private(set) var serverError: TLSError?
    /// May change the bytes on their way; true means client to server.
    var tamper: (_ toServer: Bool, [UInt8]) -> [UInt8] = { _, bytes in bytes }
    /// At most this many bytes are handed over at a time.
    var pieceCount = Int.max

    init(
        client clientIdentity: TLSIdentity, expecting clientRule: TLSPeerRule, server serverIdentity: TLSIdentity,
        expecting serverRule: TLSPeerRule
    ) throws {
        client = try TLSEnd(side: .client, identity: clientIdentity, peer: clientRule)
        server = try TLSEnd(side: .server, identity: serverIdentity, peer: serverRule)
    }

    /// Starts both ends and carries bytes until both are silent.
    func run() {
        clientError = attempt { () throws(TLSError) in try client.start() }
        serverError = attempt { () throws(TLSError) in try server.start() }
        carry()
    }

    /// Carries bytes both ways until both ends are silent.
    func carry() {
        for _ in 0..<100 {
            let toServer = client.takeOutput()
            let toClient = server.takeOutput()
            if toServer.isEmpty && toClient.isEmpty { return }
            serverError = serverError ?? deliver(tamper(true, toServer), to: server)
            clientError = clientError ?? deliver(tamper(false, toClient), to: client)
        }
        Issue.record("the two ends never fell silent")
    }

    func deliver(_ bytes: [UInt8], to end: TLSEnd) -> TLSError? {
        attempt { () throws(TLSError) in
            for start in stride(from: 0, to: bytes.count, by: min(pieceCount, max(1, bytes.count))) {
                try end.receive(Array(bytes[start..<min(bytes.count, start + min(pieceCount, bytes.count))]))
            }
        }
    }

    private func attempt(_ body: () throws(TLSError) -> Void) -> TLSError? {
        do throws(TLSError) {
            try body()
            return nil
        } catch { return error }
    }
}

/// Identities that tests share, one for each kind of key.
enum TestIdentities {
    static func identity(_ algorithm: KeyAlgorithm) throws -> TLSIdentity {
        try TLSIdentity(key: DevicePrivateKey(TestKeys.key(algorithm)))
    }

    static func other(_ algorithm: KeyAlgorithm = .ed25519) throws -> TLSIdentity {
        try TLSIdentity(key: DevicePrivateKey(TestKeys.other(algorithm)))
    }
}
