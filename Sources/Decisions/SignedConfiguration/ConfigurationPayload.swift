// Payload of a configuration (CFG-10): addressee, version, times and values, with its strict reader (step 10), its
// deterministic writer and the signer. Reading proves nothing about the author. The signer reads its own payload back
// under the verifier's rules, so that it signs nothing that a verifier would refuse.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
import TandemWire

/// The fields of a configuration's payload (CFG-10).
package struct ConfigurationPayload: Sendable, Equatable {
    /// The version of this form: `1.1` if a value needs it.
    package private(set) var specification: String
    package var application: ApplicationIdentifier
    /// For which side's app.
    package var role: DeviceRole
    package var target: PairedIdentifier
    /// The only secondaries it is for; nil for all that the target names.
    package var only: [UniqueIdentifier]?
    package let version: UInt64
    package var keySetVersion: UInt64
    /// `txid`: names this configuration in reports.
    package let transaction: UniqueIdentifier
    /// `iat`, seconds since 1970.
    package var issued: UInt64
    package var notBefore: UInt64?
    package var expires: UInt64?
    /// Seconds that it stays applied.
    package var lifetime: UInt64?
    /// Once this is applied, lower versions stay refused.
    package var floor: UInt64?
    /// Field names that a verifier must know.
    package var critical: [String]?
    /// Keys of ``values`` that an app without such a property ignores.
    package var optional: [String]?
    /// The complete set of overrides.
    package var values: PropertyListDictionary {
        didSet { specification = Self.specification(for: values) }
    }

    /// A payload with the fields that every configuration has.
    package init(
        application: ApplicationIdentifier, role: DeviceRole, target: PairedIdentifier, version: UInt64,
        keySetVersion: UInt64 = 1, transaction: UniqueIdentifier, issued: UInt64, values: PropertyListDictionary
    ) {
        specification = Self.specification(for: values)
        self.application = application
        self.role = role
        self.target = target
        self.version = version
        self.keySetVersion = keySetVersion
        self.transaction = transaction
        self.issued = issued
        self.values = values
    }

    /// The subject whose keys sign it.
    package var subject: KeySubject { KeySubject(application: application, role: role) }

    /// Whether the lifetime is over of which so many milliseconds are used; never without one.
    package func isOver(after used: Int64) -> Bool {
        lifetime.map { UInt64(max(0, used)) / 1000 >= $0 } ?? false
    }

    /// The clock floor (CFG-33): a clock below it is wrong. The time of issue, or the time of application if earlier.
    package func clockFloor(applied: WallTime) -> WallTime { min(WallTime(seconds: issued), applied) }
}

extension ConfigurationPayload {
    /// The fields that a verifier of this version knows (`crit`).
    package static let knownFields: Set<String> = [
        "typ", "spec", "app", "role", "target", "only", "ver", "keyset", "txid", "iat", "nbf", "expires", "lifetime",
        "floor", "crit", "optional", "values",
    ]

    /// Reads the fields of CFG-10 and their rules; unknown fields are ignored.
    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        application = try fields.required("app", "an application identifier") { $0.applicationValue }
        critical = try fields.optional("crit", "1 to 64 distinct field names") { $0.distinctTexts }
        expires = try fields.optional("expires", "seconds since 1970") { $0.unsignedValue }
        floor = try fields.optional("floor", "an integer from 1") { $0.positiveValue }
        issued = try fields.required("iat", "seconds since 1970") { $0.unsignedValue }
        keySetVersion = try fields.required("keyset", "an integer from 1") { $0.positiveValue }
        lifetime = try fields.optional("lifetime", "seconds from 1") { $0.positiveValue }
        notBefore = try fields.optional("nbf", "seconds since 1970") { $0.unsignedValue }
        only = try fields.optional("only", "1 to 64 distinct vendor identifiers") { value in
            value.distinct(1...ConfigurationLimits.list) { $0.identifierValue }
        }
        optional = try fields.optional("optional", "1 to 64 distinct keys of 'values'") { $0.distinctTexts }
        role = try fields.required("role", "'primary' or 'secondary'") { $0.roleValue }
        specification = try fields.required("spec", "a string") { $0.stringValue }
        target = try fields.required("target", "a paired identifier") { $0.targetValue }
        transaction = try fields.required("txid", "16 bytes of data") { $0.identifierValue }
        _ = try fields.required("typ", "a string") { $0.stringValue }
        values = try fields.required("values", "a dictionary") { $0.dictionaryValue }
        version = try fields.required("ver", "an integer from 1") { $0.positiveValue }
        try checkRules()
    }

    private func checkRules() throws(FieldError) {
        if only != nil, role == .primary {
            throw FieldError(field: "only", problem: "narrows secondaries; the role is primary")
        }
        if let expires {
            let (life, isBefore) = expires.subtractingReportingOverflow(issued)
            guard !isBefore, (1...ConfigurationLimits.longestExpiry).contains(life) else {
                throw FieldError(field: "expires", problem: "is not within 400 days after 'iat'")
            }
        }
        // Version 1.0 has no lists. Any version that is no 1.n is refused by its own name, in step 11.
        let hasLists = !specification.isWord("1.0")
        if let key = values.firstKey(whereValue: { !($0.isScalarSetting || hasLists && $0.isTextList) }) {
            let list = hasLists ? ", or a list of strings" : ""
            throw FieldError(field: "values.\(key)", problem: "is not a boolean, integer, real or string\(list)")
        }
    }

    /// The lowest version of the form that has such values.
    private static func specification(for values: PropertyListDictionary) -> String {
        values.firstKey(whereValue: { $0.isTextList }) == nil ? "1.0" : "1.1"
    }
}

