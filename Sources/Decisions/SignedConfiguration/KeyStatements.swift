// Statements about configuration keys: key sets (CFG-80) and revocations (CFG-82), with their strict readers and
// deterministic writers. Reading proves nothing about the author. Fields of a wrong type make a payload malformed; a
// well-formed key set that nobody could use safely is illegal, by a name of its own.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
import TandemWire

/// The kinds of statements that a key may sign (CFG-80).
package enum KeyRoleName: String, Sendable, Hashable, CaseIterable {
    case configuration = "config"
    case keySet = "keyset"
    case revocation
}

/// The form that all statements about one app share: kind, version of the form, and critical fields (step 11).
enum StatementForm {
    /// Refuses a statement that is not of this kind, or not understood.
    /// - Parameter payload: of a configuration, for its failure.
    static func check(
        type: String, specification: String, critical: [String]?, expected: String, known: Set<String>,
        of payload: ConfigurationPayload? = nil
    ) throws(VerificationFailure) {
        guard type.isWord(expected) else {
            throw VerificationFailure(.wrongType, "'typ' is not '\(expected)'", payload: payload)
        }
        let minor = specification.utf8.starts(with: "1.".utf8) ? specification.utf8.dropFirst(2) : "".utf8[...]
        guard (1...3).contains(minor.count), minor.allSatisfy(\.isASCIIDigit) else {
            throw VerificationFailure(.wrongType, "'spec' is not 1.n; this verifier is too old", payload: payload)
        }
        guard let field = critical?.first(where: { !($0.mayBeWord && known.contains($0)) }) else { return }
        let detail = "'crit' names \(OutsideText.quoted(field)), which this verifier does not know"
        throw VerificationFailure(.critical, detail, payload: payload)
    }
}

/// The subject of statements about keys: one app on one side.
package struct KeySubject: Sendable, Hashable {
    package let application: ApplicationIdentifier
    package let role: DeviceRole

    package init(application: ApplicationIdentifier, role: DeviceRole) {
        self.application = application
        self.role = role
    }

    /// The second part of step 11, and step 12, for a verifier of this subject.
    /// - Parameter payload: of a configuration, for its failure.
    func check(_ stated: KeySubject, of payload: ConfigurationPayload? = nil) throws(VerificationFailure) {
        guard stated.role == role else {
            throw VerificationFailure(.wrongRole, "it is for the \(stated.role.rawValue)'s app", payload: payload)
        }
        guard stated.application == application else {
            throw VerificationFailure(.wrongApplication, "it is for '\(stated.application)'", payload: payload)
        }
    }
}

extension KeySubject {
    /// The fields of what is kept or told by it.
    package var fields: PropertyListDictionary {
        ["app": .string(application.description), "role": .string(role.rawValue)]
    }

    init(_ fields: inout FieldReader) throws(FieldError) {
        application = try fields.required("app", "an application identifier") { $0.applicationValue }
        role = try fields.required("role", "'primary' or 'secondary'") { $0.roleValue }
    }
}

/// The fields that key sets and revocations share.
private struct StatementHead {
    let type: String
    let specification: String
    let subject: KeySubject
    let issued: UInt64
    let critical: [String]?

    init(_ fields: inout FieldReader) throws(FieldError) {
        type = try fields.required("typ", "a string") { $0.stringValue }
        specification = try fields.required("spec", "a string") { $0.stringValue }
        subject = try KeySubject(&fields)
        issued = try fields.required("iat", "seconds since 1970") { $0.unsignedValue }
        critical = try fields.optional("crit", "1 to 64 distinct field names") { $0.distinctTexts }
    }

    func check(_ expected: String, known: Set<String>) throws(VerificationFailure) {
        try StatementForm.check(
            type: type, specification: specification, critical: critical, expected: expected, known: known)
    }

    static func fields(_ type: String, _ subject: KeySubject, _ issued: UInt64) -> PropertyListDictionary {
        subject.fields.merging(["typ": .string(type), "spec": "1.0", "iat": PropertyListValue(issued)])
    }
}

