// A public key that passed the key policy: holding one is the proof. Its bytes are kept in the one canonical form, so
// that one key has one identifier, and a threshold of distinct keys cannot be met by one key written twice.

import CTandemOpenSSL
import Synchronization
package import TandemBase

/// A public key that is strong enough to be used; any thread.
package struct PublicKey: Sendable {
    /// The kind of the key, and so how it signs.
    package let algorithm: KeyAlgorithm
    /// The SubjectPublicKeyInfo in DER form.
    package let subjectPublicKeyInfo: [UInt8]
    /// SHA-256 of ``subjectPublicKeyInfo``.
    package let identifier: KeyIdentifier
    let reference: KeyReference
    /// Nil for Ed25519, which signs messages and no digests.
    let digestVerification: DigestVerification?

    /// Reads a SubjectPublicKeyInfo in DER form.
    package init(subjectPublicKeyInfo bytes: [UInt8]) throws(KeyError) {
        guard bytes.count <= PEMBlock.longestText else { throw .malformed("over \(PEMBlock.longestText) bytes") }
        let read = Self.read(bytes)
        guard let reference = read.reference else { throw .malformed("no SubjectPublicKeyInfo") }
        guard read.consumed == bytes.count else { throw .trailingData }
        try self.init(reference)
        guard subjectPublicKeyInfo == bytes else { throw .notCanonical }
    }

    /// Reads one PEM block `PUBLIC KEY`.
    package init(pem text: String) throws(KeyError) {
        try self.init(
            subjectPublicKeyInfo: PEMText.read(text, label: "PUBLIC KEY", limit: PEMBlock.longestText))
    }

    /// The public half of a key that OpenSSL holds.
    init(_ reference: KeyReference) throws(KeyError) {
        algorithm = try KeyPolicy.algorithm(of: reference)
        subjectPublicKeyInfo = reference.subjectPublicKeyInfo()
        identifier = KeyIdentifier(subjectPublicKeyInfo: subjectPublicKeyInfo)
        self.reference = reference
        digestVerification = algorithm == .ed25519 ? nil : DigestVerification(reference, algorithm)
        try Self.checkPoint(subjectPublicKeyInfo, of: algorithm)
    }

    /// Refuses points in a second spelling, and those of Ed25519 that are on no curve, or under which anybody can sign
    /// (CFG-97).
    private static func checkPoint(_ subjectPublicKeyInfo: [UInt8], of algorithm: KeyAlgorithm) throws(KeyError) {
        switch algorithm {
        case .ed25519:
            let point = subjectPublicKeyInfo.suffix(32)
            guard Ed25519Point.isCanonical(point) else { throw .notCanonical }
            guard Ed25519Point.isOnCurve(point) else { throw .malformed("it is no point of the curve") }
            guard !Ed25519Point.isOfSmallOrder(point) else { throw .smallOrder }
        case .ecdsaP256:
            guard hasUncompressedPoint(subjectPublicKeyInfo) else { throw .notCanonical }
        case .rsaPSS: break
        }
    }

    /// A P-256 point has three spellings (compressed, hybrid, uncompressed); only the last is in use.
    private static func hasUncompressedPoint(_ subjectPublicKeyInfo: [UInt8]) -> Bool {
        subjectPublicKeyInfo.count == 91 && subjectPublicKeyInfo[26] == 4
    }

    private static func read(_ bytes: [UInt8]) -> (reference: KeyReference?, consumed: Int) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let known = unsafe openSSL { unsafe Ed25519Encoding.publicKey(UnsafeRawBufferPointer(buffer)) }.value
            if let known = unsafe known { return (unsafe KeyReference(takingOwnership: known), bytes.count) }
            var cursor = buffer.baseAddress
            let key = unsafe openSSL { unsafe d2i_PUBKEY(nil, &cursor, buffer.count) }.value
            let consumed = unsafe cursor.map { unsafe $0 - (buffer.baseAddress ?? $0) } ?? 0
            return unsafe (key.map { unsafe KeyReference(takingOwnership: $0) }, consumed)
        }
    }
}

extension PublicKey: Equatable, Hashable {
    package static func == (left: PublicKey, right: PublicKey) -> Bool { left.identifier == right.identifier }

