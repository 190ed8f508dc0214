// The primary's join tokens (PAR-5, PAR-8). Every refusal looks the same from outside; the cause is a value for the log
// only. A token is consumed in the same step that accepts it, so of two simultaneous joins exactly one is accepted, and
// the caller commits the changed token before it answers.

package import TandemBase
package import TandemCrypto

/// Why a join is refused; never told to the peer.
package enum JoinRefusalCause: String, Sendable, Equatable, CaseIterable {
    case unknownToken
    case expired
    case attemptsUsedUp
    case wrongProof
    /// The token is spent. An alarm: the link is in the hands of two devices.
    case consumedByAnother
    /// The pin was not trusted by hand for this role.
    case untrustedPin
    /// The pairing that the token gave has been removed or has lapsed.
    case pairingGone
}

/// All issued tokens.
package struct TokenLedger: Sendable, Equatable {
    /// What an attempt with a token came to.
    package enum Verdict: Sendable, Equatable {
        /// First use: the token is consumed now.
        case accepted
        /// The same device again: repeat the answer for this pairing.
        case repeated(UniqueIdentifier)
        case refused(JoinRefusalCause)
    }

    private var tokens: [JoinTokenIdentifier: JoinToken]
    /// Stands in for the secret of unknown tokens, so that they take as long as known ones.
    private let decoy = SecretBytes(copying: [UInt8](repeating: 0, count: JoinTokenIdentifier.byteCount))

    package init(tokens: [JoinToken] = []) {
        self.tokens = Dictionary(tokens.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
    }

    package subscript(identifier: JoinTokenIdentifier) -> JoinToken? { tokens[identifier] }

    /// Takes a new token in.
    package mutating func issue(_ token: JoinToken) { tokens[token.identifier] = token }

    /// Judges an attempt; `pairing` is what the token will have given if it is accepted. Read the token again for the
    /// row to commit.
    package mutating func attempt(
        _ identifier: JoinTokenIdentifier, proof: [UInt8], message: [UInt8], by pin: KeyIdentifier,
        pairing: UniqueIdentifier, now: WallTime
    ) -> Verdict {
        let secret = tokens[identifier]?.secret ?? decoy
        let isProved = HMACSHA256.isValid(proof, for: message, key: secret)
        guard var token = tokens[identifier] else { return .refused(.unknownToken) }
        guard now < token.expires else { return .refused(.expired) }
        guard token.attemptsLeft > 0 else { return .refused(.attemptsUsedUp) }
        if let consumption = token.consumption, consumption.pin != pin { return .refused(.consumedByAnother) }
        guard isProved else {
            token.attemptsLeft -= 1
            tokens[identifier] = token
            return .refused(.wrongProof)
        }
        if let consumption = token.consumption { return .repeated(consumption.pairing) }
        token.consumption = JoinToken.Consumption(pin: pin, pairing: pairing)
        tokens[identifier] = token
        return .accepted
    }

    /// Forgets tokens whose time is over; returns their identifiers in a stable order.
    package mutating func expire(now: WallTime) -> [JoinTokenIdentifier] {
        let gone = tokens.values.filter { $0.expires <= now }.map(\.identifier)
        for identifier in gone { tokens[identifier] = nil }
        return gone.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    package static func == (left: Self, right: Self) -> Bool { left.tokens == right.tokens }
}