/// A key set as it is written (CFG-80); ``trusted()`` judges whether it can be used.
package struct KeySetDocument: Sendable, Equatable {
    /// The keys of one role as they are written.
    package struct Role: Sendable, Equatable {
        package let keyIdentifiers: [[UInt8]]
        package let threshold: Int64
    }

    package var subject: KeySubject
    package let version: UInt64
    /// Seconds since 1970; for people.
    package let issued: UInt64
    /// Seconds since 1970 from which on nothing new is accepted under the set.
    package var expires: UInt64?
    /// SubjectPublicKeyInfo by key identifier in lower-case hexadecimal.
    package var keys: [String: [UInt8]]
    package var roles: [String: Role]
    package var revoked: [[UInt8]]
    /// Those of ``revoked`` whose signatures end what is active.
    package var withdrawn: [[UInt8]]
    package var minimumVersions: [PairedIdentifier: UInt64]

    package init(
        subject: KeySubject, version: UInt64, issued: UInt64,
        roles: [KeyRoleName: (keys: [PublicKey], threshold: Int)]
    ) {
        self.subject = subject
        self.version = version
        self.issued = issued
        keys = [:]
        self.roles = [:]
        for (name, role) in roles {
            for key in role.keys { keys[key.identifier.hexadecimal] = key.subjectPublicKeyInfo }
            self.roles[name.rawValue] = Role(
                keyIdentifiers: role.keys.map(\.identifier.bytes), threshold: Int64(role.threshold))
        }
        revoked = []
        withdrawn = []
        minimumVersions = [:]
    }
}

extension KeySetDocument {
    private static let type = "keyset"
    private static let knownFields: Set<String> = [
        "typ", "spec", "app", "role", "ver", "iat", "expires", "keys", "roles", "revoked", "withdrawn", "minVer",
        "crit",
    ]

    /// Reads a payload's bytes: steps 10 and 11.
    init(payload bytes: [UInt8]) throws(VerificationFailure) {
        var fields = FieldReader(try PropertyListDictionary(reading: bytes, else: .payloadMalformed))
        let head: StatementHead
        do {
            head = try StatementHead(&fields)
            subject = head.subject
            issued = head.issued
            version = try fields.required("ver", "an integer from 1") { $0.positiveValue }
            expires = try fields.optional("expires", "seconds since 1970") { $0.unsignedValue }
            keys = try fields.required("keys", "1 to 64 keys as data", Self.keys)
            roles = try fields.required("roles", "a dictionary of roles", Self.roles)
            revoked = try fields.optional("revoked", "1 to 256 distinct key identifiers", Self.identifiers) ?? []
            withdrawn =
                try fields.optional("withdrawn", "1 to 256 distinct key identifiers", Self.identifiers) ?? []
            minimumVersions =
                try fields.optional("minVer", "1 to 64 versions of distinct targets", Self.minimumVersions) ?? [:]
            try checkExpiry()
        } catch {
            throw VerificationFailure(.payloadMalformed, error.description)
        }
        try head.check(Self.type, known: Self.knownFields)
    }

    private func checkExpiry() throws(FieldError) {
        guard let expires else { return }
        let (life, isBefore) = expires.subtractingReportingOverflow(issued)
        guard !isBefore, (1...ConfigurationLimits.longestKeySetExpiry).contains(life) else {
            throw FieldError(field: "expires", problem: "is not within 20 years after 'iat'")
        }
    }

    private static func keys(_ value: PropertyListValue) -> [String: [UInt8]]? {
        guard let pairs = value.dictionaryValue, (1...ConfigurationLimits.list).contains(pairs.count) else {
            return nil
        }
        let keys = pairs.compactMap { pair in pair.value.dataValue.map { (pair.key, $0) } }
        // Distinct as bytes, not as characters: hexadecimal digits have one spelling only.
        return keys.count == pairs.count ? Dictionary(keys) { first, _ in first } : nil
    }

    private static func roles(_ value: PropertyListValue) -> [String: Role]? {
        guard let pairs = value.dictionaryValue, pairs.count <= ConfigurationLimits.list else { return nil }
        let roles = pairs.compactMap { pair in Role(pair.value).map { (pair.key, $0) } }
        return roles.count == pairs.count ? Dictionary(roles) { first, _ in first } : nil
    }

    private static func identifiers(_ value: PropertyListValue) -> [[UInt8]]? {
        value.distinct(1...ConfigurationLimits.revokedKeys) { $0.digestValue }
    }

    private static func minimumVersions(_ value: PropertyListValue) -> [PairedIdentifier: UInt64]? {
        guard let values = value.arrayValue, (1...ConfigurationLimits.list).contains(values.count) else { return nil }
        let entries = values.compactMap { value -> (PairedIdentifier, UInt64)? in
            guard let pairs = value.dictionaryValue, pairs.count == 2, let target = pairs["target"]?.targetValue,
                let version = pairs["ver"]?.positiveValue
            else { return nil }
            return (target, version)
        }
        let versions = Dictionary(entries) { first, _ in first }
        return versions.count == values.count ? versions : nil
    }