    package func hash(into hasher: inout Hasher) { hasher.combine(identifier) }
}

/// Policy for keys that may be loaded: the three kinds of KeyAlgorithm, RSA from 2048 to 8192 bits with an ordinary
/// exponent, and of all curves P-256 by its name.
enum KeyPolicy {
    static let rsaBits = 2048...8192
    static let generatedRSABits = 3072
    /// An exponent over this makes verifying several times as slow; no real key has one.
    static let longestExponentBits: Int32 = 32

    /// The key's algorithm.
    /// - Throws: the reason why the key is not used.
    static func algorithm(of reference: KeyReference) throws(KeyError) -> KeyAlgorithm {
        switch reference.withPointer({ unsafe EVP_PKEY_get_base_id($0) }) {
        case EVP_PKEY_ED25519: return .ed25519
        case EVP_PKEY_EC:
            try checkCurve(reference)
            return .ecdsaP256
        case EVP_PKEY_RSA:
            try checkRSA(reference)
            return .rsaPSS
        default: throw .unsupportedAlgorithm(typeName(of: reference))
        }
    }

    private static func checkCurve(_ reference: KeyReference) throws(KeyError) {
        var explicit: Int32 = 0
        let asked = reference.withPointer { key in
            openSSL { unsafe EVP_PKEY_get_int_param(key, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &explicit) }
        }
        guard asked.value == 1, explicit == 0 else { throw .explicitCurveParameters }
        let curve = groupName(of: reference)
        guard curve == "prime256v1" else { throw .unsupportedCurve(curve) }
    }

    private static func groupName(of reference: KeyReference) -> String {
        var name = [CChar](repeating: 0, count: 80)
        var count = 0
        let found = reference.withPointer { key in
            openSSL { unsafe EVP_PKEY_get_group_name(key, &name, name.count, &count) }
        }
        guard found.value == 1 else { return "unnamed" }
        return String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func checkRSA(_ reference: KeyReference) throws(KeyError) {
        let bits = Int(reference.withPointer { unsafe EVP_PKEY_get_bits($0) })
        guard bits >= rsaBits.lowerBound else { throw .rsaTooShort(bits: bits) }
        guard bits <= rsaBits.upperBound else { throw .rsaTooLong(bits: bits) }
        guard reference.withPointer({ unsafe hasOrdinaryExponent($0) }) else { throw .rsaExponent }
    }

    private static func hasOrdinaryExponent(_ key: OpaquePointer) -> Bool {
        openSSL {
            var exponent: OpaquePointer?
            defer { unsafe BN_free(exponent) }
            guard unsafe EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1 else { return false }
            // BN_get_word gives all ones for a number over 64 bits, which is odd and large: hence the second test.
            return unsafe BN_is_odd(exponent) == 1 && BN_get_word(exponent) >= 65537
                && BN_num_bits(exponent) <= longestExponentBits
        }.value
    }

    private static func typeName(of reference: KeyReference) -> String {
        reference.withPointer { key in
            guard let name = unsafe EVP_PKEY_get0_type_name(key) else { return "unknown" }
            return unsafe String(cString: name)
        }
    }
}

/// SHA-256 of a public key's SubjectPublicKeyInfo in DER form; compared as bytes. Devices are pinned by it and
/// signatures refer to it. It is always computed from the key at hand, never believed.
package struct KeyIdentifier: Sendable, Hashable {
    /// The 32 bytes.
    package let bytes: [UInt8]

    /// Bytes of a text that may be one, with room for blanks and dashes.
    private static let longestText = 256

    /// The identifier with exactly these 32 bytes; nil for any other count.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == SHA256.count else { return nil }
        self.bytes = Array(bytes)
    }

    /// The identifier written as 64 hexadecimal digits or as ``fingerprint`` (any case, with or without its groups);
    /// nil for anything else.
    package init?(text: String) {
        // Looked at first: comparing the characters of a long text may take long.
        guard text.utf8.count <= Self.longestText else { return nil }
        let digits = text.filter { $0 != "-" && $0 != " " }
        // Chosen by length: a fingerprint may consist of hexadecimal digits only.
        let isHexadecimal = digits.utf8.count == 2 * SHA256.count
        guard let bytes = isHexadecimal ? Hexadecimal.decode(digits) : Base32.decode(digits) else { return nil }
        self.init(bytes: bytes)
    }

