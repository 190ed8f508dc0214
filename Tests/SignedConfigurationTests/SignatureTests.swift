// Signatures and thresholds: what counts, what is ignored, what is refused, and that no change of a single bit anywhere
// ever passes.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite struct SignatureTests {
    private static func signature(
        _ key: ConfigurationPrivateKey, over body: [UInt8], type: SignedPayloadType = .configuration,
        as identifier: [UInt8]? = nil
    ) -> EnvelopeSignature {
        EnvelopeSignature(
            keyIdentifier: identifier ?? key.publicKey.identifier.bytes,
            bytes: key.key.sign(PreAuthenticationEncoding.bytes(type: type.rawValue, body: body)))
    }

    private static func envelope(_ signatures: ([UInt8]) -> [EnvelopeSignature]) throws -> [UInt8] {
        let body = try PropertyListWriter.write(try Fixture.payload().dictionary)
        return try SignedEnvelope.bytes(
            body, type: SignedPayloadType.configuration.rawValue, signatures: signatures(body))
    }

    private static func context(_ keys: TrustedKeySet) throws -> VerificationContext {
        try Fixture.context(trusting: KeySetHistory(keys))
    }

    @Test("CFG-2: every bit flipped in payload type and signature is refused")
    func everyBitFlippedInPayloadTypeAndSignatureIsRefused() throws {
        let bytes = try Fixture.envelope()
        let context = try Fixture.context()
        #expect(throws: Never.self) { try ApplicableConfiguration(verifying: bytes, in: context) }
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << UInt8(bit)
                // Also where nothing is signed: a key identifier has to be that of a trusted key.
                #expect(throws: VerificationFailure.self, "byte \(index), bit \(bit)") {
                    try ApplicableConfiguration(verifying: changed, in: context)
                }
            }
        }
    }

    @Test("CFG-4: a key identifier is an index and no evidence")
    func aKeyIdentifierIsAnIndexAndNoEvidence() throws {
        let own = Fixture.key.publicKey.identifier.bytes
        let wrongKey = try Self.envelope { [Self.signature(Fixture.stranger, over: $0, as: own)] }
        try Fixture.expectRejected(wrongKey, .threshold)
        for identifier in [[], Array(own.dropLast()), Fixture.stranger.publicKey.identifier.bytes] {
            try Fixture.expectRejected(
                try Self.envelope { [Self.signature(Fixture.key, over: $0, as: identifier)] }, .threshold)
        }
    }

    @Test("CFG-20: unsigned and foreign envelopes are refused")
    func unsignedAndForeignEnvelopesAreRefused() throws {
        try Fixture.expectRejected(try Self.envelope { _ in [] }, .threshold)
        let foreign = try ConfigurationSigner.sign(try Fixture.payload(), with: [Fixture.stranger])
        try Fixture.expectRejected(foreign, .threshold)
    }

    @Test("CFG-2, CFG-3: a good signature for another type is none")
    func aGoodSignatureForAnotherTypeIsNone() throws {
        let body = try PropertyListWriter.write(try Fixture.payload().dictionary)
        let asReport = try SignedEnvelope.bytes(body, type: .report, signedWith: [Fixture.key.key])
        try Fixture.expectRejected(asReport, .wrongType)
        try Fixture.expectRejected(
            try Self.envelope { [Self.signature(Fixture.key, over: $0, type: .report)] }, .threshold)
    }

    @Test("CFG-20: one key twice is refused and never counts twice")
    func oneKeyTwiceIsRefusedAndNeverCountsTwice() throws {
        let twice = try Self.envelope { body in
            [Self.signature(Fixture.key, over: body), Self.signature(Fixture.key, over: body)]
        }
        try Fixture.expectRejected(twice, .duplicateKeyIdentifier)
        let second = ConfigurationPrivateKey.generate()
        let two = TrustedKeySet([Fixture.key.publicKey, second.publicKey], threshold: 2)
        let underOther = try Self.envelope { body in
            [
                Self.signature(Fixture.key, over: body),
                Self.signature(Fixture.key, over: body, as: second.publicKey.identifier.bytes),
            ]
        }
        try Fixture.expectRejected(underOther, .threshold, in: try Self.context(two))
    }

    @Test("CFG-15, CFG-20: thresholds count distinct good signatures")
    func thresholdsCountDistinctGoodSignatures() throws {
        let keys = (0..<3).map { _ in ConfigurationPrivateKey.generate() }
        let set = TrustedKeySet(keys.map(\.publicKey), threshold: 2)
        let context = try Self.context(set)
        let one = try Self.envelope { [Self.signature(keys[0], over: $0)] }
        try Fixture.expectRejected(one, .threshold, in: context)
        let enough = try Self.envelope { body in
            [
                Self.signature(keys[0], over: body), Self.signature(Fixture.stranger, over: body),
                EnvelopeSignature(keyIdentifier: keys[1].publicKey.identifier.bytes, bytes: [1, 2, 3]),
                Self.signature(keys[2], over: body),
                EnvelopeSignature(keyIdentifier: [7], bytes: []),
            ]
        }
        let applicable = try ApplicableConfiguration(verifying: enough, in: context)
        #expect(applicable.verified.signers == [keys[0].publicKey.identifier, keys[2].publicKey.identifier])
    }

    @Test("CFG-23: a revoked key counts for nothing new and marks what is active")
    func aRevokedKeyCountsForNothingNewAndMarksWhatIsActive() throws {
        let revoked = TrustedKeySet(
            [Fixture.key.publicKey], threshold: 1, revoked: [Fixture.key.publicKey.identifier])
        let bytes = try Fixture.envelope()
        let failure = #expect(throws: VerificationFailure.self) {
            try ApplicableConfiguration(verifying: bytes, in: try Self.context(revoked))
        }
        #expect(failure?.rejection == .threshold && failure?.detail.contains("signed by a revoked key") == true)
        var loading = try Self.context(revoked)
        loading.profile = .load
        #expect(try ApplicableConfiguration(verifying: bytes, in: loading).verified.isSignerRevoked)
        loading.anchor = .trusted(KeySetHistory(TrustedKeySet(Fixture.key.publicKey)))
        #expect(try !ApplicableConfiguration(verifying: bytes, in: loading).verified.isSignerRevoked)
    }

    @Test("CFG-20: a device's own keys sign no configuration", arguments: [KeyAlgorithm.ed25519, .ecdsaP256])
    func aDevicesKeysSignNoConfiguration(algorithm: KeyAlgorithm) throws {
        let key = ConfigurationPrivateKey(PrivateKey.generate(algorithm))
        let bytes = try ConfigurationSigner.sign(try Fixture.payload(), with: [key])
        #expect(throws: VerificationFailure(.threshold, "")) {
            try ApplicableConfiguration(verifying: bytes, in: try Fixture.context())
        }
    }

    @Test("CFG-22: waiving covers signatures and nothing else")
    func waivingCoversSignaturesAndNothingElse() throws {
        var context = try Fixture.context()
        context.allowsInvalidSignatures = true
        let foreign = try ConfigurationSigner.sign(try Fixture.payload(), with: [Fixture.stranger])
        #expect(try ApplicableConfiguration(verifying: foreign, in: context).verified.waived == .threshold)
        let good = try Fixture.envelope()
        #expect(try ApplicableConfiguration(verifying: good, in: context).verified.waived == nil)
        context.target = try PairedIdentifier(text: "custom:hw-2")
        #expect(throws: VerificationFailure(.wrongTarget, "")) {
            try ApplicableConfiguration(verifying: foreign, in: context)
        }
        context.anchor = .none
        #expect(throws: VerificationFailure(.noKey, "")) {
            try ApplicableConfiguration(verifying: foreign, in: context)
        }
    }
}
