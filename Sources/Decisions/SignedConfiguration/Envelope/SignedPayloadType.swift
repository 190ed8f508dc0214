// What a signed payload is. The type is covered by the signature (it is the first part of the encoding that is signed),
// so that a good signature over one kind of statement never passes for another.

/// The payload types of the protocol (CFG-3).
package enum SignedPayloadType: String, Sendable, Hashable, CaseIterable {
    case configuration = "application/vnd.tandem.config.v1+bplist"
    case report = "application/vnd.tandem.report.v1+bplist"
    case keySet = "application/vnd.tandem.keyset.v1+bplist"
    case revocation = "application/vnd.tandem.revocation.v1+bplist"
}
