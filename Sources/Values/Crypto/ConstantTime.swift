// Equality that takes the same time wherever the first difference lies, for proofs and codes that a peer may guess at.
// Only the length, which is public in every use here, can be learnt from the time taken.

import CTandemOpenSSL

/// Whether two byte strings are equal, in a time that depends on their lengths only.
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
