// SHA-256 and its keyed form. Digests name keys, configurations and files; HMACs prove a join secret. Verification of
// an HMAC is a function here, so that no caller compares codes with `==`.

import CTandemOpenSSL
// Glibc: the kernel's random bytes.
import Glibc

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The digest's length in bytes.
    package static var count: Int { 32 }

    /// The 32-byte digest of the bytes.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        output { result in
            DigestAlgorithm.sha256.withPointer { unsafe EVP_Digest(bytes, bytes.count, result, nil, $0, nil) == 1 }
        }
    }

    @safe static func output(_ operation: (UnsafeMutablePointer<UInt8>?) -> Bool) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: count)
        let done = unsafe result.withUnsafeMutableBufferPointer { buffer in
            openSSL { unsafe operation(buffer.baseAddress) }.value
        }
        precondition(done, "SHA-256 is part of every OpenSSL")
        return result
    }
}

/// HMAC-SHA-256 (RFC 2104).
package enum HMACSHA256 {
    /// The 32-byte authentication code of the message.
    package static func code(for message: [UInt8], key: SecretBytes) -> [UInt8] {
        key.withBytes { key in
            unsafe message.withUnsafeBufferPointer { message in
                SHA256.output { result in
                    DigestAlgorithm.sha256.withPointer {
                        unsafe HMAC(
                            $0, key.baseAddress, Int32(clamping: key.count), message.baseAddress, message.count,
                            result, nil) != nil
                    }
                }
            }
        }
    }

    /// Whether this is the message's code, compared in constant time.
    package static func isValid(_ code: [UInt8], for message: [UInt8], key: SecretBytes) -> Bool {
        isEqualInConstantTime(code, self.code(for: message, key: key))
    }
}

/// A running SHA-256 of parts, for a file too large for memory; one thread at a time.
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

    /// The 32-byte digest of all bytes so far; the next byte begins a new digest.
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

/// A fetched `EVP_MD`. OpenSSL's `EVP_sha256()` is only a name: each use of it searches the providers again, which
/// costs as much as hashing some hundred bytes.
///
/// `@unchecked`: immutable. OpenSSL only reads a fetched algorithm, so any thread may use it.
@safe final class DigestAlgorithm: @unchecked Sendable {
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

/// Whether two byte strings are equal, in a time that depends on their lengths only: for proofs and codes that a peer
/// may guess at. The length is public in every use here.
package func isEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    unsafe left.withUnsafeBytes { first in
        unsafe right.withUnsafeBytes { second in unsafe isEqualInConstantTime(first, second) }
    }
}

func isEqualInConstantTime(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count else { return false }
    guard let first = left.baseAddress, let second = right.baseAddress else { return true }
    return unsafe CRYPTO_memcmp(first, second, left.count) == 0
}

/// Unpredictable random bytes from the kernel (`getrandom`). OpenSSL's generator takes its seed from there, too, and
/// needs a megabyte of memory to begin. Without random bytes the process ends: a weak key would be worse.
package enum SecureRandom {
    /// This many random bytes. May be called on any thread.
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition(count >= 0, "a count of random bytes is not negative")
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            unsafe fill(UnsafeMutableRawBufferPointer(buffer))
            initializedCount = count
        }
    }

    static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let start = buffer.baseAddress else { return }
        unsafe arc4random_buf(start, buffer.count)
    }
}
