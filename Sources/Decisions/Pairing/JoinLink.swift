// The one-time link that pairs two devices (PAR-4): `tandem:join/1?at=...&token=...&secret=...&key=...&expires=...`.
// It is a secret as a whole: no description shows it. Exactly one spelling is accepted, so that a link cannot mean one
// thing to the eye or the QR code and another to the parser.

package import TandemBase
package import TandemCrypto

/// A join link, read or about to be printed.
package struct JoinLink: Sendable, Equatable {
    /// The longest link that is read, in bytes.
    package static var maximumLength: Int { 1024 }
    /// The longest device name, in bytes.
    package static var maximumNameLength: Int { 64 }

    /// `HOST:PORT` or `unix:PATH`.
    package let address: String
    package let token: JoinTokenIdentifier
    package let secret: SecretBytes
    /// The pin that the primary must show.
    package let primary: KeyIdentifier
    /// To the second.
    package let expires: WallTime
    /// The primary's name, for people.
    package let name: String?

    /// - Throws: ``JoinLinkError`` for an address or name that no link can carry.
    package init(
        address: String, token: JoinTokenIdentifier, secret: SecretBytes, primary: KeyIdentifier, expires: WallTime,
        name: String? = nil
    ) throws(JoinLinkError) {
        guard Self.isAddress(address) else { throw .address }
        guard secret.count == JoinTokenIdentifier.byteCount else { throw .parameter("secret") }
        if let name, !Self.isName(name) { throw .parameter("name") }
        self.address = address
        self.token = token
        self.secret = secret
        self.primary = primary
        self.expires = WallTime(seconds: expires.seconds)
        self.name = name
    }

    /// The printed form: a secret.
    package var text: String {
        let fixed = [
            "at=\(PercentEncoding.encode(address))", "token=\(Base64URL.encode(token.bytes))",
            "secret=\(Base64URL.encode(secret.exposed))", "key=\(Base64URL.encode(primary.bytes))",
            "expires=\(expires.seconds)",
        ]
        let optional = name.map { ["name=\(PercentEncoding.encode($0))"] } ?? []
        return Self.prefix + (fixed + optional).joined(separator: "&")
    }

    static var prefix: String { "tandem:join/1?" }

    static func isName(_ name: String) -> Bool {
        (1...maximumNameLength).contains(name.utf8.count) && !name.utf8.contains(0)
    }

    static func isAddress(_ address: String) -> Bool {
        guard address.utf8.count <= 255, !address.utf8.contains(where: { $0 < 33 || $0 == 127 }) else { return false }
        if address.hasPrefix("unix:") { return (1...107).contains(address.utf8.count - 5) }
        guard let colon = address.lastIndex(of: ":"), colon != address.startIndex else { return false }
        guard let port = UInt16(address[address.index(after: colon)...]), port > 0 else { return false }
        return true
    }
}

/// A join token's public half: it names the token, it proves nothing.
package struct JoinTokenIdentifier: Sendable, Hashable {
    /// Bytes of a token identifier, and of a join secret.
    package static var byteCount: Int { 16 }

    package let bytes: [UInt8]

    /// nil for any count but 16.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
    }
}
