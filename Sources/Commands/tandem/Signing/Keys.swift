// Keys of the people who sign configuration. A new key is two files: the private half, readable by its owner only, and
// the public half, which goes into apps and daemons. Nothing is overwritten and nothing asks for a passphrase.

import TandemCrypto
import TandemPropertyList

extension Subcommand {
    static let keysNew = Subcommand(
        path: ["keys", "new"], summary: "make a signing key: FILE (private, mode 0600) and FILE.pub",
        options: [
            .valued("out", "FILE", "where to write; existing files are never overwritten").required,
            .valued("type", "TYPE", "ed25519 (default), p256 or rsa"),
        ],
        notes: "Keep FILE offline if you can. FILE.pub is what 'tandem trust add' and host apps get.",
        examples: ["keys new --out signing.key", "keys new --type rsa --out signing-rsa.key"]
    ) { arguments, console in
        let file = LocalFile(path: try arguments.required("out"))
        let publicFile = LocalFile(path: file.path + ".pub")
        let algorithm = try KeyFile.algorithm(arguments.value("type") ?? "ed25519")
        if publicFile.exists {
            throw CommandFailure.refused("\(publicFile.path) exists already; it is not overwritten")
        }
        let key = PrivateKey.generate(algorithm)
        try file.create(key.pem.exposed, mode: 0o600)
        try publicFile.create(Array(key.publicKey.pem.utf8), mode: 0o644)
        console.print("private key  \(file.path)")
        console.print("public key   \(publicFile.path)")
        KeyFile.describe(key.publicKey, on: console)
    }

    static let keysShow = Subcommand(
        path: ["keys", "show"], summary: "show a key file's algorithm, identifier and fingerprint",
        operands: [.required("FILE")], options: [.json],
        notes: "FILE may be a public key, or a private one of mode 0600; its private half is never shown.",
        examples: ["keys show signing.key.pub", "keys show --json signing.key"]
    ) { arguments, console in
        let key = try KeyFile(path: arguments.operands[0]).publicHalf()
        guard arguments.has("json") else { return KeyFile.describe(key, on: console) }
        console.print(json: [
            "algorithm": .string(key.algorithm.rawValue), "keyid": .string(key.identifier.hexadecimal),
            "fingerprint": .string(key.identifier.fingerprint),
        ])
    }
}
