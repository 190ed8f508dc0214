// Bytes that have the form of an envelope (steps 1 to 3) and nothing more: nobody has vouched for anything in it. It
// keeps the exact bytes, because they and no re-encoding of them are verified, stored and forwarded.

import TandemCrypto
import TandemPropertyList

/// One signature of an envelope: a claim of who signed, and bytes.
package struct EnvelopeSignature: Sendable, Equatable {
    /// Which key it claims to be by; any bytes.
    package let keyIdentifier: [UInt8]
    package let bytes: [UInt8]

    package init(keyIdentifier: [UInt8], bytes: [UInt8]) {
        self.keyIdentifier = keyIdentifier
        self.bytes = bytes
    }
}

/// An envelope whose signatures have not been checked.
package struct UnverifiedEnvelope: Sendable {
    /// The exact bytes received.
    package let bytes: [UInt8]
    package let payloadType: String
    package let payload: [UInt8]
    package let signatures: [EnvelopeSignature]

    /// Steps 1 to 3 of CFG-20: size, strict form, shape.
    package init(_ bytes: [UInt8]) throws(VerificationFailure) {
        guard bytes.count <= ConfigurationLimits.envelope else {
            throw VerificationFailure(
                .oversize, "\(bytes.count) bytes; an envelope has at most \(ConfigurationLimits.envelope)")
        }
        let root = try Self.dictionary(bytes)
        do {
            var fields = FieldReader(root)
            _ = try fields.required("v", "1") { $0.integerValue == 1 ? 1 : nil }
            payloadType = try fields.required("payloadType", "a string") { $0.stringValue }
            payload = try fields.required("payload", "data") { $0.dataValue }
            signatures = try fields.required("signatures", "a list of at most 64 signatures", Self.signatures)
            try fields.refuseUnknownFields()
        } catch {
            throw VerificationFailure(.shape, error.description)
        }
        self.bytes = bytes
    }

    /// SHA-256 of the exact bytes: the configuration's digest.
    package var digest: [UInt8] { SHA256.digest(bytes) }

    /// What the payload type is; nil for an unknown one. Nobody vouches for it yet: for choosing a reader only.
    package var claimedType: SignedPayloadType? { SignedPayloadType(rawValue: payloadType) }

    private static func dictionary(_ bytes: [UInt8]) throws(VerificationFailure) -> PropertyListDictionary {
        do {
            return try PropertyListReader.readDictionary(bytes)
        } catch {
            throw VerificationFailure(.malformed, error.description)
        }
    }

    private static func signatures(_ value: PropertyListValue) -> [EnvelopeSignature]? {
        guard let values = value.arrayValue, values.count <= ConfigurationLimits.signatures else { return nil }
        let signatures = values.compactMap { EnvelopeSignature($0) }
        return signatures.count == values.count ? signatures : nil
    }
}

extension EnvelopeSignature {
    fileprivate init?(_ value: PropertyListValue) {
        guard let pairs = value.dictionaryValue, pairs.count == 2, let keyIdentifier = pairs["keyid"]?.dataValue,
            let bytes = pairs["sig"]?.dataValue
        else { return nil }
        self.init(keyIdentifier: keyIdentifier, bytes: bytes)
    }
}
