// A private key that passed the key policy, with its public half. It is read from PKCS#8, in clear or encrypted with a
// passphrase that the caller provides: a daemon has none, and refuses a protected key by name.

import CTandemOpenSSL

/// A private key; any thread. It has no description and compares by its public half only.
package struct PrivateKey: Sendable {
    /// The public half.
    package let publicKey: PublicKey
    package let reference: KeyReference
    /// It is on a token, which may be gone by the next signature.
    private(set) var isStored = false

    /// The kind of the key, and so how it signs.
    package var algorithm: KeyAlgorithm { publicKey.algorithm }

    /// A fresh key; RSA gets 3072 bits. RSA takes seconds: not on a loop's thread.
    package static func generate(_ algorithm: KeyAlgorithm) -> PrivateKey {
        guard let reference = KeyGeneration.key(algorithm), let key = try? PrivateKey(reference) else {
            preconditionFailure("OpenSSL makes keys of the kinds in KeyAlgorithm")
        }
        return key
    }

    /// Reads one PEM block `PRIVATE KEY`, or `ENCRYPTED PRIVATE KEY` with its passphrase (PKCS#8 both).
    /// - Throws: ``KeyError/passphraseProtected`` for an encrypted key without a passphrase.
    package init(pem text: SecretBytes, passphrase: SecretBytes? = nil) throws(KeyError) {
        let block = try PEMBlock(text)
        // No passphrase helps: it is encrypted with a key that one round of MD5 makes of the passphrase.
        guard !block.hasHeaders else { throw .unsupportedEncryption("the form before PKCS#8, with 'Proc-Type'") }
        if block.label == EncryptedKeyText.label {
            guard let passphrase else { throw .passphraseProtected }
            try self.init(try EncryptedKeyText.decrypt(block.contents, with: passphrase))
        } else {
            guard block.label == "PRIVATE KEY" else {
                throw .unexpectedBlock(label: block.label, expected: "PRIVATE KEY")
            }
            if let seed = block.contents.withBytes({ unsafe Self.readSeed($0) }) {
                // The public half is computed from it: a trial of the two proves nothing and takes a millisecond of a
                // daemon's start.
                try self.init(seed)
                return
            }
            let read = block.contents.withBytes { unsafe Self.read($0) }
            guard read.isComplete else { throw .trailingData }
            guard let reference = read.reference else { throw .malformed("no PKCS#8 private key of a known kind") }
            try self.init(reference)
        }
        guard isConsistent else { throw .inconsistentHalves }
    }

    /// Whether the text is an encrypted private key, so that a passphrase must be asked for.
    package static func isEncrypted(pem text: SecretBytes) -> Bool {
        (try? PEMBlock(text)).map { $0.label == EncryptedKeyText.label } ?? false
    }

    private init(_ reference: KeyReference) throws(KeyError) {
        self.reference = reference
        let ownHalf = try PublicKey(reference)
        // A second object without the secret, so that handing out the public half never carries the private one.
        publicKey = try PublicKey(subjectPublicKeyInfo: ownHalf.subjectPublicKeyInfo)
    }

    /// A key that something else has, such as a token: its public half is judged as it is written.
    init(stored reference: KeyReference) throws(KeyError) {
        self.reference = reference
        isStored = true
        publicKey = try PublicKey(subjectPublicKeyInfo: reference.subjectPublicKeyInfo())
        guard isConsistent else { throw .inconsistentHalves }
    }

    /// Whether what one half signs, the other verifies.
    private var isConsistent: Bool {
        let probe = Array("tandem key consistency".utf8)
        return publicKey.isValid(sign(probe), for: probe)
    }

    /// A PKCS#8 key that is nothing but an Ed25519 seed; nil for all others.
    private static func readSeed(_ bytes: UnsafeRawBufferPointer) -> KeyReference? {
        openSSL {
            unsafe Ed25519Encoding.privateKey(bytes).map { unsafe KeyReference(takingOwnership: $0) }
        }.value
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) -> (reference: KeyReference?, isComplete: Bool) {
        openSSL {
            let start = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
            var cursor = unsafe start
            let information = unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, &cursor, bytes.count)
            defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
            guard let information = unsafe information, let start = unsafe start, let cursor = unsafe cursor else {
                return (nil, true)
            }
            guard unsafe cursor - start == bytes.count else { return (nil, false) }
            return unsafe (EVP_PKCS82PKEY(information).map { unsafe KeyReference(takingOwnership: $0) }, true)
        }.value
    }
}

/// Fresh keys: Ed25519, P-256 by name, RSA with 3072 bits and the exponent 65537.
enum KeyGeneration {
    /// A fresh key; nil only if OpenSSL cannot make one of this kind.
    static func key(_ algorithm: KeyAlgorithm) -> KeyReference? {
        openSSL {
            let context = unsafe EVP_PKEY_CTX_new_id(type(of: algorithm), nil)
            defer { unsafe EVP_PKEY_CTX_free(context) }
            var key: OpaquePointer?
            guard unsafe EVP_PKEY_keygen_init(context) == 1, unsafe prepare(context, for: algorithm),
                unsafe EVP_PKEY_keygen(context, &key) == 1, let made = unsafe key
            else { return nil }
            return unsafe KeyReference(takingOwnership: made)
        }.value
    }

    private static func type(of algorithm: KeyAlgorithm) -> Int32 {
        switch algorithm {
        case .ed25519: EVP_PKEY_ED25519
        case .ecdsaP256: EVP_PKEY_EC
        case .rsaPSS: EVP_PKEY_RSA
        }
    }

