// Key files as commands read them: public halves from anywhere, private ones only from files closed to others.

import TandemCrypto

/// A PEM file with one key.
struct KeyFile {
    let path: String

    /// The algorithm that a person's word names.
    static func algorithm(_ word: String) throws(CommandFailure) -> KeyAlgorithm {
        switch word {
        case "ed25519": .ed25519
        case "p256": .ecdsaP256
        case "rsa": .rsaPSS
        default: throw .usage("--type '\(word)' is none of ed25519, p256, rsa")
        }
    }

    /// The public key in the file, or the public half of the private one.
    func publicHalf() throws -> PublicKey {
        let bytes = try LocalFile(path: path).read()
        if String(decoding: bytes.prefix(4096), as: UTF8.self).contains("PRIVATE KEY") {
            return try signing().publicKey
        }
        return try checked { () throws(KeyError) in try PublicKey(pem: String(decoding: bytes, as: UTF8.self)) }
    }

    /// The private key in the file, which must be closed to others.
    func signing() throws -> PrivateKey {
        var bytes = try LocalFile(path: path).readPrivate()
        let text = SecretBytes(taking: &bytes)
        return try checked { () throws(KeyError) in try PrivateKey(pem: text) }
    }

    static func describe(_ key: PublicKey, on console: Console) {
        console.print("algorithm    \(key.algorithm.rawValue)")
        console.print("key id       \(key.identifier.hexadecimal)")
        console.print("fingerprint  \(key.identifier.fingerprint)")
    }

    /// The key, or the key's error with the file's name before it.
    private func checked<Key>(_ key: () throws(KeyError) -> Key) throws(CommandFailure) -> Key {
        do throws(KeyError) { return try key() } catch { throw .refused("\(path): \(error)") }
    }
}
