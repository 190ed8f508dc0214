// `keys`: signing keys as two files, the private half readable by its owner only, the public half for apps and daemons.
// No file is overwritten.

import TandemControl
import TandemCrypto
import TandemFiles
import TandemPropertyList
import TandemSignedConfiguration

extension Subcommand {
    static let keysNew = Subcommand(
        path: ["keys", "new"], summary: "make a signing key: FILE (private, mode 0600) and FILE.pub",
        options: [
            .out.required,
            .valued("type", "TYPE", "ed25519 (default), p256 or rsa"),
            .flag("encrypt", "protect the private key with a passphrase (PKCS#8); the options below imply it"),
            .passphraseDescriptor, .passphraseFile,
        ],
        notes: "Keep FILE offline if you can. FILE.pub is what 'tandem trust add' and host apps get.",
        examples: [
            "keys new --out signing.key", "keys new --encrypt --out root-1.key", "keys new --type rsa --out rsa.key",
        ]
    ) { arguments, console in
        let file = LocalFile(path: try arguments.required("out"))
        let publicFile = LocalFile(path: file.path + ".pub")
        let algorithm = try KeyFile.algorithm(arguments.value("type") ?? "ed25519")
        if publicFile.exists {
            throw CommandFailure.refused("\(publicFile.path) exists already; it is not overwritten")
        }
        // A passphrase that is given is meant to protect the key, also without --encrypt.
        let isEncrypted = ["encrypt", "passphrase-fd", "passphrase-file"].contains { arguments.has($0) }
        let passphrase = isEncrypted ? try Passphrases(arguments).newPassphrase(for: file.path) : nil
        let key = PrivateKey.generate(algorithm)
        let text = passphrase.map { key.encryptedPEM(passphrase: $0) } ?? key.pem.exposed
        try file.create(text, mode: 0o600)
        try publicFile.create(Array(key.publicKey.pem.utf8), mode: 0o644)
        console.print("private key  \(file.path)")
        console.print("public key   \(publicFile.path)")
        KeyFile.describe(key.publicKey, on: console)
    }

    static let keysShow = Subcommand(
        path: ["keys", "show"], summary: "show a key file's algorithm, identifier and fingerprint",
        operands: [.required("FILE")], options: [.json, .passphraseDescriptor, .passphraseFile],
        notes: "FILE may be a public key, or a private one of mode 0600; its private half is never shown.",
        examples: ["keys show signing.key.pub", "keys show --json signing.key"]
    ) { arguments, console in
        let key = try KeyFile(path: arguments.operands[0]).publicHalf(try Passphrases(arguments))
        guard arguments.has("json") else { return KeyFile.describe(key, on: console) }
        console.print(json: [
            "algorithm": .string(key.algorithm.rawValue), "keyid": .string(key.identifier.hexadecimal),
            "fingerprint": .string(key.identifier.fingerprint),
        ])
    }
}

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
    /// - Parameter passphrases: nil to refuse an encrypted key, where a public one is as good.
    func publicHalf(_ passphrases: Passphrases? = nil) throws -> PublicKey {
        // It may turn out to be a private key: no copy of it stays in freed memory.
        var bytes = try LocalFile(path: path).read()
        let text = SecretBytes(taking: &bytes)
        if text.withBytes({ $0.prefix(4096).contains("PRIVATE KEY".utf8) }) {
            return try signing(passphrases).publicKey
        }
        return try checked { () throws(KeyError) in
            try PublicKey(pem: text.withBytes { String(decoding: $0, as: UTF8.self) })
        }
    }

    /// The private key in the file, which must be closed to others, or on a token.
    func signing(_ passphrases: Passphrases? = nil) throws -> PrivateKey {
        if KeyStore.isNamed(by: path) { return try onToken(passphrases) }
        if isPublic { throw CommandFailure.refused("\(path) is a public key; name its private one, without .pub") }
        var bytes = try readPrivate()
        let text = SecretBytes(taking: &bytes)
        let passphrase = PrivateKey.isEncrypted(pem: text) ? try passphrases?.passphrase(of: path) : nil
        return try checked { () throws(KeyError) in try PrivateKey(pem: text, passphrase: passphrase) }
    }

    /// The bytes of a file that is closed to others. Another kind of file, such as a configuration, is not asked to be.
    private func readPrivate() throws -> [UInt8] {
        do throws(FileError) { return try LocalFile(path: path).readPrivate() } catch {
            guard case .loosePermissions = error, !contains("PRIVATE KEY") else { throw error }
            throw CommandFailure.refused("\(path) is no private key")
        }
    }

    private var isPublic: Bool { contains("BEGIN PUBLIC KEY") }

    /// Whether the file can be read and has these words near its beginning. No copy of it stays in freed memory.
    private func contains(_ words: String) -> Bool {
        guard var bytes = try? LocalFile(path: path).read() else { return false }
        let text = SecretBytes(taking: &bytes)
        return text.withBytes { $0.prefix(4096).contains(words.utf8) }
    }

    /// Writes what keys have signed.
    static func create(_ envelope: [UInt8], as file: LocalFile) throws {
        guard try UnverifiedEnvelope(envelope).signatures.allSatisfy({ !$0.bytes.isEmpty }) else {
            throw CommandFailure.refused("a token did not sign; nothing is written")
        }
        try file.create(envelope, mode: 0o644)
    }

    private func onToken(_ passphrases: Passphrases?) throws(CommandFailure) -> PrivateKey {
        guard !path.contains("pin-value=") else {
            throw .usage("a PIN in an argument can be seen by others; use --passphrase-file or --passphrase-fd")
        }
        // Several objects of one token ask again.
        var pin: SecretBytes?
        do throws(KeyStoreError) {
            return try PrivateKey(uri: path) { [path] in
                pin = pin ?? (try? passphrases?.passphrase(of: path))
                return pin
            }
        } catch {
            throw .refused("\(path): \(error)")
        }
    }

    /// The private keys that `--key` names, each once.
    static func signing(_ arguments: Arguments) throws -> [PrivateKey] {
        let passphrases = try Passphrases(arguments)
        let keys = try arguments.all("key").map { try KeyFile(path: $0).signing(passphrases) }
        guard Set(keys.map(\.publicKey)).count == keys.count else {
            throw CommandFailure.usage("--key names one key twice; it would count once")
        }
        return keys
    }

    static func describe(_ key: PublicKey, on console: Console) {
        console.print("algorithm    \(key.algorithm.rawValue)")
        console.print("key id       \(key.identifier.hexadecimal)")
        console.print("fingerprint  \(key.identifier.fingerprint)")
    }

    /// The key, or the key's error after the file's name, and after the rejection's where the key itself is refused.
    private func checked<Key>(_ key: () throws(KeyError) -> Key) throws(CommandFailure) -> Key {
        do throws(KeyError) { return try key() } catch {
            let rejection = Rejection(error)
            throw .refused("\(path): \(rejection == .noKey ? "" : "\(rejection): ")\(error)")
        }
    }
}
