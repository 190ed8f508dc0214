// Keys that are refused when they are loaded, each by its name: weak, ambiguous, protected, or no keys at all.

import TandemCrypto
import TandemTestSupport
import Testing

@Suite struct KeyPolicyTests {
    /// The error of loading both halves of a key that the command makes.
    private func errors(making command: String) -> (privateHalf: KeyError?, publicHalf: KeyError?) {
        let openssl = OpenSSLCommand()
        #expect(openssl.run(command + " -out key.pem"), "\(openssl.readText("output"))")
        #expect(openssl.run("pkey -in key.pem -pubout -out public.pem"))
        return (error(loading: openssl.read("key.pem")), error(loading: openssl.readText("public.pem")))
    }

    private func error(loading pem: [UInt8]) -> KeyError? {
        keyError { () throws(KeyError) in try PrivateKey(pem: SecretBytes(copying: pem)) }
    }

    private func error(loading pem: String) -> KeyError? {
        keyError { () throws(KeyError) in try PublicKey(pem: pem) }
    }

    @Test("CFG-16: an RSA key under 2048 bits is refused", arguments: [512, 1024, 2047])
    func anRSAKeyUnder2048BitsIsRefused(bits: Int) {
        let found = errors(making: "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:\(bits)")
        #expect(found == (.rsaTooShort(bits: bits), .rsaTooShort(bits: bits)))
    }

    @Test func anRSAKeyOf2048BitsIsAccepted() {
        #expect(errors(making: "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048") == (nil, nil))
    }

    @Test("CFG-16: an RSA exponent under 65,537 is refused", arguments: ["3", "17", "65535"])
    func anRSAExponentUnder65537IsRefused(exponent: String) {
        let found = errors(
            making: "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -pkeyopt rsa_keygen_pubexp:\(exponent)")
        #expect(found == (.rsaExponent, .rsaExponent))
    }

    @Test("CFG-16: an even or huge RSA exponent is refused")
    func anEvenOrHugeRSAExponentIsRefused() {
        #expect(error(loadingRSAWithExponent: [0x01, 0x00, 0x02]) == .rsaExponent)
        #expect(error(loadingRSAWithExponent: [0x01, 0x00, 0x00, 0x00, 0x01]) == .rsaExponent, "33 bits")
        #expect(error(loadingRSAWithExponent: [0x00, 0xFF, 0xFF, 0xFF, 0xFF]) == nil, "32 bits")
        #expect(error(loadingRSAWithExponent: [0x01, 0x00, 0x01]) == nil)
    }

    /// Loads a 2048-bit modulus with this exponent, as a hand-made SubjectPublicKeyInfo.
    private func error(loadingRSAWithExponent exponent: [UInt8]) -> KeyError? {
        let modulus: [UInt8] = [0x00, 0xC1] + [UInt8](repeating: 0x5B, count: 255)
        let key = DER.sequence(DER.element(0x02, modulus) + DER.element(0x02, exponent))
        let rsaEncryption: [UInt8] = [
            0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
        ]
        let bytes = DER.sequence(rsaEncryption + DER.element(0x03, [0] + key))
        return keyError { () throws(KeyError) in try PublicKey(subjectPublicKeyInfo: bytes) }
    }

    @Test(
        "CFG-16: a curve other than P-256 is refused",
        arguments: ["P-384", "P-521", "P-224", "P-192", "secp256k1", "brainpoolP256r1"])
    func aCurveOtherThanP256IsRefused(curve: String) throws {
        let found = errors(making: "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:\(curve)")
        guard case .unsupportedCurve = found.privateHalf, case .unsupportedCurve = found.publicHalf
        else { throw Unexpected("\(found)") }
    }

    @Test("CFG-16: explicit curve parameters are refused even of P-256")
    func explicitCurveParametersAreRefusedEvenOfP256() {
        let found = errors(
            making: "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit")
        #expect(found == (.explicitCurveParameters, .explicitCurveParameters))
    }

    @Test("CFG-16: a key of another kind is refused", arguments: ["ED448", "X25519", "RSA-PSS"])
    func aKeyOfAnotherKindIsRefused(kind: String) {
        let found = errors(making: "genpkey -algorithm \(kind)")
        #expect(found == (.unsupportedAlgorithm(kind), .unsupportedAlgorithm(kind)))
    }

    @Test func aCompressedPointIsASecondSpellingAndRefused() {
        let openssl = OpenSSLCommand()
        openssl.write(Array(TestKeys.key(.ecdsaP256).publicKey.pem.utf8), to: "public.pem")
        #expect(openssl.run("ec -pubin -in public.pem -conv_form compressed -out compressed.pem"))
        #expect(error(loading: openssl.readText("compressed.pem")) == .notCanonical)
    }

    @Test func aKeyProtectedByAPassphraseIsRefusedByName() {
        let openssl = OpenSSLCommand()
        openssl.write(TestKeys.key(.ecdsaP256).pem.exposed, to: "key.pem")
        #expect(openssl.run("pkcs8 -topk8 -in key.pem -out protected.pem -passout pass:secret"))
        #expect(error(loading: openssl.read("protected.pem")) == .passphraseProtected)
        #expect(openssl.run("ec -in key.pem -aes128 -passout pass:secret -out traditional.pem"))
        let traditional = error(loading: openssl.read("traditional.pem"))
        #expect(traditional == .unsupportedEncryption("the form before PKCS#8, with 'Proc-Type'"))
        #expect(traditional?.description.contains("openssl pkcs8 -topk8") == true)
    }

    @Test func aKeyInDERFormIsRefusedWithTheWayToConvertIt() {
        let refusal = error(loading: [0x30, 0x2A, 0x30, 0x05])
        #expect(refusal?.description.contains("openssl pkey -inform DER") == true)
    }

    @Test func aTraditionalPrivateKeyIsRefusedWithTheWayToConvertIt() {
        let openssl = OpenSSLCommand()
        openssl.write(TestKeys.key(.ecdsaP256).pem.exposed, to: "key.pem")
        #expect(openssl.run("ec -in key.pem -out traditional.pem"))
        let found = error(loading: openssl.read("traditional.pem"))
        #expect(found == .unexpectedBlock(label: "EC PRIVATE KEY", expected: "PRIVATE KEY"))
        #expect(found?.description.contains("pkcs8 -topk8") == true)
    }

    @Test func halvesThatDoNotBelongTogetherAreRefused() {
        let key = TestKeys.key(.ecdsaP256).pem.exposed
        let other = TestKeys.other(.ecdsaP256)
        let openssl = OpenSSLCommand()
        openssl.write(key, to: "key.pem")
        #expect(openssl.run("pkcs8 -topk8 -nocrypt -in key.pem -outform DER -out key.der"))
        var mixed = openssl.read("key.der")
        mixed.replaceSubrange((mixed.count - 65)..., with: other.publicKey.subjectPublicKeyInfo.suffix(65))
        openssl.write(DER.pem("PRIVATE KEY", mixed), to: "mixed.pem")
        #expect(error(loading: openssl.read("mixed.pem")) == .inconsistentHalves)
    }
}
