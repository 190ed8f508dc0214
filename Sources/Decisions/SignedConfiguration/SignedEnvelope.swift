// Envelopes of signed payloads: writing them, reading them before any verification, and their text form as a link. The
// signature covers DSSE's encoding of payload type and payload, so that a signature over one kind of statement is not
// valid for another. A reader keeps the exact bytes: they are verified, stored and forwarded, never re-encoded.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
import TandemWire

package enum SignedEnvelope {
    /// The exact bytes of a statement with these fields, signed by each key.
    static func signed(
        _ fields: PropertyListDictionary, type: SignedPayloadType, with keys: [PrivateKey]
    ) throws(SigningError) -> [UInt8] {
        guard !keys.isEmpty else { throw .noKeys }
        do {
            return try bytes(try PropertyListWriter.write(fields), type: type, signedWith: keys)
        } catch {
            throw .propertyList(error)
        }
    }

    /// The envelope of a payload with one signature by each key, in the order given.
    package static func bytes(
        _ payload: [UInt8], type: SignedPayloadType, signedWith keys: [PrivateKey]
    ) throws(PropertyListError) -> [UInt8] {
        let message = PreAuthenticationEncoding.bytes(type: type.rawValue, body: payload)
        let signatures = keys.map { key in
            EnvelopeSignature(keyIdentifier: key.publicKey.identifier.bytes, bytes: key.sign(message))
        }
        return try bytes(payload, type: type.rawValue, signatures: signatures)
    }

    /// The envelope with one more signature by each key over the payload as it is.
    /// - Throws: `shape` and the like for bytes that are no envelope, `dup-keyid` for a second signature by one key,
    ///   and each fault in the form of the result.
    package static func adding(_ keys: [PrivateKey], to envelope: [UInt8]) throws(VerificationFailure) -> [UInt8] {
        let before = try UnverifiedEnvelope(envelope)
        let message = PreAuthenticationEncoding.bytes(type: before.payloadType, body: before.payload)
        var signatures = before.signatures
        for key in keys {
            let identifier = key.publicKey.identifier.bytes
            guard !signatures.contains(where: { $0.keyIdentifier == identifier }) else {
                throw VerificationFailure(.duplicateKeyIdentifier, "the key \(key.publicKey.identifier) has signed it")
            }
            signatures.append(EnvelopeSignature(keyIdentifier: identifier, bytes: key.sign(message)))
        }
        let longer: [UInt8]
        do { longer = try bytes(before.payload, type: before.payloadType, signatures: signatures) } catch {
            throw VerificationFailure(.malformed, error.description)
        }
        switch try UnverifiedEnvelope(longer).claimedType {
        case .keySet, .revocation: try UnverifiedEnvelope.checkStatement(longer)
        case .configuration, .report, .carrier, nil: break
        }
        return longer
    }

    /// The envelope with exactly these parts, whatever they are worth; tests make bad ones with it.
    package static func bytes(
        _ payload: [UInt8], type: String, signatures: [EnvelopeSignature]
    ) throws(PropertyListError) -> [UInt8] {
        let list = signatures.map { signature -> PropertyListValue in
            ["keyid": .data(signature.keyIdentifier), "sig": .data(signature.bytes)]
        }
        return try PropertyListWriter.write(
            ["v": 1, "payloadType": .string(type), "payload": .data(payload), "signatures": .array(list)]
                as PropertyListDictionary)
    }
}

/// The payload types of the protocol (CFG-3).
package enum SignedPayloadType: String, Sendable, Hashable, CaseIterable {
    case configuration = "application/vnd.tandem.config.v1+bplist"
    case report = "application/vnd.tandem.report.v1+bplist"
    case keySet = "application/vnd.tandem.keyset.v1+bplist"
    case revocation = "application/vnd.tandem.revocation.v1+bplist"
    case carrier = "application/vnd.tandem.carrier.v1+bplist"
}

