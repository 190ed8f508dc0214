// Which keys are strong enough to be loaded, whoever sends them: the three kinds of KeyAlgorithm, RSA from 2048 to 8192
// bits with an ordinary exponent, and of all curves P-256 by its name.

import CTandemOpenSSL

enum KeyPolicy {
    static let rsaBits = 2048...8192
    static let generatedRSABits = 3072
    /// An exponent over this makes verifying as slow as signing; no real key has one.
    static let longestExponentBits: Int32 = 64

    /// The key's algorithm.
    /// - Throws: the reason why the key is not used.
    static func algorithm(of reference: KeyReference) throws(KeyError) -> KeyAlgorithm {
        switch reference.withPointer({ unsafe EVP_PKEY_get_base_id($0) }) {
        case EVP_PKEY_ED25519: return .ed25519
        case EVP_PKEY_EC:
            try checkCurve(reference)
            return .ecdsaP256
        case EVP_PKEY_RSA:
            try checkRSA(reference)
            return .rsaPSS
        default: throw .unsupportedAlgorithm(typeName(of: reference))
        }
    }

    private static func checkCurve(_ reference: KeyReference) throws(KeyError) {
        var explicit: Int32 = 0
        let asked = reference.withPointer { key in
            openSSL { unsafe EVP_PKEY_get_int_param(key, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &explicit) }
        }
        guard asked.value == 1, explicit == 0 else { throw .explicitCurveParameters }
        let curve = groupName(of: reference)
        guard curve == "prime256v1" else { throw .unsupportedCurve(curve) }
    }

    private static func groupName(of reference: KeyReference) -> String {
        var name = [CChar](repeating: 0, count: 80)
        var count = 0
        let found = reference.withPointer { key in
            openSSL { unsafe EVP_PKEY_get_group_name(key, &name, name.count, &count) }
        }
        guard found.value == 1 else { return "unnamed" }
        return String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func checkRSA(_ reference: KeyReference) throws(KeyError) {
        let bits = Int(reference.withPointer { unsafe EVP_PKEY_get_bits($0) })
        guard bits >= rsaBits.lowerBound else { throw .rsaTooShort(bits: bits) }
        guard bits <= rsaBits.upperBound else { throw .rsaTooLong(bits: bits) }
        guard reference.withPointer({ unsafe hasOrdinaryExponent($0) }) else { throw .rsaExponent }
    }

    private static func hasOrdinaryExponent(_ key: OpaquePointer) -> Bool {
        openSSL {
            var exponent: OpaquePointer?
            defer { unsafe BN_free(exponent) }
            guard unsafe EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1 else { return false }
            // BN_get_word gives all ones for a number over 64 bits, which is odd and large: hence the second test.
            return unsafe BN_is_odd(exponent) == 1 && BN_get_word(exponent) >= 65537
                && BN_num_bits(exponent) <= longestExponentBits
        }.value
    }

    private static func typeName(of reference: KeyReference) -> String {
        reference.withPointer { key in
            guard let name = unsafe EVP_PKEY_get0_type_name(key) else { return "unknown" }
            return unsafe String(cString: name)
        }
    }
}
