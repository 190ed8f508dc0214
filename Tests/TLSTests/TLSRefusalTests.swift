// TLS with peers that are not what they should be: each way of failing has its name, on the end that finds it, and
// nothing that a peer sends ends the process (PAR-1).

import TandemCrypto
import TandemTLS
import Testing

@Suite struct TLSRefusalTests {
    @Test func aClientRefusesAServerWithAnotherKeyThanThePinnedOne() throws {
        let client = try TestIdentities.other()
        let server = try TestIdentities.identity(.ed25519)
        let pair = try TLSPair(
            client: client, expecting: .pinned(client.publicKey.identifier), server: server, expecting: .any)
        pair.run()
        #expect(
            pair.clientError
                == .wrongPin(expected: client.publicKey.identifier, found: server.publicKey.identifier))
        #expect(pair.clientError?.name == "wrong-pin")
        #expect(pair.serverError?.name == "refused-by-peer")
        #expect(!pair.client.isEstablished && !pair.server.isEstablished)
    }

    @Test func aServerRefusesAClientWithAnotherKeyThanThePinnedOne() throws {
        let client = try TestIdentities.other()
        let server = try TestIdentities.identity(.ed25519)
        let pair = try TLSPair(
            client: client, expecting: .pinned(server.publicKey.identifier), server: server,
            expecting: .pinned(server.publicKey.identifier))
        pair.run()
        #expect(pair.serverError?.name == "wrong-pin")
        #expect(pair.clientError?.name == "refused-by-peer")
        #expect(!pair.client.isEstablished)
    }

    @Test func anyPeerIsAcceptedWhereTheRuleSaysSoAndIsNamed() throws {
        let client = try TestIdentities.other()
        let server = try TestIdentities.identity(.ed25519)
        let pair = try TLSPair(client: client, expecting: .any, server: server, expecting: .any)
        pair.run()
        #expect(pair.server.peerPin == client.publicKey.identifier)
        #expect(pair.client.peerPin == server.publicKey.identifier)
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n", "<?xml version=\"1.0\"?><plist/>", "bplist00", "\0\0\0\u{4}abcd", "\u{16}\u{3}\u{1}x",
    ])
    func plainBytesAreNotTLS(text: String) throws {
        let server = try TLSEnd(side: .server, identity: TestIdentities.identity(.ed25519), peer: .any)
        try server.start()
        let noise = Array(text.utf8) + [UInt8](repeating: 0x20, count: 600)
        do throws(TLSError) {
            try server.receive(noise)
            Issue.record("accepted")
        } catch {
            #expect(error.name == "not-tls", "\(error)")
            #expect(!"\(error)".contains("code "), "the cause is told in words: \(error)")
        }
        #expect(!server.isEstablished)
    }

    @Test func randomBytesNeverEstablishNorTrap() throws {
        let identity = try TestIdentities.identity(.ed25519)
        for round in 0..<300 {
            let end = try TLSEnd(side: round.isMultiple(of: 2) ? .server : .client, identity: identity, peer: .any)
            try end.start()
            var noise = SecureRandom.bytes(600)
            if round.isMultiple(of: 3) { noise.replaceSubrange(0..<3, with: [22, 3, 1]) }
            try? end.receive(noise)
            try? end.receive(noise)
            #expect(!end.isEstablished)
        }
    }

    @Test func aHandshakeAlteredAtAnyByteIsNeverEstablishedOnBothEnds() throws {
        var total = 0
        for index in stride(from: 0, to: 1600, by: 7) {
            let pair = try TLSSessionTests.pinnedPair(.ed25519, .ed25519)
            var seen = 0
            pair.tamper = { toServer, bytes in
                guard !toServer else { return bytes }
                defer { seen += bytes.count }
                guard bytes.indices.contains(index - seen) else { return bytes }
                var altered = bytes
                altered[index - seen] ^= 0x40
                return altered
            }
            pair.run()
            total = max(total, seen)
            guard index < seen else { continue }
            #expect(!pair.client.isEstablished || !pair.server.isEstablished, "byte \(index)")
        }
        #expect(total > 500)
    }

    @Test func aRecordAlteredAfterTheHandshakeIsRefused() throws {
        let pair = try TLSSessionTests.pinnedPair()
        pair.run()
        try pair.client.write([1, 2, 3, 4])
        pair.tamper = { toServer, bytes in
            guard toServer, var last = bytes.last else { return bytes }
            last ^= 1
            return bytes.dropLast() + [last]
        }
        pair.carry()
        #expect(pair.serverError?.name == "not-tls")
        #expect(pair.server.takePlaintext().isEmpty)
        #expect(!pair.server.isEstablished)
    }

    @Test func aReplayedRecordIsRefused() throws {
        let pair = try TLSSessionTests.pinnedPair()
        pair.run()
        try pair.client.write([1, 2, 3, 4])
        pair.tamper = { toServer, bytes in toServer ? bytes + bytes : bytes }
        pair.carry()
        #expect(pair.serverError?.name == "not-tls")
    }
}