extension PropertyListDictionary {
    /// The first key whose value is as asked; looks at the values where they lie.
    fileprivate func firstKey(whereValue condition: (borrowing PropertyListValue) -> Bool) -> String? {
        withPairs { pairs in
            for index in pairs.indices where condition(pairs[index].value) { return pairs[index].key }
            return nil
        }
    }
}

extension PropertyListValue {
    fileprivate var isScalarSetting: Bool {
        switch self {
        case .boolean, .integer, .unsigned, .real, .string: true
        case .date, .data, .array, .dictionary: false
        }
    }

    fileprivate var isTextList: Bool {
        guard case .array(let elements) = self else { return false }
        return elements.allSatisfy { if case .string = $0 { true } else { false } }
    }
}

extension ConfigurationPayload {
    package var dictionary: PropertyListDictionary {
        PropertyListDictionary(present: [
            "typ": "config", "spec": .string(specification), "app": .string(application.description),
            "role": .string(role.rawValue), "target": .string(target.text), "ver": PropertyListValue(version),
            "keyset": PropertyListValue(keySetVersion), "txid": .data(transaction.bytes),
            "iat": PropertyListValue(issued), "values": .dictionary(values),
            "only": only.map { .array($0.map { .data($0.bytes) }) }, "nbf": notBefore.map { PropertyListValue($0) },
            "expires": expires.map { PropertyListValue($0) }, "lifetime": lifetime.map { PropertyListValue($0) },
            "floor": floor.map { PropertyListValue($0) }, "crit": critical.map { .array($0.map { .string($0) }) },
            "optional": optional.map { .array($0.map { .string($0) }) },
        ])
    }
}

package enum SigningError: Error, Sendable, Equatable {
    /// The payload breaks a rule of CFG-10.
    case payload(FieldError)
    case propertyList(PropertyListError)
    case noKeys
    /// The envelope would have this many bytes.
    case oversize(Int)
}

extension SigningError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .payload(let error): "the configuration cannot be signed: \(error.description)"
        case .propertyList(let error): "the values cannot be written as a property list: \(error.description)"
        case .noKeys: "no key to sign with was given"
        case .oversize(let count):
            "the signed configuration would have \(count) bytes; at most \(ConfigurationLimits.envelope) are allowed"
        }
    }
}

package enum ConfigurationSigner {
    package static func sign(
        _ payload: ConfigurationPayload, with keys: [ConfigurationPrivateKey]
    ) throws(SigningError) -> [UInt8] {
        guard !keys.isEmpty else { throw .noKeys }
        let fields = payload.dictionary
        do { _ = try ConfigurationPayload(fields) } catch { throw .payload(error) }
        // Verifiers pass over such a key, because they take what was ever signed (CFG-98).
        if let key = payload.optional?.first(where: { payload.values[$0] == nil }) {
            throw .payload(FieldError(field: "optional", problem: "names '\(key)', which is not among the values"))
        }
        let bytes = try SignedEnvelope.signed(fields, type: .configuration, with: keys.map(\.key))
        guard bytes.count <= ConfigurationLimits.envelope else { throw .oversize(bytes.count) }
        return bytes
    }
}
