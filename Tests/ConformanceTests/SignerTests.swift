// The signed statements of the suite: good ones by Protocol's own words, with the same keys in each run.

import TandemBase
import TandemCrypto
import TandemPropertyList
import Testing

@testable import TandemConformance

@Suite struct SignerTests {
    private static let statement = SignedStatement(kind: .configuration, fields: ["typ": "config", "ver": 7])

    @Test func `CFG-2, CFG-4: a signature covers type and payload, and names its key by the key's digest`() throws {
        let envelope = try PropertyListReader.readDictionary(Self.statement.envelope(by: [.trusted, .stranger]))
        let payload = try #require(envelope["payload"]?.dataValue)
        #expect(try PropertyListReader.readDictionary(payload) == Self.statement.fields)
        let type = "application/vnd.tandem.config.v1+bplist"
        #expect(envelope["payloadType"] == .string(type) && type.utf8.count == 39)
        let signed = Array("DSSEv1 39 \(type) \(payload.count) ".utf8) + payload
        let signatures = (envelope["signatures"]?.arrayValue ?? []).compactMap(\.dictionaryValue)
        try #require(signatures.count == 2)
        for (signature, signer) in zip(signatures, [Signer.trusted, .stranger]) {
            let key = try PublicKey(pem: signer.anchor)
            #expect(signature["keyid"] == .data(SHA256.digest(signer.publicKey)))
            #expect(key.isValid(signature["sig"]?.dataValue ?? [], for: signed))
        }
    }

    @Test func `CFG-96: a spoilt signature is by the key, and over other bytes`() throws {
        let (good, spoilt) = (
            try Self.statement.envelope(by: [.trusted]), try Self.statement.envelope(by: [.trusted], spoilt: true)
        )
        #expect(good.count == spoilt.count && good != spoilt)
        #expect(try Self.statement.envelope(by: [.trusted]) == good, "one statement has one envelope")
    }

    @Test func `each run has the same keys, which nobody else's test shares`() {
        let digits = [Signer.trusted, .successor, .root, .stranger].map { Hexadecimal.encode($0.identifier).prefix(8) }
        #expect(digits == ["d1f8994c", "a12f6005", "c74d6cb3", "2530e24c"])
    }
}
