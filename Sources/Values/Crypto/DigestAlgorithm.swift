// A digest algorithm that was looked up once. OpenSSL's constant `EVP_sha256()` is only a name: each use of it searches
// the providers anew, which costs as much as hashing some hundred bytes.

import CTandemOpenSSL

/// A fetched `EVP_MD`; any thread.
@safe final class DigestAlgorithm: @unchecked Sendable {
    // @unchecked: immutable; OpenSSL only reads a fetched algorithm.
    private let algorithm: OpaquePointer

    static let sha256 = DigestAlgorithm(name: "SHA256")

    private init(name: String) {
        let fetched = unsafe openSSL { unsafe EVP_MD_fetch(nil, name, nil) }.value
        guard let fetched = unsafe fetched else { preconditionFailure("SHA-256 is part of every OpenSSL") }
        unsafe algorithm = unsafe fetched
    }

    /// Lends the algorithm for the length of the call.
    @safe func withPointer<Value>(_ body: (OpaquePointer) -> Value) -> Value { unsafe body(algorithm) }

    deinit { unsafe EVP_MD_free(algorithm) }
}
