// One-time join tokens: their limits, their issue, the rule by which a primary takes one (PAR-5, PAR-8), the proof of
// knowing one (PAR-7), their stored form, and the link that carries one to the other device (PAR-4). All refusals look
// the same to the peer; the cause goes to the log only. The step that accepts a token consumes it, so of two
// simultaneous joins exactly one is accepted, and the caller commits the changed token before it answers. A consumed
// token stays until it expires or its pairing ends, because its joiner may have missed the answer and ask again.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
import TandemWire

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
    /// The joining device has this device's own key.
    case ownKey
    /// The pairing that the token gave is gone, and an earlier release has kept the token.
    case pairingGone
}

extension JoinRefusalCause {
    var isAlarm: Bool { self == .consumedByAnother }

    var message: StaticString {
        switch self {
        case .unknownToken: "join refused: unknown token"
        case .expired: "join refused: token expired"
        case .attemptsUsedUp: "join refused: no attempts left"
        case .wrongProof: "join refused: wrong proof"
        case .consumedByAnother: "alarm: join refused, the token was already used by another device"
        case .untrustedPin: "join refused: fingerprint not trusted"
        case .ownKey: "join refused: it has this device's own key"
        case .pairingGone: "join refused: the pairing of this token is gone"
        }
    }
}

/// Limits of join tokens (LIM-10).
package enum JoinPolicy {
    /// Life of a token if the operator names none: long enough to walk to the other device (LIM-10).
    package static var life: Duration { .seconds(15 * 60) }
    /// Seconds that a token may live (LIM-10): an operator who needs longer makes another one.
    private static var lives: ClosedRange<Int64> { 1...24 * 3600 }
    fileprivate static var longestLife: Duration { .seconds(lives.upperBound) }
    /// How far a clock may step back without ending a token of the longest life (LIM-10): time servers correct a clock
    /// by seconds, and one that was wrong by more may have been wrong by years.
    fileprivate static var correction: Duration { .seconds(5 * 60) }
    /// Wrong proofs that a token survives (LIM-10).
    fileprivate static var attempts: Int { 5 }

    /// The life of a token in the seconds that the operator asks for; nil if it may not live that long.
    package static func life(seconds: Int64) -> Duration? { lives.contains(seconds) ? .seconds(seconds) : nil }
}

