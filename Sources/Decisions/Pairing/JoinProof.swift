// Proof that an end of a join knows the link's secret, bound to this very TLS connection, to both keys, to what each
// end says of itself, and to the direction (PAR-7, PAR-9). A man in the middle has another exporter, a replay too, and
// a reflected proof carries the wrong label.

package import TandemBase
package import TandemCrypto

/// What both ends of one join agree on.
package struct JoinTranscript: Sendable {
    private let exporter: [UInt8]
    private let primary: KeyIdentifier
    private let secondary: KeyIdentifier
    private let token: JoinTokenIdentifier

    /// Bytes of the exporter's value and of a proof.
    package static var byteCount: Int { 32 }

    package init(exporter: [UInt8], primary: KeyIdentifier, secondary: KeyIdentifier, token: JoinTokenIdentifier) {
        self.exporter = exporter
        self.primary = primary
        self.secondary = secondary
        self.token = token
    }

    /// What the secondary's proof authenticates.
    package func secondaryMessage(_ claim: JoinClaim) -> [UInt8] { message("tandem-join-1 secondary", claim, []) }

    /// What the primary's proof authenticates.
    package func primaryMessage(_ claim: JoinClaim, pairing: UniqueIdentifier) -> [UInt8] {
        message("tandem-join-1 primary", claim, [pairing.bytes])
    }

    private func message(_ label: String, _ claim: JoinClaim, _ more: [[UInt8]]) -> [UInt8] {
        let parts = [
            Array(label.utf8), exporter, primary.bytes, secondary.bytes, token.bytes,
            SHA256.digest(claim.reportKey), Array(claim.name.utf8),
        ]
        return (parts + more).flatMap { part in
            let count = UInt32(clamping: part.count)
            return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + part
        }
    }
}

/// What an end of a join says of itself.
package struct JoinClaim: Sendable, Equatable {
    package let name: String
    /// SubjectPublicKeyInfo of the end's report key.
    package let reportKey: [UInt8]

    package init(name: String, reportKey: [UInt8]) {
        self.name = name
        self.reportKey = reportKey
    }
}
