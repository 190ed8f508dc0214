// Join tokens that this primary has issued (PAR-5, PAR-8). All refusals look the same to the peer; the cause goes to
// the log only. The step that accepts a token consumes it, so of two simultaneous joins exactly one is accepted, and
// the caller commits the changed token before it answers. A consumed token stays until it expires, because its joiner
// may have missed the answer and ask again.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
package import TandemWire

/// The cause of a refused join; never sent to the peer.
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
    /// The result of an attempt with a token.
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

    /// Adds a new token.
    package mutating func issue(_ token: JoinToken) { tokens[token.identifier] = token }

    /// Judges an attempt; an accepted token records `pairing`. Read the token again for the row to commit.
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

    /// Removes expired tokens; returns their identifiers in a stable order.
    package mutating func expire(now: WallTime) -> [JoinTokenIdentifier] {
        let gone = tokens.values.filter { $0.expires <= now }.map(\.identifier)
        for identifier in gone { tokens[identifier] = nil }
        return gone.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    package static func == (left: Self, right: Self) -> Bool { left.tokens == right.tokens }
}

/// An issued join token.
package struct JoinToken: Sendable, Equatable {
    /// The device that consumed the token, and its pairing.
    package struct Consumption: Sendable, Equatable {
        package let pin: KeyIdentifier
        package let pairing: UniqueIdentifier
    }

    package let identifier: JoinTokenIdentifier
    package let secret: SecretBytes
    package let expires: WallTime
    /// Wrong proofs that it still survives.
    package var attemptsLeft: Int
    package var consumption: Consumption?

    package init(
        identifier: JoinTokenIdentifier, secret: SecretBytes, expires: WallTime,
        attemptsLeft: Int = Limits.joinAttempts, consumption: Consumption? = nil
    ) {
        self.identifier = identifier
        self.secret = secret
        self.expires = expires
        self.attemptsLeft = attemptsLeft
        self.consumption = consumption
    }
}

extension JoinToken {
    /// The stored form; the secret is in it, the store is its owner's only.
    package var row: PropertyListDictionary {
        var row: PropertyListDictionary = [
            "token": .data(identifier.bytes), "secret": .data(secret.exposed),
            "expires": .integer(expires.milliseconds), "attempts": .integer(Int64(attemptsLeft)),
        ]
        if let consumption {
            row["pin"] = .data(consumption.pin.bytes)
            row["pairing"] = .data(consumption.pairing.bytes)
        }
        return row
    }

    package init(row: PropertyListDictionary) throws(WireError) {
        let fields = BodyFields(row)
        try fields.refuseKeys(otherThan: ["token", "secret", "expires", "attempts", "pin", "pairing"])
        let secret = try fields.data("secret")
        guard secret.count == JoinTokenIdentifier.byteCount else {
            throw .invalidValue(key: "secret", expected: "data of 16 bytes")
        }
        let attempts = try fields.unsigned("attempts")
        guard attempts <= UInt64(Limits.joinAttempts) else {
            throw .invalidValue(key: "attempts", expected: "an integer up to 5")
        }
        self.init(
            identifier: try fields.token("token"), secret: SecretBytes(copying: secret),
            expires: WallTime(milliseconds: try fields.integer("expires")), attemptsLeft: Int(attempts))
        guard row["pin"] != nil || row["pairing"] != nil else { return }
        consumption = Consumption(pin: try fields.pin("pin"), pairing: try fields.identifier("pairing"))
    }
}