    private static func prepare(_ context: OpaquePointer?, for algorithm: KeyAlgorithm) -> Bool {
        switch algorithm {
        case .ed25519: true
        case .ecdsaP256: unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1
        case .rsaPSS: unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(KeyPolicy.generatedRSABits)) == 1
        }
    }
}

/// A device's own key: its TLS certificate and the proof of its identity.
package enum DevicePurpose {}

/// The key with which a device signs its reports.
package enum ReportPurpose {}

/// A key of the people who sign configuration.
package enum ConfigurationPurpose {}

/// A public key for one purpose. The same mathematics serves three purposes that must never be mixed up: the purpose is
/// a type parameter, so that a mix-up does not compile.
package struct PurposePublicKey<Purpose>: Sendable, Hashable {
    package let key: PublicKey

    package init(_ key: PublicKey) { self.key = key }

    package var identifier: KeyIdentifier { key.identifier }
}

/// A private key for one purpose.
package struct PurposePrivateKey<Purpose>: Sendable {
    package let key: PrivateKey

    package init(_ key: PrivateKey) { self.key = key }

    /// A fresh key for the purpose.
    package static func generate(_ algorithm: KeyAlgorithm = .ed25519) -> Self { Self(.generate(algorithm)) }

    package var publicKey: PurposePublicKey<Purpose> { PurposePublicKey(key.publicKey) }
}

package typealias DevicePublicKey = PurposePublicKey<DevicePurpose>
package typealias DevicePrivateKey = PurposePrivateKey<DevicePurpose>
package typealias ReportPublicKey = PurposePublicKey<ReportPurpose>
package typealias ReportPrivateKey = PurposePrivateKey<ReportPurpose>
package typealias ConfigurationPublicKey = PurposePublicKey<ConfigurationPurpose>
package typealias ConfigurationPrivateKey = PurposePrivateKey<ConfigurationPurpose>

/// The kind of a key, and with it the one way of signing. No message ever chooses the algorithm, so that there is
/// nothing to downgrade.
package enum KeyAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// Ed25519 (RFC 8032), the default.
    case ed25519
    /// ECDSA over P-256 with SHA-256; signatures in DER.
    case ecdsaP256 = "ecdsa-p256-sha256"
    /// RSA-PSS with SHA-256, MGF1 with SHA-256 and a salt of 32 bytes.
    case rsaPSS = "rsa-pss-sha256"
}

/// An owned `EVP_PKEY`; freed with its last user.
///
/// `@unchecked`: immutable for its users, on any thread. OpenSSL only reads a key when it uses it; it counts references
/// atomically, and its own lock (`EVP_PKEY.lock`) protects its caches of the key.
@safe package final class KeyReference: @unchecked Sendable {
    private let key: OpaquePointer

    /// Takes over the reference that the caller owns.
    init(takingOwnership key: OpaquePointer) { unsafe self.key = unsafe key }

    /// Lends the key for the length of the call.
    @safe package func withPointer<Value>(_ body: (OpaquePointer) -> Value) -> Value { unsafe body(key) }

    deinit { unsafe EVP_PKEY_free(key) }

    /// The public half as SubjectPublicKeyInfo in DER form; empty if OpenSSL cannot write it.
    func subjectPublicKeyInfo() -> [UInt8] {
        if let known = openSSL({ unsafe Ed25519Encoding.subjectPublicKeyInfo(of: key) }).value { return known }
        var bytes: UnsafeMutablePointer<UInt8>?
        let written = openSSL { unsafe i2d_PUBKEY(key, &bytes) }.value
        defer { unsafe CTandemOpenSSL_free(bytes) }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: max(0, Int(written))))
    }
}

/// Secret bytes (private keys in text form, join secrets, keys of HMACs) with one owner; never copied, and cleansed
/// when released. It has no description, so that no log or error can show it.
///
/// `@unchecked`: immutable, so that it needs no lock: only the initialiser and `deinit` write the buffer, on the one
/// thread that can reach it then.
@safe package final class SecretBytes: @unchecked Sendable {
    private let buffer: UnsafeMutableRawBufferPointer

    /// A buffer that `body` fills.
    init(count: Int, filledBy body: (UnsafeMutableRawBufferPointer) -> Void) {
        unsafe buffer = .allocate(byteCount: count, alignment: 16)
        unsafe body(buffer)
    }

    /// Copies the bytes. The caller's array stays as it is: prefer ``init(taking:)`` where it is the last copy.
    package convenience init(copying bytes: some Collection<UInt8>) {
        unsafe self.init(count: bytes.count) { unsafe $0.copyBytes(from: bytes) }
    }

    /// Copies the bytes and then cleanses the caller's array.
    package convenience init(taking bytes: inout [UInt8]) {
        self.init(copying: bytes)
        unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        bytes = []
    }

    /// Fresh random bytes.
    package convenience init(randomCount count: Int) {
        unsafe self.init(count: count) { unsafe SecureRandom.fill($0) }
    }

    /// Number of bytes.
    package var count: Int { unsafe buffer.count }

    /// Lends the bytes for the length of the call; the pointer must not leave it.
    @safe package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        unsafe body(UnsafeRawBufferPointer(buffer))
    }

    /// A copy as an array, for the one place that must write it out; nobody cleanses that copy.
    package var exposed: [UInt8] { unsafe Array(buffer) }

    deinit {
        unsafe OPENSSL_cleanse(buffer.baseAddress, buffer.count)
        unsafe buffer.deallocate()
    }
}

extension SecretBytes: Equatable {
    /// Compares in constant time.
    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left.withBytes { first in right.withBytes { second in unsafe isEqualInConstantTime(first, second) } }
    }
}
