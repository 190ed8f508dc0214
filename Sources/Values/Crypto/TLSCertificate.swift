// The self-signed certificate in which a device shows its key: TLS 1.3 in OpenSSL 3.0 knows no raw public keys, so the
// key travels in the smallest certificate there is. Nothing in it is ever believed but the key: its dates span all
// time, its name says nothing, and no clock is read to make it.

import CTandemOpenSSL

enum TLSCertificate {
    /// An owned X509 object for the key, signed by itself; nil only if OpenSSL is out of memory. Call inside `openSSL`.
    static func make(for key: OpaquePointer, algorithm: KeyAlgorithm) -> OpaquePointer? {
        guard let certificate = unsafe X509_new() else { return nil }
        let digest = algorithm == .ed25519 ? nil : unsafe EVP_sha256()
        guard unsafe describe(certificate), unsafe X509_set_pubkey(certificate, key) == 1,
            unsafe X509_sign(certificate, key, digest) > 0
        else {
            unsafe X509_free(certificate)
            return nil
        }
        return unsafe certificate
    }

    private static func describe(_ certificate: OpaquePointer) -> Bool {
        let version3 = 2
        guard unsafe X509_set_version(certificate, version3) == 1,
            unsafe ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1,
            unsafe ASN1_TIME_set_string(X509_getm_notBefore(certificate), "19700101000000Z") == 1,
            unsafe ASN1_TIME_set_string(X509_getm_notAfter(certificate), "99991231235959Z") == 1
        else { return false }
        let name = unsafe X509_get_subject_name(certificate)
        return unsafe X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, "tandem", -1, -1, 0) == 1
            && X509_set_issuer_name(certificate, name) == 1
    }

    /// The SubjectPublicKeyInfo of a peer's certificate, exactly as it was sent. Call inside `openSSL`.
    static func subjectPublicKeyInfo(of certificate: OpaquePointer) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes)
        defer { unsafe CTandemOpenSSL_free(bytes) }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: max(0, Int(count))))
    }
}
