// The two parts of a pairing. A role belongs to a pairing, not to a machine: one daemon may hold both kinds.

/// A device's part in a pairing: the phone's (primary) or the watch's (secondary).
public enum DeviceRole: String, Sendable, Hashable, CaseIterable {
    /// The phone's part: may be paired with several secondaries, one of them active.
    case primary
    /// The watch's part: dials its primary, and verifies what that sends.
    case secondary

    /// The other device's part in the same pairing.
    public var counterpart: DeviceRole { self == .primary ? .secondary : .primary }
}
