// Values of the desired state: the secondary that an event is about, the refusal of an envelope, the outcome of an
// event, and the standing of one secondary for people.

package import TandemBase

/// A secondary as the desired state addresses it.
package struct ConfigurationAddressee {
    package let pairing: UniqueIdentifier
    /// The present epoch of the pairing.
    package let epoch: UInt64
    /// Its vendor identifier; nil until it is known.
    package let device: UniqueIdentifier?
    /// The paired identifier that the secondary has for an application through this pairing.
    package let target: (ApplicationIdentifier) -> PairedIdentifier?
    /// Whether steps of a chain are not on their way to it yet, which a configuration would overtake (CFG-92).
    package let isBehind: (KeySubject) -> Bool
    /// The key that it trusts for an application.
    package let trust: (ApplicationIdentifier) -> TrustMark
    /// Whether it has announced an application as installed.
    package let hasApplication: (ApplicationIdentifier) -> Bool

    package init(
        pairing: UniqueIdentifier, epoch: UInt64 = 1, device: UniqueIdentifier?,
        isBehind: @escaping (KeySubject) -> Bool = { _ in false },
        trust: @escaping (ApplicationIdentifier) -> TrustMark = { _ in .unnamed },
        hasApplication: @escaping (ApplicationIdentifier) -> Bool = { _ in true },
        target: @escaping (ApplicationIdentifier) -> PairedIdentifier?
    ) {
        self.pairing = pairing
        self.epoch = epoch
        self.device = device
        self.isBehind = isBehind
        self.trust = trust
        self.hasApplication = hasApplication
        self.target = target
    }
}

/// An envelope that is not accepted (CFG-71).
package enum DesiredRefusal: Error, Sendable, Equatable {
    /// A higher version is desired.
    /// - isTaken: a secondary has applied it, or may still take it: also without it, lower versions are refused there.
    case rollback(inForce: UInt64, isTaken: Bool)
    /// A secondary has taken other bytes of this version, or may take them.
    case equivocation(version: UInt64)
    /// As many envelopes are desired as a primary keeps (LIM-85).
    case full
}

/// An item to submit for a secondary.
package struct ConfigurationItem: Sendable, Equatable {
    package let entry: ForwardedConfiguration
    package let envelope: [UInt8]
}

package enum DesiredChange: Sendable, Equatable {
    case desired(DesiredConfiguration)
    case dropped(ConfigurationSlotKey, version: UInt64)
    case history(ConfigurationSlotKey, [AcceptedConfiguration])
    case forwarded(ForwardedConfiguration)
    case forgotten(ForwardedConfiguration)
    case state(UniqueIdentifier, ConfigurationSlotKey, SecondaryState)
    case counter(UniqueIdentifier, ReportCounter)
    /// All rows of the pairing go.
    case unpaired(UniqueIdentifier)
}

package struct DesiredTransition: Sendable, Equatable {
    /// The rows, in their order.
    package internal(set) var changes: [DesiredChange] = []
    /// To submit after the commit.
    package internal(set) var deliveries: [ConfigurationItem] = []
    /// To take back after the commit, as far as their secondaries do not have them.
    package internal(set) var cancellations: [ForwardedConfiguration] = []
    /// Applications whose rollout goes on: all secondaries may lack something now.
    package internal(set) var promoted: Set<ApplicationIdentifier> = []

    package init(changes: [DesiredChange] = []) { self.changes = changes }

    package mutating func append(_ next: DesiredTransition) {
        changes += next.changes
        deliveries += next.deliveries
        cancellations += next.cancellations
        promoted.formUnion(next.promoted)
    }
}

/// The standing of one secondary in one slot (CFG-76).
package struct SecondaryStanding: Sendable, Equatable {
    package let desired: DesiredConfiguration
    /// The version that the last report says is active; nil for none, or without a report.
    package let reported: UInt64?
    /// The digest that the last report says is active, where it has the desired version with other bytes.
    package let reportedOther: [UInt8]?
    package let verdict: String?
    package let text: String?
    package let ending: ForwardedConfiguration.Ending?
    /// The delivery of the desired envelope whose verdict is outstanding.
    package let outstanding: ForwardedConfiguration?
    /// Since when the desired envelope is not reported as active; nil if it is.
    package let staleSince: WallTime?
    /// It had applied the desired envelope, and reports something else as active since.
    package let isDrift: Bool
    /// From then on what it has applied has outlived its lifetime, as far as this device can tell (CFG-34): no report
    /// says so.
    package let lifetimeEnd: WallTime?
    /// It has not announced the app, and nothing is expected of it before that (CTL-25).
    package let awaitsApplication: Bool

    init(_ desired: DesiredConfiguration, _ state: SecondaryState?, of addressee: ConfigurationAddressee) {
        self.desired = desired
        let delivery = state?.delivery(of: desired.digest)
        let isApplied = desired.isBrought(by: state?.good?.digest)
        reported = state?.good?.version
        reportedOther = isApplied || reported != desired.version ? nil : state?.good?.digest
        verdict =
            isApplied
            ? Verdict.applied.name
            : delivery?.verdict ?? state?.refusals.first { $0.digest == desired.digest }?.verdict
        text = isApplied ? state?.loadFault : Self.words(delivery?.text, state)
        ending = isApplied ? nil : delivery?.ending
        outstanding = isApplied ? nil : delivery.flatMap { $0.awaitsVerdict ? $0 : nil }
        let since = state?.awaited == desired.digest ? state?.awaitedSince : nil
        staleSince = isApplied ? nil : since ?? desired.accepted
        isDrift = state?.hasDrifted(from: desired) ?? false
        lifetimeEnd = state?.lifetimeEnd(of: desired)
        awaitsApplication = Verdict.awaitsApplication(
            hasApplication: addressee.hasApplication(desired.key.application), verdict: verdict, ending: ending,
            isDrift: isDrift)
    }

    /// The words on a delivery, and why the app does not load what is active in its place (CFG-114).
    private static func words(_ text: String?, _ state: SecondaryState?) -> String? {
        guard let state, let good = state.good, let fault = state.loadFault else { return text }
        let ofActive = "of the active version \(good.version): \(fault)"
        return text.map { "\($0); \(ofActive)" } ?? ofActive
    }

    /// Whether what it has applied has outlived its lifetime.
    package func isOver(at now: WallTime) -> Bool { lifetimeEnd.map { now >= $0 } ?? false }
}

extension SecondaryState {
    /// When the lifetime of this configuration is over, if it is the one that is applied and has a lifetime.
    func lifetimeEnd(of desired: DesiredConfiguration) -> WallTime? {
        guard desired.isBrought(by: good?.digest), let lifetime = desired.payload.lifetime, let applied = history.last
        else {
            return nil
        }
        return applied.reported + .seconds(Int64(clamping: lifetime))
    }
}
