// Making an envelope: the one place that signs. What is signed is DSSE's encoding of type and payload, so a reader
// never has to re-encode anything to verify.

package import TandemCrypto
package import TandemPropertyList

/// Signed bytes, as the signer made them.
package enum SignedEnvelope {
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
