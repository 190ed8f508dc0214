// Desired envelopes of one (app, role, target), found by version, by digest, and by the devices that they name: with an
// envelope of its own for each of thousands of secondaries, no event looks at all of them (LIM-85).

import TandemBase

struct DesiredSlot {
    /// The last envelopes that were accepted, the newest last (LIM-85).
    var history: [AcceptedConfiguration] = []
    /// A version that no secondary has applied yet leaves the proven one before it in place.
    private var envelopes: [UInt64: DesiredConfiguration] = [:]
    private var versions: [[UInt8]: UInt64] = [:]
    /// All versions, those that are for every secondary, and those that name a device; the highest last.
    private var all: [UInt64] = []
    private var general: [UInt64] = []
    private var named: [UniqueIdentifier: [UInt64]] = [:]
    /// The versions whose rollouts have not come to all.
    private(set) var rollouts: Set<UInt64> = []
    /// Bytes of the envelopes.
    private(set) var bytes = 0

    subscript(version: UInt64) -> DesiredConfiguration? { envelopes[version] }

    var hasDesired: Bool { !all.isEmpty }

    var count: Int { all.count }

    /// All of them; the highest version is last.
    var desired: [DesiredConfiguration] { all.compactMap { envelopes[$0] } }

    func envelope(_ digest: [UInt8]) -> DesiredConfiguration? { versions[digest].flatMap { envelopes[$0] } }

    func contains(_ digest: [UInt8]) -> Bool { versions[digest] != nil }

    /// The desired configuration that a delivery brought, also in another envelope.
    func configuration(of entry: ForwardedConfiguration) -> DesiredConfiguration? {
        envelopes[entry.version].flatMap { $0.isBrought(by: entry.digest) ? $0 : nil }
    }

    /// The desired envelope around the same signed bytes, which a new one takes the place of.
    func former(of new: DesiredConfiguration) -> DesiredConfiguration? {
        envelopes[new.version].flatMap { $0.isSame(as: new) ? $0 : nil }
    }

    /// Those of this version and above.
    func from(_ version: UInt64) -> [DesiredConfiguration] {
        all[Self.index(of: version, in: all)...].compactMap { envelopes[$0] }
    }

    /// Takes an envelope up, in the place of another one of its version.
    mutating func insert(_ new: DesiredConfiguration) {
        remove(new.version)
        envelopes[new.version] = new
        bytes += new.envelope.count
        versions[new.digest] = new.version
        change(new) { versions in versions.insert(new.version, at: Self.index(of: new.version, in: versions)) }
        if new.rollout != nil { rollouts.insert(new.version) }
    }

    mutating func remove(_ version: UInt64) {
        guard let old = envelopes.removeValue(forKey: version) else { return }
        bytes -= old.envelope.count
        versions[old.digest] = nil
        rollouts.remove(version)
        change(old) { versions in versions.remove(at: Self.index(of: version, in: versions)) }
    }

    /// An envelope was accepted; returns the history with it.
    mutating func noteAccepted(_ new: DesiredConfiguration) -> [AcceptedConfiguration] {
        history.append(AcceptedConfiguration(new))
        history.removeFirst(max(0, history.count - ConfigurationLimits.history))
        return history
    }

    /// These envelopes are desired no longer; returns the history with that.
    mutating func noteWithdrawn(_ digests: Set<[UInt8]>, at now: WallTime) -> [AcceptedConfiguration] {
        for index in history.indices where digests.contains(history[index].digest) && history[index].withdrawn == nil {
            history[index].withdrawn = now
        }
        return history
    }

    /// Changes the lists that an envelope is in.
    private mutating func change(_ one: DesiredConfiguration, _ body: (inout [UInt64]) -> Void) {
        body(&all)
        if one.payload.only == nil { body(&general) }
        for device in one.payload.only ?? [] {
            body(&named[device, default: []])
            if named[device]?.isEmpty == true { named[device] = nil }
        }
    }

    /// The first index of this version or a higher one.
    private static func index(of version: UInt64, in versions: [UInt64]) -> Int {
        versions.partitioningIndex { $0 >= version }
    }

    /// The highest one that is for a device and that the condition takes.
    private func highest(
        for device: UniqueIdentifier?, where isTaken: (DesiredConfiguration) -> Bool
    ) -> DesiredConfiguration? {
        var (general, own) = (general[...], (device.flatMap { named[$0] } ?? [])[...])
        while let version = (general.last ?? 0) > (own.last ?? 0) ? general.popLast() : own.popLast() {
            if let found = envelopes[version], isTaken(found) { return found }
        }
        return nil
    }

    /// The highest version that is for the secondary; in a rollout it has to be its turn.
    func desired(of addressee: ConfigurationAddressee) -> DesiredConfiguration? {
        highest(for: addressee.device) { $0.isOffered(to: addressee.pairing) }
    }

    /// Likewise, and that the secondary has not rejected; of a rollout that has stopped only if it has it already.
    func wanted(by addressee: ConfigurationAddressee, _ state: SecondaryState?) -> DesiredConfiguration? {
        highest(for: addressee.device) {
            $0.isOffered(to: addressee.pairing) && state?.hasRefused($0.digest) != true
                && ($0.rollout?.stopped == nil || $0.isBrought(by: state?.good?.digest))
        }
    }

    /// Why a configuration is not delivered to the secondary: it is desired no longer, or another one took its place.
    func ending(
        of desired: DesiredConfiguration, at addressee: ConfigurationAddressee, _ state: SecondaryState?
    ) -> ForwardedConfiguration.Ending? {
        guard contains(desired.digest) else {
            let isReplaced = self.desired(of: addressee).map { $0.version >= desired.version } ?? false
            return isReplaced ? .superseded : .withdrawn
        }
        return wanted(by: addressee, state).map { $0.version > desired.version } == true ? .superseded : nil
    }

    /// Those below a version that it replaces for every secondary that they name; the highest last.
    func covered(by new: DesiredConfiguration) -> [DesiredConfiguration] {
        guard let only = new.payload.only else {
            return all[..<Self.index(of: new.version, in: all)].compactMap { envelopes[$0] }
        }
        let candidates = Set(only.flatMap { named[$0] ?? [] }.filter { $0 < new.version })
        return candidates.sorted().compactMap { envelopes[$0] }.filter { new.covers($0) }
    }
}
