// Step 10: the payload read from the very bytes that were verified, field by field, exact types. The `typ` and the
// meaning of `spec` and `crit` are step 11's, so that a newer kind of statement is told from a broken one.

import TandemBase
package import TandemPropertyList

/// Why a payload does not read as CFG-10.
package struct PayloadError: Error, Sendable, Equatable {
    package let detail: String
}

extension ConfigurationPayload {
    /// The fields that a verifier of this version knows (`crit`).
    package static let knownFields: Set<String> = [
        "typ", "spec", "app", "role", "target", "only", "ver", "keyset", "txid", "iat", "nbf", "expires", "lifetime",
        "floor", "crit", "optional", "values",
    ]

    /// Reads the fields of CFG-10 and their rules; unknown fields are ignored.
    package init(_ dictionary: PropertyListDictionary) throws(PayloadError) {
        do {
            var fields = FieldReader(dictionary)
            _ = try fields.required("typ", "a string") { $0.stringValue }
            application = try fields.required("app", "an application identifier") { $0.applicationValue }
            role = try fields.required("role", "'primary' or 'secondary'") { $0.roleValue }
            target = try fields.required("target", "a paired identifier") { $0.targetValue }
            version = try fields.required("ver", "an integer from 1") { $0.positiveValue }
            keySetVersion = try fields.required("keyset", "an integer from 1") { $0.positiveValue }
            transaction = try fields.required("txid", "16 bytes of data") { $0.identifierValue }
            issued = try fields.required("iat", "seconds since 1970") { $0.unsignedValue }
            values = try fields.required("values", "a dictionary") { $0.dictionaryValue }
            specification = try fields.required("spec", "a string") { $0.stringValue }
            try readOptionalFields(&fields)
            try checkRules()
        } catch {
            throw PayloadError(detail: error.description)
        }
    }

    private mutating func readOptionalFields(_ fields: inout FieldReader) throws(FieldError) {
        only = try fields.optional("only", "1 to 64 distinct vendor identifiers") {
            Self.distinct($0) { $0.identifierValue }
        }
        notBefore = try fields.optional("nbf", "seconds since 1970") { $0.unsignedValue }
        expires = try fields.optional("expires", "seconds since 1970") { $0.unsignedValue }
        lifetime = try fields.optional("lifetime", "seconds from 1") { $0.positiveValue }
        floor = try fields.optional("floor", "an integer from 1") { $0.positiveValue }
        critical = try fields.optional("crit", "1 to 64 distinct field names", Self.names)
        optional = try fields.optional("optional", "1 to 64 distinct keys of 'values'", Self.names)
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
        if let key = values.firstKey(whereValue: { !$0.isScalarSetting }) {
            throw FieldError(field: "values.\(key)", problem: "is not a boolean, integer, real or string")
        }
    }

    private static func names(_ value: PropertyListValue) -> [String]? {
        distinct(value) { $0.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
    }

    private static func distinct<Element: Hashable>(
        _ value: PropertyListValue, _ read: (PropertyListValue) -> Element?
    ) -> [Element]? {
        guard let values = value.arrayValue, (1...ConfigurationLimits.list).contains(values.count) else { return nil }
        let elements = values.compactMap(read)
        return Set(elements).count == values.count ? elements : nil
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
}
