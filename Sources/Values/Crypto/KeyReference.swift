// The one owner of an OpenSSL key object. It is never changed after it was made, and OpenSSL's keys may be read on
// several threads, so values that hold it can be copied and sent freely.

import CTandemOpenSSL

/// An owned `EVP_PKEY`; freed with its last user.
@safe final class KeyReference: @unchecked Sendable {
    // @unchecked: publicly immutable; OpenSSL counts references atomically and only reads a key when using it.
    private let key: OpaquePointer

    /// Takes over the reference that the caller owns.
    init(takingOwnership key: OpaquePointer) { unsafe self.key = unsafe key }

    /// Lends the key for the length of the call.
    @safe func withPointer<Value>(_ body: (OpaquePointer) -> Value) -> Value { unsafe body(key) }

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
