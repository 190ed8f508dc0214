// A key's name: the SHA-256 of its SubjectPublicKeyInfo. Devices are pinned by it and signatures refer to it; it is
// always computed from the key at hand, never believed.

package import TandemBase

/// SHA-256 of a public key's SubjectPublicKeyInfo in DER form; compared as bytes.
package struct KeyIdentifier: Sendable, Hashable {
    /// The 32 bytes.
    package let bytes: [UInt8]

    /// The identifier with exactly these 32 bytes; nil for any other count.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == SHA256.count else { return nil }
        self.bytes = Array(bytes)
    }

    /// The identifier written as 64 hexadecimal digits or as ``fingerprint`` (any case, with or without its groups);
    /// nil for anything else.
    package init?(text: String) {
        let digits = text.filter { $0 != "-" && $0 != " " }
        guard let bytes = Hexadecimal.decode(digits) ?? Base32.decode(digits) else { return nil }
        self.init(bytes: bytes)
    }

    init(subjectPublicKeyInfo: [UInt8]) {
        bytes = SHA256.digest(subjectPublicKeyInfo)
    }

    /// 64 lower-case hexadecimal digits.
    package var hexadecimal: String { Hexadecimal.encode(bytes) }

    /// The form for people to compare (PAR-11): base32 in 13 groups of four. Nothing is cut: a shortened fingerprint
    /// can be searched for.
    package var fingerprint: String {
        let digits = Array(Base32.encode(bytes))
        return stride(from: 0, to: digits.count, by: 4).map { String(digits[$0..<$0 + 4]) }.joined(separator: "-")
    }

    /// The version-8 UUID made of this digest: a device's vendor identifier.
    package var derivedIdentifier: UniqueIdentifier? { UniqueIdentifier.derived(fromDigest: bytes) }
}

extension KeyIdentifier {
    /// All bytes at once: an array would hash each by itself.
    package func hash(into hasher: inout Hasher) {
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}

extension KeyIdentifier: CustomStringConvertible {
    package var description: String { hexadecimal }
}