package struct TokenLedger: Sendable, Equatable {
    package enum Verdict: Sendable, Equatable {
        /// First use: the token is consumed now.
        case accepted
        /// The same device again: repeat the answer for this pairing.
        case repeated(UniqueIdentifier)
        case refused(JoinRefusalCause)
    }

    /// Seals the secrets of tokens in their rows.
    private let key: SealingKey
    private var tokens: [JoinTokenIdentifier: JoinToken] = [:]
    /// Stored tokens that were sealed under another key.
    private var unopened: Set<JoinTokenIdentifier> = []
    /// Stands in for the secret of unknown tokens, so that they take as long as known ones.
    private let decoy = SecretBytes(copying: [UInt8](repeating: 0, count: JoinTokenIdentifier.byteCount))

    package init(sealedUnder key: SealingKey) { self.key = key }

    package subscript(identifier: JoinTokenIdentifier) -> JoinToken? { tokens[identifier] }

    /// The tokens that have not expired, the first to expire first.
    package func current(now: WallTime) -> [JoinToken] {
        tokens.values.filter { !$0.hasExpired(now: now) }.sorted {
            $0.expires == $1.expires
                ? $0.identifier.bytes.lexicographicallyPrecedes($1.identifier.bytes) : $0.expires < $1.expires
        }
    }

    mutating func issue(_ link: JoinLink) -> [PairingChange] {
        let token = JoinToken(
            identifier: link.token, secret: link.secret, expires: WallTime(seconds: link.expires.seconds),
            sealedUnder: key.secret)
        tokens[token.identifier] = token
        return [.putToken(token)]
    }

    /// Takes an unused token back; nil if there is none (PAR-23).
    mutating func cancel(_ identifier: JoinTokenIdentifier) -> [PairingChange]? {
        guard let token = tokens[identifier], token.consumption == nil else { return nil }
        tokens[identifier] = nil
        return [.removeToken(identifier)]
    }

    /// Adds a stored token, or what is left of one that cannot be opened.
    mutating func restore(_ row: PropertyListDictionary, keyed bytes: some Collection<UInt8>) throws(WireError) {
        guard let identifier = JoinTokenIdentifier(bytes: bytes) else {
            throw .invalidValue(key: "row", expected: "a token's row")
        }
        guard let token = try JoinToken(row: row, sealedUnder: key.secret) else {
            unopened.insert(identifier)
            return
        }
        tokens[token.identifier] = token
    }

    /// Judges an attempt; an accepted token records `pairing`. A token that the attempt has changed is written again.
    mutating func attempt(
        _ identifier: JoinTokenIdentifier, proof: [UInt8], message: [UInt8], by pin: KeyIdentifier,
        pairing: UniqueIdentifier, now: WallTime
    ) -> (Verdict, changes: [PairingChange]) {
        let before = tokens[identifier]
        let verdict = judge(identifier, proof: proof, message: message, by: pin, pairing: pairing, now: now)
        guard let after = tokens[identifier], after != before else { return (verdict, []) }
        return (verdict, [.putToken(after)])
    }

    private mutating func judge(
        _ identifier: JoinTokenIdentifier, proof: [UInt8], message: [UInt8], by pin: KeyIdentifier,
        pairing: UniqueIdentifier, now: WallTime
    ) -> Verdict {
        let secret = tokens[identifier]?.secret ?? decoy
        let isProved = HMACSHA256.isValid(proof, for: message, key: secret)
        guard var token = tokens[identifier] else { return .refused(.unknownToken) }
        guard !token.hasExpired(now: now) else { return .refused(.expired) }
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

    /// Removes expired tokens, and those that cannot be opened; the changes are in a stable order.
    mutating func expire(now: WallTime) -> [PairingChange] {
        let gone = unopened.union(tokens.values.filter { $0.hasExpired(now: now) }.map(\.identifier))
        unopened = []
        return remove(gone)
    }

    /// Removes the tokens that this pairing was made or renewed by: without it they are secrets that open nothing
    /// (PAR-13).
    mutating func remove(of pairing: UniqueIdentifier) -> [PairingChange] {
        remove(Set(tokens.values.filter { $0.consumption?.pairing == pairing }.map(\.identifier)))
    }

    private mutating func remove(_ gone: Set<JoinTokenIdentifier>) -> [PairingChange] {
        for identifier in gone { tokens[identifier] = nil }
        return gone.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.map { .removeToken($0) }
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.tokens == right.tokens && left.unopened == right.unopened
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

package struct JoinToken: Sendable, Equatable {
    /// The device that consumed the token, and its pairing.
    package struct Consumption: Sendable, Equatable {
        package let pin: KeyIdentifier
        package let pairing: UniqueIdentifier
    }

    package let identifier: JoinTokenIdentifier
    package let secret: SecretBytes
    /// The secret as it is stored, so that no copy of a row, in memory or on a disk, has it in clear.
    private let sealed: [UInt8]
    package let expires: WallTime
    /// Wrong proofs that it still survives.
    package fileprivate(set) var attemptsLeft: Int
    package fileprivate(set) var consumption: Consumption?

    fileprivate init(
        identifier: JoinTokenIdentifier, secret: SecretBytes, expires: WallTime, sealedUnder key: SecretBytes
    ) {
        self.identifier = identifier
        self.secret = secret
        sealed = Self.sealed(secret, of: identifier, under: key)
        self.expires = expires
        attemptsLeft = JoinPolicy.attempts
    }

    /// Whether its time is over. One that has more left than any token is given was made before the clock was set back:
    /// that clock would keep it open for years.
    fileprivate func hasExpired(now: WallTime) -> Bool {
        expires <= now || expires > now + JoinPolicy.longestLife + JoinPolicy.correction
    }
}

extension JoinToken {
    private static func sealed(
        _ secret: SecretBytes, of identifier: JoinTokenIdentifier, under key: SecretBytes
    ) -> [UInt8] {
        var copy = secret.exposed
        defer { _ = SecretBytes(taking: &copy) }
        return SealedBytes.seal(copy, key: key, with: identifier.bytes)
    }

    private static func opened(
        _ sealed: [UInt8], of identifier: JoinTokenIdentifier, under key: SecretBytes
    ) -> SecretBytes? {
        guard var bytes = SealedBytes.open(sealed, key: key, with: identifier.bytes) else { return nil }
        let secret = SecretBytes(taking: &bytes)
        return secret.count == JoinTokenIdentifier.byteCount ? secret : nil
    }

    package var row: PropertyListDictionary {
        PropertyListDictionary(present: [
            "token": .data(identifier.bytes), "expires": .integer(expires.milliseconds),
            "attempts": .integer(Int64(attemptsLeft)), "sealed": .data(sealed),
            "pin": consumption.map { .data($0.pin.bytes) }, "pairing": consumption.map { .data($0.pairing.bytes) },
        ])
    }

    /// nil if the secret is sealed under another key: its link is as one that has expired.
    fileprivate init?(row: PropertyListDictionary, sealedUnder key: SecretBytes) throws(WireError) {
        let fields = BodyFields(row)
        try fields.refuseKeys(otherThan: ["token", "secret", "sealed", "expires", "attempts", "pin", "pairing"])
        let identifier = try fields.token("token")
        let secret: SecretBytes
        if let stored = row["sealed"]?.dataValue {
            guard let opened = Self.opened(stored, of: identifier, under: key) else { return nil }
            (secret, sealed) = (opened, stored)
        } else {
            // A row of an earlier release.
            let bytes = try fields.data("secret")
            guard bytes.count == JoinTokenIdentifier.byteCount else {
                throw .invalidValue(key: "secret", expected: "data of 16 bytes")
            }
            secret = SecretBytes(copying: bytes)
            sealed = Self.sealed(secret, of: identifier, under: key)
        }
        let attempts = try fields.unsigned("attempts")
        guard attempts <= UInt64(JoinPolicy.attempts) else {
            throw .invalidValue(key: "attempts", expected: "an integer up to 5")
        }
        (self.identifier, self.secret, attemptsLeft) = (identifier, secret, Int(attempts))
        expires = WallTime(milliseconds: try fields.integer("expires"))
        guard row["pin"] != nil || row["pairing"] != nil else { return }
        consumption = Consumption(pin: try fields.pin("pin"), pairing: try fields.identifier("pairing"))
    }
}

// MARK: - proof

/// The facts that both ends of one join agree on, as the bytes under a proof. A proof shows knowledge of the link's
/// secret. It is bound to the TLS connection, both keys, both claims and the direction: a man in the middle or a replay
/// has another exporter value, and a reflected proof carries the wrong label.
package struct JoinTranscript: Sendable {
    private let exporter: [UInt8]
    private let primary: KeyIdentifier
    private let secondary: KeyIdentifier
    private let token: JoinTokenIdentifier

    /// Bytes of the exporter's value and of a proof.
    package static var byteCount: Int { 32 }

    package init(exporter: [UInt8], primary: KeyIdentifier, secondary: KeyIdentifier, token: JoinTokenIdentifier) {
        self.exporter = exporter
        self.primary = primary
        self.secondary = secondary
        self.token = token
    }

    /// The bytes that the secondary's proof authenticates.
    package func secondaryMessage(_ claim: JoinClaim) -> [UInt8] { message("tandem-join-1 secondary", claim, []) }

    /// The bytes that the primary's proof authenticates.
    package func primaryMessage(_ claim: JoinClaim, pairing: UniqueIdentifier) -> [UInt8] {
        message("tandem-join-1 primary", claim, [pairing.bytes])
    }

    private func message(_ label: String, _ claim: JoinClaim, _ more: [[UInt8]]) -> [UInt8] {
        let parts = [
            Array(label.utf8), exporter, primary.bytes, secondary.bytes, token.bytes,
            SHA256.digest(claim.reportKey), Array(claim.name.utf8),
        ]
        return (parts + more).flatMap { UInt32(clamping: $0.count).bigEndianBytes + $0 }
    }
}

/// Name and report key that an end of a join claims.
package struct JoinClaim: Sendable, Equatable {
    package let name: String
    /// SubjectPublicKeyInfo of the end's report key.
    package let reportKey: [UInt8]

    package init(name: String, reportKey: [UInt8]) {
        self.name = name
        self.reportKey = reportKey
    }

    /// Refuses a report key that cannot be loaded.
    package func checkKey() throws(KeyError) { _ = try PublicKey(subjectPublicKeyInfo: reportKey) }
}

// MARK: - link

/// The one-time link that pairs two devices (PAR-4), read or about to be printed:
/// `tandem:join/1?at=...&token=...&secret=...&key=...&expires=...`. The whole link is a secret: no description shows
/// it, and no error repeats a value. The reader accepts exactly one spelling, so that a link cannot mean one thing to
/// the eye or the QR code and another to the parser.
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
        if let name, !name.isText(within: Self.maximumNameLength) { throw .parameter("name") }
        self.address = address
        self.token = token
        self.secret = secret
        self.primary = primary
        self.expires = WallTime(seconds: expires.seconds)
        self.name = name
    }

    /// A new link to a primary.
    /// - Parameters:
    ///   - token, secret: random.
    ///   - life: how long it may be used.
    package init(
        to own: PairingRegistry.OwnDevice, at address: String, token: JoinTokenIdentifier, secret: SecretBytes,
        life: Duration, now: WallTime
    ) throws(JoinLinkError) {
        try self.init(
            address: address, token: token, secret: secret, primary: own.pin, expires: now + life, name: own.claim.name)
    }

    private var secretText: String {
        var copy = secret.exposed
        defer { _ = SecretBytes(taking: &copy) }
        return Base64URL.encode(copy)
    }

    /// The printed form: a secret.
    package var text: String {
        let fixed = [
            "at=\(ParameterText.encode(address))", "token=\(Base64URL.encode(token.bytes))",
            "secret=\(secretText)", "key=\(Base64URL.encode(primary.bytes))",
            "expires=\(expires.seconds)",
        ]
        let optional = name.map { ["name=\(ParameterText.encode($0))"] } ?? []
        return Self.prefix + (fixed + optional).joined(separator: "&")
    }

    private static var prefix: String { "tandem:join/1?" }

    private static func isAddress(_ address: String) -> Bool {
        guard address.utf8.count <= 255, !address.utf8.contains(where: { $0 < 32 || $0 == 127 }) else { return false }
        if address.utf8.starts(with: "unix:".utf8) { return (1...107).contains(address.utf8.count - 5) }
        guard !address.utf8.contains(32), let colon = address.lastIndex(of: ":"), colon != address.startIndex else {
            return false
        }
        let digits = address[address.index(after: colon)...]
        guard let port = UInt16(digits), port > 0 else { return false }
        return String(port) == digits
    }
}

/// Why a text is not a join link.
package enum JoinLinkError: Error, Sendable, Equatable, CustomStringConvertible {
    /// It does not begin with `tandem:join/1?`, or is far too long.
    case notAJoinLink
    case address
    /// The named parameter is missing, misplaced, repeated or has no valid value.
    case parameter(String)
    /// Something follows the last known parameter.
    case surplus

    package var description: String {
        switch self {
        case .notAJoinLink:
            "this is not a join link (it starts with tandem:join/1?); copy the whole line that 'tandem pair' printed"
        case .address: "the join link's address is not HOST:PORT or unix:PATH (at most 107 bytes of path)"
        case .parameter(let name):
            "the join link's parameter '\(name)' is missing, misplaced or not valid; copy the whole line"
        case .surplus: "the join link has something after its last parameter; copy exactly the line that was printed"
        }
    }
}

extension JoinLink {
    /// Reads the printed form exactly; white space around it is the caller's to remove.
    package init(text: String) throws(JoinLinkError) {
        guard text.hasPrefix(Self.prefix), text.utf8.count <= Self.maximumLength else { throw .notAJoinLink }
        var parameters = Parameters(text.dropFirst(Self.prefix.count))
        let address = try parameters.take("at", ParameterText.decode)
        let token = try parameters.take("token") { Base64URL.decode($0).flatMap { JoinTokenIdentifier(bytes: $0) } }
        let secret = try parameters.take("secret") { Base64URL.decode($0).flatMap(Self.secret) }
        let primary = try parameters.take("key") { Base64URL.decode($0).flatMap { KeyIdentifier(bytes: $0) } }
        let expires = try parameters.take("expires", Self.time)
        let name = parameters.isEmpty ? nil : try parameters.take("name", ParameterText.decode)
        guard parameters.isEmpty else { throw .surplus }
        try self.init(
            address: address, token: token, secret: secret, primary: primary, expires: expires, name: name)
    }

    private static func secret(_ bytes: [UInt8]) -> SecretBytes? {
        bytes.count == JoinTokenIdentifier.byteCount ? SecretBytes(copying: bytes) : nil
    }

    private static func time(_ text: String) -> WallTime? {
        guard let seconds = UInt64(text), String(seconds) == text else { return nil }
        let time = WallTime(seconds: seconds)
        return time.seconds == seconds ? time : nil
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

/// Texts of parameters, strictly percent-encoded: a fixed set of plain characters, every other byte as upper-case %XX.
/// Each text has one spelling; decoding refuses all others.
private enum ParameterText {
    static func encode(_ text: String) -> String {
        PercentEncoding.encode(text) { $0.isASCIIAlphanumeric || "-._~:/[]".utf8.contains($0) }
    }

    /// The text; nil unless `encode` would write exactly this spelling.
    static func decode(_ spelling: String) -> String? {
        PercentEncoding.decode(spelling.utf8).flatMap { String(validating: $0, as: UTF8.self) }
            .flatMap { encode($0) == spelling ? $0 : nil }
    }
}
