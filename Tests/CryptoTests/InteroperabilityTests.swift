// Keys and signatures of this room against the `openssl` command line, both ways.

import TandemCrypto
import TandemTestSupport
import Testing

@Suite struct InteroperabilityTests {
    private static let message = Array("interoperability".utf8)

    private func generateCommand(_ algorithm: KeyAlgorithm) -> String {
        switch algorithm {
        case .ed25519: "genpkey -algorithm ed25519 -out key.pem"
        case .ecdsaP256: "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem"
        case .rsaPSS: "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem"
        }
    }

    private func signatureOptions(_ algorithm: KeyAlgorithm) -> String {
        switch algorithm {
        case .ed25519: "-rawin"
        case .ecdsaP256: "-rawin -digest sha256"
        case .rsaPSS:
            "-rawin -digest sha256 -pkeyopt rsa_padding_mode:pss -pkeyopt rsa_pss_saltlen:32 -pkeyopt rsa_mgf1_md:sha256"
        }
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func theCommandsKeyAndSignatureAreValidHere(algorithm: KeyAlgorithm) throws {
        let command = OpenSSLCommand()
        #expect(command.run(generateCommand(algorithm)))
        #expect(command.run("pkey -in key.pem -pubout -out public.pem"))
        command.write(Self.message, to: "message")
        let publicKey = try PublicKey(pem: command.readText("public.pem"))
        #expect(publicKey.algorithm == algorithm)
        // The command writes the high s as often as the low one (CFG-96).
        let isValid = (0..<64).contains { _ in
            #expect(
                command.run("pkeyutl -sign -inkey key.pem -in message -out signature \(signatureOptions(algorithm))"))
            return publicKey.isValid(command.read("signature"), for: Self.message)
        }
        #expect(isValid)
        let privateKey = try PrivateKey(pem: SecretBytes(copying: command.read("key.pem")))
        #expect(privateKey.publicKey == publicKey)
        #expect(publicKey.pem == command.readText("public.pem"))
        #expect(privateKey.pem.exposed == command.read("key.pem"))
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func ourKeyAndSignatureAreValidForTheCommand(algorithm: KeyAlgorithm) {
        let command = OpenSSLCommand()
        let key = TestKeys.key(algorithm)
        command.write(Array(key.publicKey.pem.utf8), to: "public.pem")
        command.write(key.sign(Self.message), to: "signature")
        command.write(Self.message, to: "message")
        let verify = "pkeyutl -verify -pubin -inkey public.pem -in message -sigfile signature "
        #expect(command.run(verify + signatureOptions(algorithm)))
        command.write(Self.message + [1], to: "message")
        #expect(!command.run(verify + signatureOptions(algorithm)))
    }

    @Test func anRSASignatureWithAnotherSaltLengthOrPaddingIsInvalid() throws {
        let command = OpenSSLCommand()
        #expect(command.run(generateCommand(.rsaPSS)))
        command.write(Self.message, to: "message")
        let key = try PrivateKey(pem: SecretBytes(copying: command.read("key.pem"))).publicKey
        let sign = "pkeyutl -sign -inkey key.pem -in message -out signature -rawin -digest sha256 -pkeyopt "
        for option in ["rsa_padding_mode:pss -pkeyopt rsa_pss_saltlen:20", "rsa_padding_mode:pkcs1"] {
            #expect(command.run(sign + option))
            #expect(!key.isValid(command.read("signature"), for: Self.message))
        }
    }

    @Test func theIdentifierIsTheDigestThatTheCommandComputes() throws {
        let command = OpenSSLCommand()
        let key = TestKeys.key(.ed25519).publicKey
        command.write(Array(key.pem.utf8), to: "public.pem")
        #expect(command.run("pkey -pubin -in public.pem -outform DER -out public.der"))
        #expect(command.run("dgst -sha256 -binary -out digest public.der"))
        #expect(key.identifier.bytes == command.read("digest"))
        #expect(key.subjectPublicKeyInfo == command.read("public.der"))
    }
}
