// Everything that a verification compares with, gathered before it starts: the same bytes in the same context give the
// same verdict. All steps use one `now`, so that a clock that jumps in between decides nothing. The profile says which
// verifier runs which steps (CFG-21).

package import TandemBase

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
    /// The signed bytes' digest of what is applied without good signatures (CFG-22); nil if nothing is.
    package var waivedStatement: [UInt8]?
    /// Both halves of CFG-22.
    package var allowsInvalidSignatures: Bool
    /// The finding of step 18 on the bytes that are verified; nil if the app's schema takes them, or is not known.
    package var schemaRefusal: SchemaRefusal?
    /// The configuration is from a primary that is not the active one, so the app does not see it now.
    package var isOfInactivePrimary: Bool

    package init(
        profile: VerificationProfile, application: ApplicationIdentifier, role: DeviceRole,
        anchor: ConfigurationAnchor, target: PairedIdentifier?, device: UniqueIdentifier?, now: WallTime,
        clockFloor: WallTime = .earliestPlausible, isOfInactivePrimary: Bool = false, mark: VersionMark? = nil,
        allowsInvalidSignatures: Bool = false
    ) {
        self.profile = profile
        self.application = application
        self.role = role
        self.anchor = anchor
        self.target = target
        self.device = device
        self.now = now
        self.clockFloor = max(clockFloor, .earliestPlausible)
        self.isOfInactivePrimary = isOfInactivePrimary
        self.mark = mark
        self.allowsInvalidSignatures = allowsInvalidSignatures
    }

    var subject: KeySubject { KeySubject(application: application, role: role) }

    /// Why the app does not get the configuration now although it is staged; nil if it is only not connected.
    var waitingReason: String? {
        let hint = "another primary is the active one on this device; see 'tandem switch'"
        let reasons = [isOfInactivePrimary ? hint : nil, schemaRefusal?.warning].compactMap(\.self)
        return reasons.isEmpty ? nil : reasons.joined(separator: "; ")
    }
}

/// An app's schema refuses values that pass every other step (step 18).
package struct SchemaRefusal: Sendable, Equatable {
    /// The mistakes, in the words of the app's own library.
    package let text: String
    /// The app that is connected has this schema. Without one the schema may be that of an earlier version (CFG-109).
    package let isCurrent: Bool

    package init(text: String, isCurrent: Bool) {
        self.text = text
        self.isCurrent = isCurrent
    }

    /// CFG-108: the app that is connected would refuse it with these words.
    func check(_ payload: ConfigurationPayload) throws(VerificationFailure) {
        if isCurrent { throw VerificationFailure(.schema, text, payload: payload) }
    }

    /// CFG-109: a newer version of the app may take it.
    var warning: String { "the last schema of the app refuses it: \(text)" }
}

/// The steps that one verifier runs beyond those that all run.
package enum VerificationProfile: Sendable {
    /// The library, before applying, which runs step 18 itself: that makes the typed values. The secondary's daemon,
    /// before staging.
    case full
    /// The primary, before forwarding: never steps 13 and 15, which it replaces by what it knows of all its secondaries
    /// (CFG-71).
    case forwarding
    /// An applied configuration: never steps 14 to 16. Signatures by keys revoked since count, and the result is marked
    /// (CFG-23).
    case load
}
