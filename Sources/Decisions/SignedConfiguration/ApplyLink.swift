// A signed configuration as text: for a QR code, a message, a web page. It is a copy of the envelope and nothing else;
// who opens it gains no authority that the signatures do not give.

import TandemBase

/// `tandem:apply/1?e=` and the envelope in base64url (CFG-60).
package enum ApplyLink {
    private static let prefix = "tandem:apply/1?e="

    /// Why a text is no such link.
    package enum Failure: String, Error, Sendable {
        case notAnApplyLink = "this is not a link of the form tandem:apply/1?e=..."
        case notBase64URL = "the link is damaged: what follows e= is not base64url without padding"
        case tooLong = "the link holds more than an envelope may have"
    }

    package static func text(of envelope: [UInt8]) -> String { prefix + Base64URL.encode(envelope) }

    /// Whether one QR code can hold the envelope.
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
