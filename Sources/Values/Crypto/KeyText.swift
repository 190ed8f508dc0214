// PEM text of keys, as the `openssl` command line reads and writes it: public keys, private keys in clear, and private
// keys encrypted with a passphrase. Exactly one block, nothing around it.

import CTandemOpenSSL
import TandemBase

extension PublicKey {
    /// The PEM block `PUBLIC KEY`, ending in a newline.
    package var pem: String {
        let text = KeyText.written { sink in
            reference.withPointer { key in unsafe PEM_write_bio_PUBKEY(sink, key) == 1 }
        }
        return text.withBytes { text in unsafe String(decoding: text, as: UTF8.self) }
    }
}

extension PrivateKey {
    /// The PEM block `PRIVATE KEY` (PKCS#8 in clear), ending in a newline: for a file of mode 0600 and nothing else.
    package var pem: SecretBytes {
        KeyText.written { sink in
            reference.withPointer { key in
                unsafe PEM_write_bio_PKCS8PrivateKey(sink, key, nil, nil, 0, nil, nil) == 1
            }
        }
    }
}

private enum KeyText {
    @safe static func written(_ operation: (OpaquePointer?) -> Bool) -> SecretBytes {
        let text: SecretBytes? = openSSL {
            // The secure kind of memory BIO clears what it held.
            let sink = unsafe BIO_new(BIO_s_secmem())
            defer { unsafe BIO_free(sink) }
            guard unsafe operation(sink) else { return nil }
            var bytes: UnsafeMutablePointer<CChar>?
            let count = unsafe CTandemOpenSSL_BIO_get_mem_data(sink, &bytes)
            return unsafe SecretBytes(copying: UnsafeRawBufferPointer(start: bytes, count: count))
        }.value
        guard let text else { preconditionFailure("a loaded key can be written") }
        return text
    }
}

extension PrivateKey {
    /// The PEM block `ENCRYPTED PRIVATE KEY` (PKCS#8, AES-256-CBC under PBKDF2 with HMAC-SHA256), ending in a newline.
    package func encryptedPEM(passphrase: SecretBytes) -> [UInt8] {
        let text = reference.withPointer { key in unsafe EncryptedKeyText.text(of: key, passphrase: passphrase) }
        guard let text else { preconditionFailure("a loaded key can be encrypted") }
        return text.exposed
    }
}

/// Private keys under a passphrase. A single guess costs 600,000 rounds of HMAC.
enum EncryptedKeyText {
    static let label = "ENCRYPTED PRIVATE KEY"
    /// Rounds of PBKDF2: half a second of a thief's core for each guess.
    private static let rounds: Int32 = 600_000
    private static let saltCount: Int32 = 16

    static func text(of key: OpaquePointer, passphrase: SecretBytes) -> SecretBytes? {
        guard let encrypted = unsafe encrypted(key, passphrase) else { return nil }
        defer { unsafe X509_SIG_free(encrypted) }
        return KeyText.written { sink in unsafe PEM_write_bio_PKCS8(sink, encrypted) == 1 }
    }

    private static func encrypted(_ key: OpaquePointer, _ passphrase: SecretBytes) -> OpaquePointer? {
        unsafe openSSL {
            let information = unsafe EVP_PKEY2PKCS8(key)
            defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
            let method = unsafe PKCS5_pbe2_set_iv(
                EVP_aes_256_cbc(), rounds, nil, saltCount, nil, NID_hmacWithSHA256)
            guard let information = unsafe information, let method = unsafe method else { return nil }
            let made = passphrase.withBytes { bytes in
                unsafe PKCS8_set0_pbe(
                    bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count), information, method)
            }
            // The method belongs to the result from here on.
            if unsafe made == nil { unsafe X509_ALGOR_free(method) }
            return unsafe made
        }.value
    }

    /// The key in the block's bytes.
    static func decrypt(_ contents: SecretBytes, with passphrase: SecretBytes) throws(KeyError) -> KeyReference {
        try contents.withBytes { unsafe decrypted($0, passphrase) }.get()
    }

    private static func decrypted(
        _ bytes: UnsafeRawBufferPointer, _ passphrase: SecretBytes
    ) -> Result<KeyReference, KeyError> {
        let (result, faults) = openSSL { () -> Result<KeyReference, KeyError> in
            let start = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
            var cursor = unsafe start
            let block = unsafe d2i_X509_SIG(nil, &cursor, bytes.count)
            defer { unsafe X509_SIG_free(block) }
            guard let block = unsafe block, let start = unsafe start, let cursor = unsafe cursor else {
                return .failure(.malformed("no encrypted PKCS#8 private key"))
            }
            guard unsafe cursor - start == bytes.count else { return .failure(.trailingData) }
            return unsafe key(in: block, passphrase)
        }
        // A wrong passphrase is a fault of the cipher's last block. EVP's own faults come before that: it has no such
        // cipher or derivation, and no passphrase helps.
        let reasons = faults.reasons(in: ERR_LIB_EVP)
        guard case .failure(.wrongPassphrase) = result, reasons.contains(where: { $0 != EVP_R_BAD_DECRYPT }) else {
            return result
        }
        return .failure(.unsupportedEncryption(faults.text))
    }

    private static func key(in block: OpaquePointer, _ passphrase: SecretBytes) -> Result<KeyReference, KeyError> {
        passphrase.withBytes { bytes in
            let information = unsafe PKCS8_decrypt(
                block, bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count))
            defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
            guard let information = unsafe information else { return .failure(.wrongPassphrase) }
            guard let key = unsafe EVP_PKCS82PKEY(information) else {
                return .failure(.malformed("no PKCS#8 private key of a known kind"))
            }
            return .success(unsafe KeyReference(takingOwnership: key))
        }
    }
}

