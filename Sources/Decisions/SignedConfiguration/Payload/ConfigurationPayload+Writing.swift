// The payload as a signer writes it: deterministic, absent fields absent. The signer reads its own bytes back under the
// verifier's rules, so that nothing is signed that no verifier would take.

import TandemBase
package import TandemCrypto
package import TandemPropertyList

extension ConfigurationPayload {
    /// The payload's fields.
    package var dictionary: PropertyListDictionary {
        var fields: PropertyListDictionary = [
            "typ": "config", "spec": .string(specification), "app": .string(application.description),
            "role": .string(role.rawValue), "target": .string(target.text), "ver": PropertyListValue(version),
            "keyset": PropertyListValue(keySetVersion), "txid": .data(transaction.bytes),
            "iat": PropertyListValue(issued), "values": .dictionary(values),
        ]
        fields["only"] = only.map { .array($0.map { .data($0.bytes) }) }
        fields["nbf"] = notBefore.map { PropertyListValue($0) }
        fields["expires"] = expires.map { PropertyListValue($0) }
        fields["lifetime"] = lifetime.map { PropertyListValue($0) }
        fields["floor"] = floor.map { PropertyListValue($0) }
        fields["crit"] = critical.map { .array($0.map { .string($0) }) }
        fields["optional"] = optional.map { .array($0.map { .string($0) }) }
        return fields
    }
}

/// Why a configuration could not be signed.
package enum SigningError: Error, Sendable, Equatable {
    /// The payload breaks a rule of CFG-10.
    case payload(PayloadError)
    case propertyList(PropertyListError)
    case noKeys
    /// The envelope would have this many bytes.
    case oversize(Int)
}

extension SigningError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .payload(let error): "the configuration cannot be signed: \(error.detail)"
        case .propertyList(let error): "the values cannot be written as a property list: \(error.description)"
        case .noKeys: "no key to sign with was given"
        case .oversize(let count):
            "the signed configuration would have \(count) bytes; at most \(ConfigurationLimits.envelope) are allowed"
        }
    }
}

/// Signs configurations.
package enum ConfigurationSigner {
    /// The exact bytes of the signed configuration envelope.
    package static func sign(
        _ payload: ConfigurationPayload, with keys: [ConfigurationPrivateKey]
    ) throws(SigningError) -> [UInt8] {
        guard !keys.isEmpty else { throw .noKeys }
        let bytes = try written(payload, with: keys)
        guard bytes.count <= ConfigurationLimits.envelope else { throw .oversize(bytes.count) }
        return bytes
    }

    private static func written(
        _ payload: ConfigurationPayload, with keys: [ConfigurationPrivateKey]
    ) throws(SigningError) -> [UInt8] {
        let fields = payload.dictionary
        do { _ = try ConfigurationPayload(fields) } catch { throw .payload(error) }
        do {
            let body = try PropertyListWriter.write(fields)
            return try SignedEnvelope.bytes(body, type: .configuration, signedWith: keys.map(\.key))
        } catch {
            throw .propertyList(error)
        }
    }
}