    package var dictionary: PropertyListDictionary {
        let versions = minimumVersions.sorted { $0.key.text < $1.key.text }.map { target, version in
            ["target": .string(target.text), "ver": PropertyListValue(version)] as PropertyListValue
        }
        return StatementHead.fields(Self.type, subject, issued).merging(present: [
            "ver": PropertyListValue(version), "expires": expires.map { PropertyListValue($0) },
            "keys": .dictionary(
                PropertyListDictionary(uniqueKeysWithValues: keys.map { ($0.key, .data($0.value)) })),
            "roles": .dictionary(
                PropertyListDictionary(uniqueKeysWithValues: roles.map { ($0.key, $0.value.value) })),
            "revoked": revoked.isEmpty ? nil : .array(revoked.map { .data($0) }),
            "withdrawn": withdrawn.isEmpty ? nil : .array(withdrawn.map { .data($0) }),
            "minVer": versions.isEmpty ? nil : .array(versions),
        ])
    }
}

extension KeySetDocument {
    /// The set, if it can be used (CFG-81).
    /// - Parameter known: keys that were judged before. They are not read again: that costs more than all the rest,
    ///   and most sets of a chain have most keys of the one before.
    /// - Throws: `keyset-illegal`, or `weak-key` or `unknown-alg` for one of its keys.
    package func trusted(
        knowing known: [KeyIdentifier: PublicKey] = [:]
    ) throws(VerificationFailure) -> TrustedKeySet {
        let keys = try judgedKeys(knowing: known)
        let roles = try judgedRoles(keys)
        let revoked = Set(self.revoked.compactMap { KeyIdentifier(bytes: $0) })
        let withdrawn = Set(self.withdrawn.compactMap { KeyIdentifier(bytes: $0) })
        if let key = revoked.first(where: { keys[$0] != nil }) {
            throw Self.illegal("the key \(key) is listed and revoked")
        }
        if let key = withdrawn.first(where: { !revoked.contains($0) }) {
            throw Self.illegal("the key \(key) is withdrawn and not revoked")
        }
        return TrustedKeySet(self, keys: keys, roles: roles, revoked: revoked, withdrawn: withdrawn)
    }

    /// In the order of their names, so that of two faults every verifier names the same one.
    private func judgedKeys(
        knowing known: [KeyIdentifier: PublicKey]
    ) throws(VerificationFailure) -> [KeyIdentifier: PublicKey] {
        var judged: [KeyIdentifier: PublicKey] = [:]
        for (name, bytes) in keys.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            let key = try Self.key(bytes, knowing: known)
            guard name == key.identifier.hexadecimal else {
                throw Self.illegal("\(OutsideText.quoted(name)) is not the SHA-256 of its key, \(key.identifier)")
            }
            judged[key.identifier] = key
        }
        return judged
    }

    private static func key(
        _ bytes: [UInt8], knowing known: [KeyIdentifier: PublicKey]
    ) throws(VerificationFailure) -> PublicKey {
        if let identifier = KeyIdentifier(bytes: SHA256.digest(bytes)), let key = known[identifier] { return key }
        do { return try PublicKey(subjectPublicKeyInfo: bytes) } catch { throw refused(error) }
    }

    private static func refused(_ error: KeyError) -> VerificationFailure {
        switch Rejection(error) {
        case .weakKey: VerificationFailure(.weakKey, error.description)
        case .unknownAlgorithm: VerificationFailure(.unknownAlgorithm, error.description)
        default: illegal(error.description)
        }
    }

    private func judgedRoles(_ keys: [KeyIdentifier: PublicKey]) throws(VerificationFailure) -> [KeyRoleName: KeyRole] {
        var judged: [KeyRoleName: KeyRole] = [:]
        for (text, role) in roles.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            guard let name = KeyRoleName(word: text) else {
                throw Self.illegal("there is no role \(OutsideText.quoted(text))")
            }
            let identifiers = Set(role.keyIdentifiers.compactMap { KeyIdentifier(bytes: $0) })
            guard identifiers.count == role.keyIdentifiers.count else {
                throw Self.illegal("the role \(text) lists a key twice, or something that names none")
            }
            guard identifiers.allSatisfy({ keys[$0] != nil }) else {
                throw Self.illegal("the role \(text) lists a key that is not in the set")
            }
            guard role.threshold >= 1, role.threshold <= identifiers.count else {
                throw Self.illegal(
                    "the threshold \(role.threshold) of the role \(text) is not 1 to \(identifiers.count)")
            }
            judged[name] = KeyRole(keyIdentifiers: identifiers, threshold: Int(role.threshold))
        }
        for name in KeyRoleName.allCases where judged[name] == nil {
            throw Self.illegal("the role \(name.rawValue) is missing")
        }
        return judged
    }

    static func illegal(_ detail: String) -> VerificationFailure { VerificationFailure(.keySetIllegal, detail) }
}