    init(subjectPublicKeyInfo: [UInt8]) {
        bytes = SHA256.digest(subjectPublicKeyInfo)
    }

    /// 64 lower-case hexadecimal digits.
    package var hexadecimal: String { Hexadecimal.encode(bytes) }

    /// The form for people to compare (PAR-11): base32 in 13 groups of four. Nothing is cut: a shortened fingerprint
    /// can be searched for.
    package var fingerprint: String {
        let digits = Array(Base32.encode(bytes))
        return stride(from: 0, to: digits.count, by: 4).map { String(digits[$0..<$0 + 4]) }.joined(separator: "-")
    }

    /// The version-8 UUID made of this digest: a device's vendor identifier.
    package var derivedIdentifier: UniqueIdentifier? { UniqueIdentifier.derived(fromDigest: bytes) }
}

extension KeyIdentifier: Comparable {
    /// The order of the bytes, which is that of the hexadecimal texts.
    package static func < (one: Self, other: Self) -> Bool { one.bytes.lexicographicallyPrecedes(other.bytes) }
}

extension KeyIdentifier {
    /// All bytes at once: an array would hash each by itself.
    package func hash(into hasher: inout Hasher) {
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}

extension KeyIdentifier: CustomStringConvertible {
    package var description: String { hexadecimal }
}

/// Encoding of Ed25519 keys (RFC 8410): fixed bytes and then the key's own. Implemented here because OpenSSL collects
/// all its encoders and decoders each time, which is most of the cost of a daemon's start. OpenSSL reads or refuses
/// every other form.
enum Ed25519Encoding {
    private static let keyCount = 32
    /// SubjectPublicKeyInfo up to the key.
    private static let publicPrefix: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]
    /// PKCS#8, version 1 without attributes, up to the key.
    private static let privatePrefix: [UInt8] = [
        0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
    ]

    /// The SubjectPublicKeyInfo of an Ed25519 key; nil for other keys. Call inside `openSSL`.
    static func subjectPublicKeyInfo(of key: OpaquePointer) -> [UInt8]? {
        guard unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 else { return nil }
        var raw = [UInt8](repeating: 0, count: keyCount)
        var count = keyCount
        guard unsafe EVP_PKEY_get_raw_public_key(key, &raw, &count) == 1, count == keyCount else { return nil }
        return publicPrefix + raw
    }

    /// The key of such a SubjectPublicKeyInfo; nil for all other bytes. Call inside `openSSL`.
    static func publicKey(_ bytes: UnsafeRawBufferPointer) -> OpaquePointer? {
        guard let raw = unsafe key(in: bytes, after: publicPrefix) else { return nil }
        return unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, raw, keyCount)
    }

    /// The key of such a PKCS#8 structure; nil for all other bytes. Call inside `openSSL`.
    static func privateKey(_ bytes: UnsafeRawBufferPointer) -> OpaquePointer? {
        guard let raw = unsafe key(in: bytes, after: privatePrefix) else { return nil }
        return unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, raw, keyCount)
    }

    private static func key(in bytes: UnsafeRawBufferPointer, after prefix: [UInt8]) -> UnsafePointer<UInt8>? {
        guard bytes.count == prefix.count + keyCount, unsafe bytes.starts(with: prefix) else { return nil }
        return unsafe bytes.bindMemory(to: UInt8.self).baseAddress.map { unsafe $0 + prefix.count }
    }
}

/// A context for ECDSA or RSA-PSS (SHA-256, MGF1 with SHA-256, a salt of 32 bytes); any thread. It is set up once for
/// each key: doing so for each signature costs a third of an RSA verification itself.
@safe final class DigestVerification: Sendable {
    /// Made for the first signature: most keys of peers verify none. It may be used again and again, but not by two
    /// threads at once.
    private let context = unsafe Mutex<OpaquePointer?>(nil)
    private let key: KeyReference
    private let algorithm: KeyAlgorithm
    /// The longest signature in bytes: for RSA the modulus's length, which is each signature's.
    let signatureCount: Int

    init(_ key: KeyReference, _ algorithm: KeyAlgorithm) {
        (self.key, self.algorithm) = (key, algorithm)
        signatureCount = Int(key.withPointer { unsafe EVP_PKEY_get_size($0) })
    }

