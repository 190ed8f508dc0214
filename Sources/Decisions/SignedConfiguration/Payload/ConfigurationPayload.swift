// What a configuration says: for whom, in which version, with which values. A plain value that a signer fills in and a
// verifier reads; that it was read says nothing about who wrote it.

package import TandemBase
package import TandemPropertyList

/// The fields of a configuration's payload (CFG-10).
package struct ConfigurationPayload: Sendable, Equatable {
    package var specification = "1.0"
    package var application: ApplicationIdentifier
    /// For which side's app.
    package var role: DeviceRole
    package var target: PairedIdentifier
    /// The only secondaries it is for; nil for all that the target names.
    package var only: [UniqueIdentifier]?
    package var version: UInt64
    package var keySetVersion: UInt64
    /// `txid`: names this configuration in reports.
    package var transaction: UniqueIdentifier
    /// `iat`, seconds since 1970.
    package var issued: UInt64
    package var notBefore: UInt64?
    package var expires: UInt64?
    /// Seconds that it stays applied.
    package var lifetime: UInt64?
    /// Once this is applied, lower versions stay refused.
    package var floor: UInt64?
    /// Field names that a verifier must know.
    package var critical: [String]?
    /// Keys of ``values`` that an app without such a property ignores.
    package var optional: [String]?
    /// The complete set of overrides.
    package var values: PropertyListDictionary

    /// A payload with the fields that every configuration has.
    package init(
        application: ApplicationIdentifier, role: DeviceRole, target: PairedIdentifier, version: UInt64,
        keySetVersion: UInt64 = 1, transaction: UniqueIdentifier, issued: UInt64, values: PropertyListDictionary
    ) {
        self.application = application
        self.role = role
        self.target = target
        self.version = version
        self.keySetVersion = keySetVersion
        self.transaction = transaction
        self.issued = issued
        self.values = values
    }
}
