// Keys behind URIs: found once, judged as any key, with a PIN where there is one, and refused by name where OpenSSL has
// no provider. OpenSSL's own scheme `file` stands for a token.

import TandemCrypto
import TandemTestSupport
import Testing

@Suite struct KeyStoreTests {
    private let openssl = OpenSSLCommand()

    private func key(_ name: String, pin: String? = nil) throws(KeyStoreError) -> PrivateKey {
        try PrivateKey(uri: "file:\(openssl.path(name))") { pin.map { SecretBytes(copying: $0.utf8) } }
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func aKeyBehindAURISignsAsTheKeyItself(algorithm: KeyAlgorithm) throws {
        let own = TestKeys.key(algorithm)
        openssl.write(own.pem.exposed, to: "key.pem")
        let stored = try key("key.pem")
        #expect(stored.publicKey == own.publicKey && stored.algorithm == algorithm)
        #expect(own.publicKey.isValid(stored.sign([1, 2, 3]), for: [1, 2, 3]))
    }

    @Test func aPINIsAskedForAndAWrongOneIsNamed() throws {
        let own = TestKeys.key(.ed25519)
        openssl.write(own.encryptedPEM(passphrase: SecretBytes(copying: "1234".utf8)), to: "key.pem")
        #expect(try key("key.pem", pin: "1234").publicKey == own.publicKey)
        for pin in ["4321", nil] {
            do throws(KeyStoreError) {
                _ = try key("key.pem", pin: pin)
                Issue.record("a key without its PIN")
            } catch {
                guard case .unopened(let reason) = error else {
                    Issue.record("\(error)")
                    continue
                }
                #expect(!reason.isEmpty)
            }
        }
    }

    @Test("CFG-16: what a URI names is judged as any key")
    func whatAURINamesIsJudged() throws {
        openssl.write(Array(TestKeys.key(.ed25519).publicKey.pem.utf8), to: "public.pem")
        #expect(throws: KeyStoreError.self) { try key("public.pem") }
        let pair = TestKeys.key(.ed25519).pem.exposed + TestKeys.other(.ed25519).pem.exposed
        openssl.write(pair, to: "two.pem")
        #expect(throws: KeyStoreError.severalKeys) { try key("two.pem") }
        #expect(openssl.run("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 -out short.pem"))
        #expect(throws: KeyStoreError.key(.rsaTooShort(bits: 1024))) { try key("short.pem") }
        #expect(openssl.run("genpkey -algorithm ed448 -out other.pem"))
        #expect(throws: KeyStoreError.self) { try key("other.pem") }
        #expect(throws: KeyStoreError.self) { try key("none.pem") }
    }

    @Test func aSchemeWithoutAProviderIsNamed() throws {
        guard !openssl.run("list -providers -provider pkcs11") else { return }
        do throws(KeyStoreError) {
            _ = try PrivateKey(uri: "pkcs11:object=signing;type=private") { nil }
            Issue.record("there is no provider")
        } catch {
            #expect(error == .noProvider(scheme: "pkcs11") && "\(error)".contains("pkcs11-provider"))
        }
        let own = TestKeys.key(.ed25519)
        #expect(own.publicKey.isValid(own.sign([1]), for: [1]), "what OpenSSL has by itself goes on")
    }
}
