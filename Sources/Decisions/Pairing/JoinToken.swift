// One issued join token (PAR-5) as the primary keeps it until its time is over: a consumed one too, because its own
// joiner may have missed the answer and ask again.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
package import TandemWire

/// A join token and what became of it.
package struct JoinToken: Sendable, Equatable {
    /// Who consumed the token, and the pairing it got.
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