/// One signature of an envelope: a claimed key identifier, and bytes.
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
        let root = try PropertyListDictionary(reading: bytes, else: .malformed)
        do {
            var fields = FieldReader(root)
            payload = try fields.required("payload", "data") { $0.dataValue }
            payloadType = try fields.required("payloadType", "a string") { $0.stringValue }
            signatures = try fields.required("signatures", "a list of at most 64 signatures", Self.signatures)
            try fields.firstVersion()
            try fields.refuseUnknownFields()
        } catch {
            throw VerificationFailure(.shape, error.description)
        }
        self.bytes = bytes
    }

    /// SHA-256 of the exact bytes: the configuration's digest.
    package var digest: [UInt8] { SHA256.digest(bytes) }

    /// The signed bytes: the same for every envelope around one statement, whatever its signatures.
    var statement: SignedMessage {
        SignedMessage(PreAuthenticationEncoding.bytes(type: payloadType, body: payload))
    }

    /// The payload type; nil for an unknown one. It is not verified: use it only to choose a reader.
    package var claimedType: SignedPayloadType? { SignedPayloadType(word: payloadType) }

    /// The payload's fields, of which nothing is verified; nil if it does not read.
    package var claimedFields: PropertyListDictionary? { try? PropertyListReader.readDictionary(payload) }

    /// The payload as a configuration of this app, of which nothing is verified: enough to route it.
    /// - Throws: `wrong-type`, `payload-malformed` or `wrong-app` for anything else.
    package func claimedConfiguration(
        of app: ApplicationIdentifier
    ) throws(VerificationFailure) -> ConfigurationPayload {
        try checkIsConfiguration()
        guard let fields = claimedFields, let payload = try? ConfigurationPayload(fields) else {
            throw VerificationFailure(.payloadMalformed, "the payload does not read as a configuration")
        }
        try KeySubject(application: app, role: payload.role).check(payload.subject)
        return payload
    }

    func checkIsConfiguration() throws(VerificationFailure) {
        guard claimedType == .configuration else {
            throw VerificationFailure(.wrongType, "the payload type is not that of a configuration")
        }
    }

    /// The tighter bound for statements about keys (CFG-83).
    static func checkStatement(_ bytes: [UInt8]) throws(VerificationFailure) {
        let limit = ConfigurationLimits.keyStatement
        guard bytes.count <= limit else {
            throw VerificationFailure(.oversize, "\(bytes.count) bytes; a statement about keys has at most \(limit)")
        }
    }

    private static func signatures(_ value: PropertyListValue) -> [EnvelopeSignature]? {
        value.list(atMost: ConfigurationLimits.signatures) { EnvelopeSignature($0) }
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

/// A signed configuration as text, for a message, a web page or a QR code: `tandem:apply/1?e=` and the envelope in
/// base64url (CFG-60). It is a copy of the envelope and carries no other authority.
package enum ApplyLink {
    private static let scheme = "tandem:apply/"
    private static let prefix = scheme + "1?e="

    /// Why a text is no such link.
    package enum Failure: String, Error, Sendable {
        case notAnApplyLink = "this is not a link of the form tandem:apply/1?e=..."
        case notBase64URL = "the link is damaged: what follows e= is not base64url without padding"
        case tooLong = "the link holds more than an envelope may have"
    }

    /// Whether a text is meant as such a link, of whichever version and however damaged.
    package static func isClaimed(by text: String) -> Bool { text.utf8.starts(with: scheme.utf8) }

    /// The links of a text for people, damaged ones too, without the marks that enclose a link or follow it.
    package static func links(in text: String) -> [String] {
        let words = text.split { mark in
            mark.isWhitespace || "<>`".contains(mark) || mark.isPunctuation && !"/_-?.:".contains(mark)
        }
        return words.compactMap { word in
            guard let start = word.firstRange(of: scheme)?.lowerBound else { return nil }
            var link = word[start...]
            while let last = link.last, "?.:".contains(last) { link.removeLast() }
            return String(link)
        }
    }

    package static func text(of envelope: [UInt8]) -> String { prefix + Base64URL.encode(envelope) }

    /// Whether the link of the envelope fits one QR code.
    package static func fitsQRCode(_ envelope: [UInt8]) -> Bool {
        envelope.count <= ConfigurationLimits.qrEnvelope
    }

    /// The envelope's bytes; nothing about them is checked but their number.
    package static func envelope(in text: String) throws(Failure) -> [UInt8] {
        guard text.utf8.starts(with: prefix.utf8) else { throw .notAnApplyLink }
        let encoded = text.utf8.dropFirst(prefix.utf8.count)
        guard encoded.count <= (ConfigurationLimits.envelope * 4 + 2) / 3 else { throw .tooLong }
        guard let bytes = Base64URL.decode(String(Substring(encoded))) else { throw .notBase64URL }
        return bytes
    }
}

extension ApplyLink.Failure: CustomStringConvertible {
    package var description: String { rawValue }
}
