// The bytes that a DSSE signature covers: type and body with their lengths, so that no part can slide into the other
// and a signature for one type can never pass for another. Bytes are encoded, not characters.

/// DSSE's pre-authentication encoding (PAE), version 1.
package enum PreAuthenticationEncoding {
    /// `DSSEv1 LEN(type) type LEN(body) body`, each LEN the decimal count of bytes.
    package static func bytes(type: String, body: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(body.count + type.utf8.count + 32)
        encoded += "DSSEv1 ".utf8
        encoded += String(type.utf8.count).utf8
        encoded.append(UInt8(ascii: " "))
        encoded += type.utf8
        encoded.append(UInt8(ascii: " "))
        encoded += String(body.count).utf8
        encoded.append(UInt8(ascii: " "))
        encoded += body
        return encoded
    }
}