extension KeySetDocument.Role {
    fileprivate init?(_ value: PropertyListValue) {
        guard let pairs = value.dictionaryValue, pairs.count == 2,
            let identifiers = pairs["keyids"]?.list(atMost: ConfigurationLimits.list, { $0.dataValue }),
            let threshold = pairs["threshold"]
        else { return nil }
        keyIdentifiers = identifiers
        switch threshold {
        case .integer(let number): self.threshold = number
        case .unsigned: self.threshold = .max
        default: return nil
        }
    }

    fileprivate var value: PropertyListValue {
        ["keyids": .array(keyIdentifiers.map { .data($0) }), "threshold": .integer(threshold)]
    }
}

/// A revocation as it is written (CFG-82).
package struct RevocationDocument: Sendable, Equatable {
    package let subject: KeySubject
    /// The key set that was in force for its signers.
    package let keySetVersion: UInt64
    /// Seconds since 1970; for people.
    package let issued: UInt64
    package let revoked: [[UInt8]]
    /// Ends what is active by these keys alone, which stays otherwise.
    package let withdraws: Bool

    package init(
        subject: KeySubject, keySetVersion: UInt64, issued: UInt64, revoked: [KeyIdentifier], withdraws: Bool
    ) {
        self.subject = subject
        self.keySetVersion = keySetVersion
        self.issued = issued
        self.revoked = revoked.map(\.bytes)
        self.withdraws = withdraws
    }
}

extension RevocationDocument {
    private static let type = "revocation"
    private static let knownFields: Set<String> = [
        "typ", "spec", "app", "role", "keyset", "iat", "revoked", "withdraw", "crit",
    ]

    /// Reads a payload's bytes: steps 10 and 11.
    init(payload bytes: [UInt8]) throws(VerificationFailure) {
        var fields = FieldReader(try PropertyListDictionary(reading: bytes, else: .payloadMalformed))
        let head: StatementHead
        do {
            head = try StatementHead(&fields)
            subject = head.subject
            issued = head.issued
            keySetVersion = try fields.required("keyset", "an integer from 1") { $0.positiveValue }
            revoked = try fields.required("revoked", "1 to 64 distinct key identifiers") { value in
                value.distinct(1...ConfigurationLimits.list) { $0.digestValue }
            }
            withdraws = try fields.optional("withdraw", "a boolean") { $0.booleanValue } ?? false
        } catch {
            throw VerificationFailure(.payloadMalformed, error.description)
        }
        try head.check(Self.type, known: Self.knownFields)
    }

    package var dictionary: PropertyListDictionary {
        StatementHead.fields(Self.type, subject, issued).merging(present: [
            "keyset": PropertyListValue(keySetVersion), "revoked": .array(revoked.map { .data($0) }),
            "withdraw": withdraws ? true : nil,
        ])
    }
}

/// The statement about keys that bytes claim to be: enough to find the keys that judge them, and not trusted.
package struct ClaimedStatement: Sendable, Equatable {
    package let type: SignedPayloadType
    /// Nil if the payload does not say about whose keys it is: the judge then refuses it (CFG-84).
    package let subject: KeySubject?
    /// The version of the key set that it is, or that it was signed under; nil also without a subject.
    package let keySetVersion: UInt64?

    /// Nil for bytes of another type: the type alone chooses the judge.
    package init?(_ bytes: [UInt8]) {
        guard let envelope = try? UnverifiedEnvelope(bytes), let type = envelope.claimedType else { return nil }
        let version: String
        switch type {
        case .keySet: version = "ver"
        case .revocation: version = "keyset"
        case .configuration, .report, .carrier: return nil
        }
        self.type = type
        guard let fields = envelope.claimedFields, let application = fields["app"]?.applicationValue,
            let role = fields["role"]?.roleValue
        else {
            (subject, keySetVersion) = (nil, nil)
            return
        }
        subject = KeySubject(application: application, role: role)
        keySetVersion = fields[version]?.positiveValue
    }
}

extension PropertyListDictionary {
    /// The fields of an envelope or of a payload: steps 2 and 10.
    init(reading bytes: [UInt8], else rejection: Rejection) throws(VerificationFailure) {
        do {
            self = try PropertyListReader.readDictionary(bytes)
        } catch {
            throw VerificationFailure(rejection, error.description)
        }
    }
}

package enum KeyStatementSigner {
    package static func sign(_ document: KeySetDocument, with keys: [PrivateKey]) throws(SigningError) -> [UInt8] {
        try SignedEnvelope.signed(document.dictionary, type: .keySet, with: keys)
    }

    package static func sign(_ document: RevocationDocument, with keys: [PrivateKey]) throws(SigningError) -> [UInt8] {
        try SignedEnvelope.signed(document.dictionary, type: .revocation, with: keys)
    }
}
