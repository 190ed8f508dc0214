// SHA-256 and its keyed form. Digests name keys, configurations and files; HMACs prove a join secret. Verification of
// an HMAC is a function here, so that nobody compares codes with `==`.

import CTandemOpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The digest's length in bytes.
    package static var count: Int { 32 }

    /// The 32-byte digest of the bytes.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        unsafe bytes.withUnsafeBytes { unsafe digest($0) }
    }

    /// The 32-byte digest of a part of an array.
    package static func digest(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        unsafe bytes.withUnsafeBytes { unsafe digest($0) }
    }

    private static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        output { result in
            DigestAlgorithm.sha256.withPointer {
                unsafe EVP_Digest(bytes.baseAddress, bytes.count, result, nil, $0, nil) == 1
            }
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
