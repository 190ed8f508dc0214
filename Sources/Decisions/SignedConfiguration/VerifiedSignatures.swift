// Cache of signature checks of one statement (CFG-84). Two key sets' roles and the stored step ask about the same
// signatures, and each is verified once.

import TandemCrypto

struct VerifiedSignatures {
    /// A signature and the key that must have made it.
    private struct Claim: Hashable {
        let key: KeyIdentifier
        let bytes: [UInt8]

        /// By the key alone: an array is hashed byte by byte, and an envelope has at most 64 signatures.
        func hash(into hasher: inout Hasher) { hasher.combine(key) }
    }

    let statement: SignedMessage
    private var results: [Claim: Bool] = [:]

    init(over statement: SignedMessage) { self.statement = statement }

    /// Whether the bytes are the key's good signature of the statement.
    mutating func isGood(_ bytes: [UInt8], by key: PublicKey) -> Bool {
        let claim = Claim(key: key.identifier, bytes: bytes)
        if let result = results[claim] { return result }
        let result = key.isValid(bytes, for: statement)
        results[claim] = result
        return result
    }
}
