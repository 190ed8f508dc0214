// Keys as PEM text: SubjectPublicKeyInfo for the public half, PKCS#8 in clear for the private one. What is written here
// is what the `openssl` command line reads and writes.

import CTandemOpenSSL

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
    /// What the operation writes to a memory BIO.
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
