// SHA-256 of what comes in parts and is too large to be held at once: a file on its way.

import CTandemOpenSSL

/// A running SHA-256; one thread at a time.
@safe package struct SHA256Stream: ~Copyable {
    private let context: OpaquePointer

    package init() {
        let made = unsafe openSSL { unsafe EVP_MD_CTX_new() }.value
        guard let made = unsafe made else {
            preconditionFailure("a digest's context is made as long as there is memory")
        }
        unsafe context = unsafe made
        restart()
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Takes the next bytes.
    package func add(_ bytes: UnsafeRawBufferPointer) {
        check(openSSL { unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 }.value)
    }

    /// The 32-byte digest of all bytes so far; then it begins anew.
    package func finish() -> [UInt8] {
        let digest = SHA256.output { unsafe EVP_DigestFinal_ex(context, $0, nil) == 1 }
        restart()
        return digest
    }

    private func restart() {
        let isReady = DigestAlgorithm.sha256.withPointer { algorithm in
            openSSL { unsafe EVP_DigestInit_ex2(context, algorithm, nil) == 1 }.value
        }
        check(isReady)
    }

    private func check(_ isDone: Bool) { precondition(isDone, "SHA-256 is part of every OpenSSL") }
}