/// PEM blocks for bytes that people carry as text: a public key, or a key set as a trust anchor.
package enum PEMText {
    /// One block with this label, ending in a newline.
    package static func write(_ bytes: [UInt8], label: String) -> String {
        KeyText.written { sink in unsafe PEM_write_bio(sink, label, "", bytes, bytes.count) > 0 }
            .withBytes { text in unsafe String(decoding: text, as: UTF8.self) }
    }

    /// The bytes of the one block with this label.
    /// - Parameter limit: bytes of text that are looked at.
    package static func read(_ text: String, label: String, limit: Int) throws(KeyError) -> [UInt8] {
        let block = try PEMBlock(SecretBytes(copying: text.utf8), limit: limit)
        guard block.label == label, !block.hasHeaders else {
            throw .unexpectedBlock(label: block.label, expected: label)
        }
        return block.contents.exposed
    }
}

/// One decoded PEM block, with nothing around it but white space; its contents may be secret. OpenSSL's own reader
/// skips anything before a block and ignores anything after it, so that one file could mean two things.
struct PEMBlock {
    let label: String
    let contents: SecretBytes
    /// Whether the block has header lines, which in practice mean a passphrase.
    let hasHeaders: Bool
}

extension PEMBlock {
    /// The largest text that is looked at: an 8192-bit private key takes 6.4 KiB.
    static let longestText = 16384

    /// - Parameter limit: bytes of text that are looked at.
    init(_ text: SecretBytes, limit: Int = longestText) throws(KeyError) {
        guard text.count <= limit else { throw .malformed("over \(limit) bytes") }
        let begins = text.withBytes { unsafe $0.drop(while: Self.isSpace).starts(with: "-----BEGIN ".utf8) }
        guard begins else {
            throw .malformed(
                "no line '-----BEGIN ...' at its start; 'openssl pkey -inform DER -in FILE' converts a key in DER form, "
                    + "with -pubin -pubout a public one")
        }
        guard let block = text.withBytes({ unsafe Self.read($0) }) else {
            throw .malformed("the PEM block cannot be decoded")
        }
        guard block.isAlone else { throw .trailingData }
        guard block.block.hasHeaders || text.withBytes({ unsafe Self.isBase64($0) }) else {
            throw .malformed("the PEM block has something else than base64")
        }
        self = block.block
    }

    private static func read(_ text: UnsafeRawBufferPointer) -> (block: PEMBlock, isAlone: Bool)? {
        openSSL {
            let source = unsafe BIO_new_mem_buf(text.baseAddress, Int32(text.count))
            defer { unsafe BIO_free(source) }
            var label: UnsafeMutablePointer<CChar>?
            var headers: UnsafeMutablePointer<CChar>?
            var bytes: UnsafeMutablePointer<UInt8>?
            var count = 0
            guard unsafe PEM_read_bio(source, &label, &headers, &bytes, &count) == 1 else { return nil }
            defer {
                unsafe CTandemOpenSSL_free(label)
                unsafe CTandemOpenSSL_free(headers)
                unsafe CTandemOpenSSL_clear_free(bytes, count)
            }
            guard let label = unsafe label, let headers = unsafe headers else { return nil }
            let contents = unsafe SecretBytes(copying: UnsafeBufferPointer(start: bytes, count: count))
            let block = unsafe PEMBlock(label: String(cString: label), contents: contents, hasHeaders: headers[0] != 0)
            return (block, unsafe text.suffix(Int(BIO_ctrl_pending(source))).allSatisfy(isSpace))
        }.value
    }

    /// Whether only base64 is between the first line and the line that ends the block. OpenSSL takes a '-' for the end
    /// of the base64 and skips what follows, which could be the code of a program that quotes the text.
    private static func isBase64(_ text: UnsafeRawBufferPointer) -> Bool {
        let newline = UInt8(ascii: "\n")
        let lines = unsafe text.drop(while: isSpace).drop { $0 != newline }
        guard let end = unsafe lines.firstIndex(of: UInt8(ascii: "-")), unsafe end > lines.startIndex else {
            return false
        }
        return unsafe lines[..<end].allSatisfy(isBase64) && lines[end - 1] == newline
            && lines[end...].starts(with: "-----END ".utf8)
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "+/=\n\r".utf8.contains(byte)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { "\n\r ".utf8.contains(byte) }
}
