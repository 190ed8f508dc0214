// TLS between two ends that know each other: what goes in comes out, both name each other's key, and the ends close
// properly (PAR-1).

import TandemBase
import TandemCrypto
import TandemTLS
import TandemTestSupport
import Testing

@Suite struct TLSSessionTests {
    private let pair: TLSPair

    init() throws { pair = try Self.pinnedPair() }

    static func pinnedPair(_ clientKind: KeyAlgorithm = .ed25519, _ serverKind: KeyAlgorithm = .ecdsaP256) throws
        -> TLSPair
    {
        let client = try TestIdentities.other(clientKind)
        let server = try TestIdentities.identity(serverKind)
        return try TLSPair(
            client: client, expecting: .pinned(server.publicKey.identifier), server: server,
            expecting: .pinned(client.publicKey.identifier))
    }

    @Test(arguments: KeyAlgorithm.allCases, KeyAlgorithm.allCases)
    func endsWithKeysOfAnyKindEstablishAndNameEachOther(client: KeyAlgorithm, server: KeyAlgorithm) throws {
        let pair = try Self.pinnedPair(client, server)
        pair.run()
        #expect(pair.clientError == nil && pair.serverError == nil)
        #expect(pair.client.isEstablished && pair.server.isEstablished)
        #expect(pair.client.peerPin == TestKeys.key(server).publicKey.identifier)
        #expect(pair.server.peerPin == TestKeys.other(client).publicKey.identifier)
    }

    @Test(arguments: [1, 2, 7, 1000])
    func bytesMayArriveInPieces(pieceCount: Int) throws {
        pair.pieceCount = pieceCount
        pair.run()
        #expect(pair.client.isEstablished && pair.server.isEstablished)
        try pair.client.write([1, 2, 3])
        pair.carry()
        #expect(pair.server.takePlaintext() == [1, 2, 3])
        #expect(pair.server.takePlaintext().isEmpty)
    }

    @Test(arguments: [0, 1, 16383, 16384, 16385, 524_288])
    func plaintextOfAnySizeComesOutUnchanged(count: Int) throws {
        pair.run()
        let sent = SecureRandom.bytes(count)
        try pair.client.write(sent)
        try pair.server.write(sent)
        pair.carry()
        #expect(pair.server.takePlaintext() == sent)
        #expect(pair.client.takePlaintext() == sent)
    }

    @Test func exportersAreEqualOnBothSidesAndDifferBetweenConnections() throws {
        let first = try Self.pinnedPair()
        let second = try Self.pinnedPair()
        first.run()
        second.run()
        let binding = try first.client.channelBinding()
        #expect(binding.count == 32)
        #expect(try first.server.channelBinding() == binding)
        #expect(try second.client.channelBinding() != binding)
    }

    @Test func noExporterAndNoPlaintextBeforeTheHandshakeIsDone() throws {
        #expect(throws: TLSError.notEstablished) { try pair.client.channelBinding() }
        #expect(throws: TLSError.notEstablished) { try pair.client.write([1]) }
        try pair.client.start()
        #expect(throws: TLSError.notEstablished) { try pair.client.write([1]) }
    }

    @Test func manySmallWritesLeaveAsOneRecord() throws {
        pair.run()
        for number in 0..<20 { try pair.client.add([UInt8(number), 0, 0]) }
        try pair.client.flush()
        let output = pair.client.takeOutput()
        #expect(output.count == 60 + Self.recordOverhead)
        #expect(pair.deliver(output, to: pair.server) == nil)
        #expect(pair.server.takePlaintext().count == 60)
    }

    @Test(arguments: [0, 1, 16384, 16385, 100_000], [0, 5, 16384])
    func theLastWriteTakesWhatWaitsWithIt(last: Int, before: Int) throws {
        #expect(throws: TLSError.notEstablished) { try pair.client.finish(with: [1]) }
        pair.run()
        let sent = SecureRandom.bytes(before + last)
        try pair.client.add(Array(sent.prefix(before)))
        try pair.client.finish(with: Array(sent.dropFirst(before)))
        let output = pair.client.takeOutput()
        #expect((output.count - sent.count) / Self.recordOverhead == (sent.count + 16383) / 16384)
        #expect(pair.deliver(output, to: pair.server) == nil)
        #expect(pair.server.takePlaintext() == sent)
        #expect(!pair.server.session.canRead)
    }

    @Test func whatCameBeforeACloseIsReadBeforeTheEnd() throws {
        pair.run()
        try pair.client.write(SecureRandom.bytes(50_000))
        pair.client.close()
        pair.carry()
        #expect(pair.server.takePlaintext().count == 50_000)
        #expect(pair.server.isClosedByPeer && pair.server.session.canRead)
    }

    @Test(arguments: [1, 300, 4096, 16384, 16385, 40_000])
    func writesOfAnySizeLeaveAsFullRecords(size: Int) throws {
        pair.run()
        let sent = (0..<7).flatMap { _ in SecureRandom.bytes(size) }
        for start in stride(from: 0, to: sent.count, by: size) {
            try pair.client.add(Array(sent[start..<start + size]))
        }
        try pair.client.flush()
        let output = pair.client.takeOutput()
        let records = (output.count - sent.count) / Self.recordOverhead
        #expect(records <= 2 * (sent.count / 16384) + 1)
        #expect(pair.deliver(output, to: pair.server) == nil)
        #expect(pair.server.takePlaintext() == sent)
    }

    /// Header, inner type and tag.
    private static let recordOverhead = 22

    @Test func sessionsOfOneThreadShareTheirMemory() throws {
        let workspace = TLSWorkspace()
        let identity = try TestIdentities.identity(.ed25519)
        var blocks: Set<ObjectIdentifier> = []
        for _ in 0..<20 {
            let client = try TLSSession(side: .client, identity: identity, peer: .any, workspace: workspace)
            try client.start()
            client.takeOutput { blocks.insert(ObjectIdentifier($0.block)) }
        }
        #expect(blocks.count == 1)
    }

    @Test func memoryThatSomebodyHoldsIsNotWrittenAgain() throws {
        pair.run()
        var held: [ByteSlice] = []
        var copies: [[UInt8]] = []
        for _ in 0..<50 {
            try pair.client.write(SecureRandom.bytes(5000))
            pair.client.session.takeOutput { output in
                held.append(output)
                copies.append(output.copied())
            }
        }
        #expect(held.map { $0.copied() } == copies)
        #expect(Set(held.map { ObjectIdentifier($0.block) }).count < 10)
    }

    @Test func aCloseIsSeenByThePeerAndEndsWriting() throws {
        pair.run()
        try pair.client.write([9])
        pair.client.close()
        pair.carry()
        #expect(pair.server.takePlaintext() == [9])
        #expect(pair.server.isClosedByPeer)
        #expect(throws: TLSError.notEstablished) { try pair.client.write([1]) }
        try pair.server.receiveEnd()
    }

    @Test func anEndWithoutACloseIsTruncation() throws {
        pair.run()
        #expect(throws: TLSError.truncated) { try pair.server.receiveEnd() }
        let half = try Self.pinnedPair()
        try half.server.start()
        #expect(throws: TLSError.truncated) { try half.server.receiveEnd() }
    }
}
