// Key material and signed statements of the suite, made from the text of Protocol alone: a daemon is not judged by
// envelopes of its own signer. Each key follows from its name, so that every run has the same ones.

import TandemCrypto
import TandemPropertyList

/// A person who signs configuration, with an Ed25519 key.
struct Signer: Sendable {
    private let key: PrivateKey

    /// The one whom the apps of cases trust.
    static let trusted = Signer("trusted")
    /// The one who follows in a rotation.
    static let successor = Signer("successor")
    /// The one who changes the keys of the others.
    static let root = Signer("root")
    /// One whom nobody trusts.
    static let stranger = Signer("stranger")

    init(_ name: String) {
        // PKCS#8 of an Ed25519 seed (RFC 8410).
        let head: [UInt8] = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32]
        let seed = SHA256.digest(Array("org.example.conformance, signer \(name)".utf8))
        let text = PEMText.write(head + seed, label: "PRIVATE KEY")
        do { key = try PrivateKey(pem: SecretBytes(copying: text.utf8)) } catch {
            preconditionFailure("any 32 bytes are an Ed25519 seed: \(error)")
        }
    }

    /// The anchor of an app that trusts this key alone (CFG-15).
    var anchor: String { key.publicKey.pem }
    var identifier: [UInt8] { key.publicKey.identifier.bytes }
    /// SubjectPublicKeyInfo in DER.
    var publicKey: [UInt8] { key.publicKey.subjectPublicKeyInfo }

    fileprivate func signature(over message: [UInt8]) -> PropertyListValue {
        ["keyid": .data(identifier), "sig": .data(key.sign(message))]
    }
}

/// A payload and its type, to be signed.
struct SignedStatement {
    /// The payload types that operators sign (CFG-3).
    enum Kind: String {
        case configuration = "application/vnd.tandem.config.v1+bplist"
        case keySet = "application/vnd.tandem.keyset.v1+bplist"
        case revocation = "application/vnd.tandem.revocation.v1+bplist"
    }

    /// The payload type of what devices sign.
    static let report = "application/vnd.tandem.report.v1+bplist"

    let kind: Kind
    let fields: PropertyListDictionary

    /// The envelope around the statement (CFG-1), with a signature by each (CFG-2).
    /// - Parameter spoilt: the signatures are by these keys, over other bytes.
    func envelope(by signers: [Signer], spoilt: Bool = false) throws -> [UInt8] {
        let payload = try PropertyListWriter.write(fields)
        let type = kind.rawValue
        let message = Array("DSSEv1 \(type.utf8.count) \(type) \(payload.count) ".utf8) + payload
        let signatures = signers.map { $0.signature(over: spoilt ? message + [0] : message) }
        return try PropertyListWriter.write(
            [
                "v": 1, "payloadType": .string(type), "payload": .data(payload), "signatures": .array(signatures),
            ] as PropertyListDictionary)
    }
}
