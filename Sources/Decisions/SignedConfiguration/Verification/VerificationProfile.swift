// Who runs which of the steps that depend on the place (CFG-21). Every other step is run by everybody, always.

/// The steps that one verifier runs beyond those that all run.
package struct VerificationProfile: Sendable, Equatable {
    /// Step 13.
    package let checksTarget: Bool
    /// Step 14.
    package let checksKeySetVersion: Bool
    /// Step 15.
    package let checksVersion: Bool
    /// Step 16.
    package let checksTime: Bool
    /// Step 18, where a schema is at hand.
    package let checksSchema: Bool
    /// Signatures by keys revoked since count, and the result is marked (CFG-23).
    package let countsRevoked: Bool

    /// The library, before applying.
    package static let full = VerificationProfile(
        checksTarget: true, checksKeySetVersion: true, checksVersion: true, checksTime: true, checksSchema: true,
        countsRevoked: false)
    /// The secondary's daemon, before staging: the same steps, the schema only where it holds one.
    package static let staging = full
    /// The primary, before forwarding: never steps 13, 15 and 18.
    package static let forwarding = VerificationProfile(
        checksTarget: false, checksKeySetVersion: true, checksVersion: false, checksTime: true, checksSchema: false,
        countsRevoked: false)
    /// What is already applied: never steps 14 to 16.
    package static let load = VerificationProfile(
        checksTarget: true, checksKeySetVersion: false, checksVersion: false, checksTime: false, checksSchema: true,
        countsRevoked: true)
}
