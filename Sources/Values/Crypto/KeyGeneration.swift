// Making fresh keys: Ed25519, P-256 by name, RSA with 3072 bits and the exponent 65537.

import CTandemOpenSSL

enum KeyGeneration {
    /// A fresh key; nil only if OpenSSL cannot make one of this kind.
    static func key(_ algorithm: KeyAlgorithm) -> KeyReference? {
        openSSL {
            let context = unsafe EVP_PKEY_CTX_new_id(type(of: algorithm), nil)
            defer { unsafe EVP_PKEY_CTX_free(context) }
            var key: OpaquePointer?
            guard unsafe EVP_PKEY_keygen_init(context) == 1, unsafe prepare(context, for: algorithm),
                unsafe EVP_PKEY_keygen(context, &key) == 1, let made = unsafe key
            else { return nil }
            return unsafe KeyReference(takingOwnership: made)
        }.value
    }

    private static func type(of algorithm: KeyAlgorithm) -> Int32 {
        switch algorithm {
        case .ed25519: EVP_PKEY_ED25519
        case .ecdsaP256: EVP_PKEY_EC
        case .rsaPSS: EVP_PKEY_RSA
        }
    }

    private static func prepare(_ context: OpaquePointer?, for algorithm: KeyAlgorithm) -> Bool {
        switch algorithm {
        case .ed25519: true
        case .ecdsaP256: unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1
        case .rsaPSS: unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(KeyPolicy.generatedRSABits)) == 1
        }
    }
}
