// Reading a join link that a person typed, scanned or piped. Errors name the parameter and never repeat its value.

package import TandemBase
import TandemCrypto

/// Why a text is not a join link.
package enum JoinLinkError: Error, Sendable, Equatable, CustomStringConvertible {
    /// It does not begin with `tandem:join/1?`, or is far too long.
    case notAJoinLink
    case address
    /// The named parameter is missing, misplaced, repeated or has no valid value.
    case parameter(String)
    /// Something follows the last known parameter.
    case surplus
    /// The link's time is over.
    case expired(at: WallTime)

    package var description: String {
        switch self {
        case .notAJoinLink:
            "this is not a join link (it starts with tandem:join/1?); copy the whole line that 'tandem pair' printed"
        case .address: "the join link's address is not HOST:PORT or unix:PATH (at most 107 bytes of path)"
        case .parameter(let name):
            "the join link's parameter '\(name)' is missing, misplaced or not valid; copy the whole line"
        case .surplus: "the join link has something after its last parameter; copy exactly the line that was printed"
        case .expired(let time): "the join link expired at \(time); run 'tandem pair' again on the primary"
        }
    }
}

extension JoinLink {
    /// Reads the printed form exactly; white space around it is the caller's to remove.
    package init(text: String) throws(JoinLinkError) {
        guard text.hasPrefix(Self.prefix), text.utf8.count <= Self.maximumLength else { throw .notAJoinLink }
        var parameters = Parameters(text.dropFirst(Self.prefix.count))
        let address = try parameters.take("at", PercentEncoding.decode)
        let token = try parameters.take("token") { Base64URL.decode($0).flatMap { JoinTokenIdentifier(bytes: $0) } }
        let secret = try parameters.take("secret") { Base64URL.decode($0).flatMap(Self.secret) }
        let primary = try parameters.take("key") { Base64URL.decode($0).flatMap { KeyIdentifier(bytes: $0) } }
        let expires = try parameters.take("expires", Self.time)
        let name = parameters.isEmpty ? nil : try parameters.take("name", PercentEncoding.decode)
        guard parameters.isEmpty else { throw .surplus }
        try self.init(
            address: address, token: token, secret: secret, primary: primary, expires: expires, name: name)
    }

    private static func secret(_ bytes: [UInt8]) -> SecretBytes? {
        bytes.count == JoinTokenIdentifier.byteCount ? SecretBytes(copying: bytes) : nil
    }

    private static func time(_ text: String) -> WallTime? {
        guard let seconds = UInt64(text), String(seconds) == text else { return nil }
        return WallTime(seconds: seconds)
    }
}

/// The parameters of a link in their order.
private struct Parameters {
    private var rest: ArraySlice<Substring>

    init(_ text: Substring) { rest = text.split(separator: "&", omittingEmptySubsequences: false)[...] }

    var isEmpty: Bool { rest.isEmpty }

    mutating func take<Value>(_ name: String, _ read: (String) -> Value?) throws(JoinLinkError) -> Value {
        guard let next = rest.popFirst(), next.hasPrefix(name + "=") else { throw .parameter(name) }
        guard let value = read(String(next.dropFirst(name.count + 1))) else { throw .parameter(name) }
        return value
    }
}
