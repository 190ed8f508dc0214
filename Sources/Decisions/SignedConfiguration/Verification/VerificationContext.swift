// Everything that a verification is measured against, gathered before it starts: the same bytes in the same context
// give the same verdict. One `now` for all steps, so that a clock that jumps in between decides nothing.

package import TandemBase
package import TandemPropertyList

/// Judges the values of a configuration against an app's schema: nil if all may be held, else what is wrong.
package typealias SchemaCheck = @Sendable (_ values: PropertyListDictionary, _ optional: Set<String>) -> String?

/// What a configuration is verified against.
package struct VerificationContext: Sendable {
    package var profile: VerificationProfile
    package var application: ApplicationIdentifier
    /// For which side's app this verifier is.
    package var role: DeviceRole
    package var anchor: ConfigurationAnchor
    /// The paired identifier of this device for the application; nil where step 13 is not run.
    package var target: PairedIdentifier?
    /// This device's vendor identifier, for `only`.
    package var device: UniqueIdentifier?
    package var now: WallTime
    /// Below this the clock is unset (CFG-33).
    package var clockFloor: WallTime
    package var mark: VersionMark?
    /// Both halves of CFG-22.
    package var allowsInvalidSignatures: Bool
    package var schema: SchemaCheck?

    package init(
        profile: VerificationProfile, application: ApplicationIdentifier, role: DeviceRole,
        anchor: ConfigurationAnchor, target: PairedIdentifier?, device: UniqueIdentifier?, now: WallTime,
        clockFloor: WallTime = WallTime(seconds: ConfigurationLimits.earliestClock), mark: VersionMark? = nil,
        allowsInvalidSignatures: Bool = false, schema: SchemaCheck? = nil
    ) {
        self.profile = profile
        self.application = application
        self.role = role
        self.anchor = anchor
        self.target = target
        self.device = device
        self.now = now
        self.clockFloor = max(clockFloor, WallTime(seconds: ConfigurationLimits.earliestClock))
        self.mark = mark
        self.allowsInvalidSignatures = allowsInvalidSignatures
        self.schema = schema
    }
}
