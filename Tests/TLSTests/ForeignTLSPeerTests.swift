// Strangers who speak TLS, but not as the protocol asks (PAR-1), and an error queue that others left dirty.

import CTandemTLS
import TandemCrypto
import TandemTLS
import TandemTestSupport
import Testing

@Suite struct ForeignTLSPeerTests {
    private func end(_ side: TLSSession.Side) throws -> TLSEnd {
        try TLSEnd(side: side, identity: TestIdentities.identity(.ed25519), peer: .any)
    }

    /// A client that speaks no TLS 1.3, and one without a certificate.
    @Test(arguments: [
        (TLS1_2_VERSION, TLSError.protocolVersion, "tls-version"),
        (TLS1_3_VERSION, .noCertificate, "no-certificate"),
    ])
    func aClientIsRefusedByNameAndGetsNoPlaintextAndNoKey(version: Int32, refusal: TLSError, name: String) throws {
        let server = try end(.server)
        let error = ForeignTLSPeer(.client, upTo: version).run(against: server)
        #expect(error == refusal && error?.name == name)
        #expect(!server.isEstablished)
        #expect(server.peerPin == nil)
        #expect(server.takePlaintext().isEmpty)
        #expect(throws: TLSError.notEstablished) { try server.channelBinding() }
    }

    @Test func aServerThatSpeaksNoTLS13IsRefusedByName() throws {
        let peer = ForeignTLSPeer(.server, upTo: TLS1_2_VERSION, hasCertificate: true)
        #expect(try peer.run(against: end(.client)) == .protocolVersion)
    }

    @Test func aServerThatAsksForNoCertificateCannotBeToldApartButIsPinned() throws {
        let peer = ForeignTLSPeer(.server, hasCertificate: true)
        let pinned = TestKeys.key(.ecdsaP256).publicKey.identifier
        let client = try TLSEnd(
            side: .client, identity: TestIdentities.identity(.ed25519), peer: .pinned(pinned))
        #expect(peer.run(against: client)?.name == "wrong-pin")
    }

    @Test("PAR-1: a server gives no ticket and takes no early data")
    func aServerTakesNoEarlyData() throws {
        let peer = ForeignTLSPeer(.client, hasCertificate: true)
        let server = try end(.server)
        #expect(peer.run(against: server) == nil)
        #expect(server.isEstablished && !peer.canResume)
    }

    @Test("PAR-1: a client offers no early data, no ticket and no earlier key, also on its second connection")
    func aClientOffersNoEarlyData() throws {
        let identity = try TestIdentities.identity(.ed25519)
        for _ in 0..<2 {
            let client = try TLSEnd(side: .client, identity: identity, peer: .any)
            let server = try end(.server)
            try client.start()
            try server.start()
            let greeting = client.takeOutput()
            let extensions = try #require(Self.extensions(ofClientHello: greeting))
            // supported_versions is there: the reader reads what it should.
            #expect(extensions.contains(43) && extensions.isDisjoint(with: [35, 41, 42]), "\(extensions)")
            try server.receive(greeting)
            for _ in 0..<4 {
                try client.receive(server.takeOutput())
                try server.receive(client.takeOutput())
            }
            #expect(client.isEstablished && server.isEstablished)
        }
    }

    /// The types of the extensions of a ClientHello (RFC 8446, 4.1.2); nil for other bytes.
    private static func extensions(ofClientHello record: [UInt8]) -> Set<Int>? {
        // Record header, handshake header, version, random.
        var rest = record.dropFirst(5 + 4 + 2 + 32)
        func number(_ count: Int) -> Int? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
        }
        // Session identifier, cipher suites, compression methods.
        for width in [1, 2, 1] {
            guard let count = number(width) else { return nil }
            rest = rest.dropFirst(count)
        }
        guard number(2) == rest.count else { return nil }
        var types: Set<Int> = []
        while let type = number(2), let count = number(2) {
            types.insert(type)
            rest = rest.dropFirst(count)
        }
        return types
    }

    @Test func anErrorThatOthersLeftInTheQueueChangesNothing() throws {
        let pair = try TLSSessionTests.pinnedPair()
        ForeignTLSPeer.poisonErrorQueue()
        pair.run()
        #expect(pair.client.isEstablished && pair.server.isEstablished)
        ForeignTLSPeer.poisonErrorQueue()
        try pair.client.write([1])
        ForeignTLSPeer.poisonErrorQueue()
        pair.carry()
        #expect(pair.server.takePlaintext() == [1])
        #expect(pair.serverError == nil && pair.clientError == nil)
        #expect(ForeignTLSPeer.errorQueueIsEmpty)
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func nothingThatFailsLeavesAnErrorInTheQueue(algorithm: KeyAlgorithm) throws {
        let key = TestKeys.key(algorithm)
        #expect(!key.publicKey.isValid([1, 2, 3], for: [4]))
        #expect(ForeignTLSPeer.errorQueueIsEmpty)
        #expect(throws: KeyError.self) { try PublicKey(pem: "-----BEGIN PUBLIC KEY-----\nAAAA\n") }
        #expect(ForeignTLSPeer.errorQueueIsEmpty)
        #expect(throws: KeyError.self) { try PublicKey(subjectPublicKeyInfo: [0x30, 0x03, 1, 2, 3]) }
        #expect(ForeignTLSPeer.errorQueueIsEmpty)
        let server = try end(.server)
        try server.start()
        #expect(throws: TLSError.self) { try server.receive([UInt8](repeating: 7, count: 100)) }
        #expect(ForeignTLSPeer.errorQueueIsEmpty)
    }

    @Test func aQueueThatOthersLeftDirtyDoesNotMakeAGoodKeyBad() throws {
        ForeignTLSPeer.poisonErrorQueue()
        let key = TestKeys.key(.ed25519)
        let signature = key.sign([1])
        ForeignTLSPeer.poisonErrorQueue()
        #expect(key.publicKey.isValid(signature, for: [1]))
        #expect(ForeignTLSPeer.errorQueueIsEmpty)
    }
}
