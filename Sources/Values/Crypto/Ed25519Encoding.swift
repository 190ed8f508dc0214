// Ed25519 keys have one encoding each way (RFC 8410): fixed bytes and then the key's own. Read and written here,
// because OpenSSL first collects all encoders and decoders that it has, each time, which is most of what a daemon's
// start costs. Whatever does not look exactly like this is OpenSSL's to read or refuse.

import CTandemOpenSSL

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
