// Signatures of one statement, each verified once (CFG-84): the roles of two key sets, and the step that is stored, ask
// about the same ones.

import TandemCrypto

/// The results of verifying signatures of one statement.
struct VerifiedSignatures {
    /// A signature and the key that it is to be of.
    private struct Claim: Hashable {
        let key: KeyIdentifier
        let bytes: [UInt8]

        /// The key alone: most keys sign once, and an array would hash each of its bytes by itself.
        func hash(into hasher: inout Hasher) { hasher.combine(key) }
    }

    private let statement: SignedMessage
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