    deinit { unsafe context.withLock { unsafe EVP_PKEY_CTX_free($0) } }

    /// Whether the signature is the key's for the message with this digest.
    func isValid(_ signature: [UInt8], forDigest digest: [UInt8]) -> Bool {
        openSSL {
            unsafe context.withLock { context in
                if unsafe context == nil { unsafe context = key.withPointer(makeContext) }
                guard let context = unsafe context else { return false }
                return unsafe EVP_PKEY_verify(context, signature, signature.count, digest, digest.count) == 1
            }
        }.value
    }

    private func makeContext(for key: OpaquePointer) -> OpaquePointer? {
        let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        guard unsafe EVP_PKEY_verify_init(context) == 1, unsafe Signing.setPadding(context, for: algorithm),
            unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha256()) == 1
        else {
            unsafe EVP_PKEY_CTX_free(context)
            return nil
        }
        return unsafe context
    }
}

/// The reason why a key is refused when it is loaded. OpenSSL itself verifies with RSA-512 at its default settings:
/// this room enforces strength, once, so that no later code has to.
package enum KeyError: Error, Sendable, Equatable {
    /// Not a PEM block, not DER, or of a kind that is no key.
    case malformed(String)
    /// The PEM block has another label than the one expected.
    case unexpectedBlock(label: String, expected: String)
    /// Bytes after the key.
    case trailingData
    /// A second spelling of a key (compressed point, BER, missing parameters): its identifier would not be its own.
    case notCanonical
    /// The private key is encrypted and no passphrase was given; nothing here asks for one.
    case passphraseProtected
    /// The passphrase does not decrypt the private key, or the encrypted bytes are damaged.
    case wrongPassphrase
    /// The private key is encrypted in a way that OpenSSL does not read.
    case unsupportedEncryption(String)
    /// Neither Ed25519 nor ECDSA P-256 nor RSA.
    case unsupportedAlgorithm(String)
    /// An RSA modulus under 2048 bits.
    case rsaTooShort(bits: Int)
    /// An RSA modulus over 8192 bits: checking one signature would take too long.
    case rsaTooLong(bits: Int)
    /// An RSA public exponent under 65537, even, or over 32 bits.
    case rsaExponent
    /// An elliptic curve other than P-256.
    case unsupportedCurve(String)
    /// A curve given by its numbers instead of its name.
    case explicitCurveParameters
    /// An Ed25519 point of order 1 to 8: signatures under it need no secret.
    case smallOrder
    /// The private half does not belong to the public half.
    case inconsistentHalves
}

extension KeyError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let detail): "this is not a key that can be read: \(detail)"
        case .unexpectedBlock(let label, let expected):
            "expected a PEM block '\(expected)', found '\(label)'; convert a private key with 'openssl pkcs8 -topk8 "
                + "-nocrypt', a public one with 'openssl pkey -pubin'"
        case .trailingData: "there are bytes after the key; give exactly one key"
        case .notCanonical: "the key is not in its canonical DER form; rewrite it with 'openssl pkey'"
        case .passphraseProtected: "the private key is protected by a passphrase, and none was given"
        case .wrongPassphrase: "the passphrase does not decrypt the private key"
        case .unsupportedEncryption(let reason):
            "the private key's encryption is not read (\(reason)); encrypt it again with 'openssl pkcs8 -topk8'"
        case .unsupportedAlgorithm(let name): "a key of kind '\(name)' is not used; use Ed25519, P-256 or RSA"
        case .rsaTooShort(let bits): "an RSA key of \(bits) bits is too short; use at least 2048"
        case .rsaTooLong(let bits): "an RSA key of \(bits) bits is too long; use at most 8192"
        case .rsaExponent: "the RSA public exponent must be odd, at least 65537 and at most 32 bits long"
        case .unsupportedCurve(let name): "the curve '\(name)' is not used; use P-256 (prime256v1)"
        case .explicitCurveParameters: "the curve is given by its parameters; write the key with a named curve"
        case .smallOrder: "the Ed25519 key is a point of small order, under which anybody can sign; use another"
        case .inconsistentHalves: "the private key does not belong to its public key"
        }
    }
}
