// Private keys that are in no file: on a token, behind a URI that OpenSSL's STORE opens. The private half stays where
// it is; the public half is read as text and judged like any other, so that a token's software decides nothing.

import CTandemOpenSSL

/// The reason why a key behind a URI cannot be used.
package enum KeyStoreError: Error, Sendable, Equatable {
    /// OpenSSL has no provider for the URI's scheme.
    case noProvider(scheme: String)
    /// The provider does not open the URI, or asks for another PIN.
    case unopened(String)
    /// The URI names no private key.
    case noKey
    /// The URI names several private keys.
    case severalKeys
    /// The key is not used (CFG-16).
    case key(KeyError)
}

extension KeyStoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noProvider(let scheme):
            "OpenSSL has no provider '\(scheme)'; install Debian's 'pkcs11-provider', and name the token's "
                + "module in PKCS11_PROVIDER_MODULE"
        case .unopened(let reason): "the provider does not open it: \(reason)"
        case .noKey: "it names no private key; add 'type=private' and the key's 'object' or 'id'"
        case .severalKeys: "it names several private keys; add the key's 'object' or 'id'"
        case .key(let error): "\(error)"
        }
    }
}

/// Keys behind URIs of one scheme.
package enum KeyStore {
    /// The scheme of tokens (RFC 7512), and the name of its provider.
    package static let scheme = "pkcs11"

    /// Whether the text is meant as such a URI.
    package static func isNamed(by text: String) -> Bool { text.hasPrefix(scheme + ":") }

    /// Makes the scheme known to OpenSSL, whose configuration this process does not read.
    static func prepare(_ scheme: String) throws(KeyStoreError) {
        // The provider that OpenSSL has by itself stays beside it.
        guard openSSL({ unsafe OSSL_PROVIDER_try_load(nil, scheme, 1) != nil }).value else {
            throw .noProvider(scheme: scheme)
        }
    }
}

extension PrivateKey {
    /// The one private key behind a URI.
    /// - Parameter passphrase: the PIN, asked for if the key needs one; nil refuses.
    package init(uri: String, passphrase: @escaping () -> SecretBytes?) throws(KeyStoreError) {
        if KeyStore.isNamed(by: uri) { try KeyStore.prepare(KeyStore.scheme) }
        let keys = try StoreReader(passphrase).keys(at: uri)
        guard let key = keys.first else { throw .noKey }
        guard keys.count == 1 else { throw .severalKeys }
        do throws(KeyError) { try self.init(stored: key) } catch { throw .key(error) }
    }
}

/// Reads a store once, and answers its question for a PIN.
@safe private final class StoreReader {
    private let passphrase: () -> SecretBytes?

    init(_ passphrase: @escaping () -> SecretBytes?) { self.passphrase = passphrase }

    /// At most two of the private keys behind a URI.
    func keys(at uri: String) throws(KeyStoreError) -> [KeyReference] {
        let (keys, faults) = openSSL { () -> [KeyReference]? in
            let method = unsafe UI_UTIL_wrap_read_pem_callback(answerStore, 0)
            defer { unsafe UI_destroy_method(method) }
            let own = unsafe Unmanaged.passUnretained(self).toOpaque()
            guard let store = unsafe OSSL_STORE_open(uri, method, own, nil, nil) else { return nil }
            defer { unsafe OSSL_STORE_close(store) }
            guard unsafe OSSL_STORE_expect(store, OSSL_STORE_INFO_PKEY) == 1 else { return nil }
            return unsafe Self.keys(in: store)
        }
        guard let keys, !keys.isEmpty || faults.codes.isEmpty else { throw .unopened(faults.text) }
        return keys
    }

    private static func keys(in store: OpaquePointer) -> [KeyReference] {
        var keys: [KeyReference] = []
        while keys.count < 2, unsafe OSSL_STORE_eof(store) == 0 {
            guard let entry = unsafe OSSL_STORE_load(store) else { continue }
            defer { unsafe OSSL_STORE_INFO_free(entry) }
            guard unsafe OSSL_STORE_INFO_get_type(entry) == OSSL_STORE_INFO_PKEY,
                let key = unsafe OSSL_STORE_INFO_get1_PKEY(entry)
            else { continue }
            keys.append(unsafe KeyReference(takingOwnership: key))
        }
        return keys
    }

    /// Writes the PIN where OpenSSL wants it; its length, or -1 for none.
    func write(to buffer: UnsafeMutablePointer<CChar>, _ size: Int32) -> Int32 {
        guard let secret = passphrase(), secret.count <= Int(size) else { return -1 }
        secret.withBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe UnsafeMutableRawPointer(buffer).copyMemory(from: start, byteCount: bytes.count)
        }
        return Int32(secret.count)
    }
}

/// OpenSSL's question for a PIN. It comes inside the call that reads, on the caller's thread.
private func answerStore(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _: Int32, _ reader: UnsafeMutableRawPointer?
) -> Int32 {
    guard let buffer = unsafe buffer, let reader = unsafe reader else { return -1 }
    return unsafe Unmanaged<StoreReader>.fromOpaque(reader).takeUnretainedValue().write(to: buffer, size)
}
