// Desired state for people and programs (CTL-23, CTL-24): the envelope desired of each secondary, the one it has
// reported, and since when the two differ.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration

/// Rows of one answer, those that lack something first: at most LIM-85, and the number of those that are left out.
struct StatusRows {
    private var lacking: [PropertyListDictionary] = []
    private var others: [PropertyListDictionary] = []
    private var count = 0

    /// - Parameter row: not called for a row that has no room.
    mutating func add(isLacking: Bool, _ row: () -> PropertyListDictionary) {
        count += 1
        if isLacking {
            if lacking.count < DesiredStatus.rowLimit { lacking.append(row()) }
        } else if others.count < DesiredStatus.rowLimit {
            others.append(row())
        }
    }

    var shown: [PropertyListDictionary] { Array((lacking + others).prefix(DesiredStatus.rowLimit)) }
    var more: Int { max(0, count - DesiredStatus.rowLimit) }
}

/// The desired state of a primary at one moment. Its tables are apps times secondaries, and worked out in parts.
struct DesiredStatus {
    struct Secondary {
        let name: String
        /// The name of the secondary that carries for it; nil for one of this device's own.
        let via: String?
        let addressee: ConfigurationAddressee
        /// Whether it has a link; nil for one behind a carrier.
        private(set) var isLinked: Bool?
        /// Whether it has taken a delivery that it has not reported on.
        private(set) var hasTaken: (ForwardedConfiguration) -> Bool = { _ in false }
    }

    /// Rows of one answer (LIM-85): with the longest names and texts they fit a frame.
    static let rowLimit = ConfigurationLimits.rows

    let state: DesiredConfigurations
    let secondaries: [Secondary]
    let now: WallTime
    let parts: LoopWork

    /// The slots that are desired or have been, of an application or of all.
    func keys(
        of application: ApplicationIdentifier?, role: DeviceRole? = nil, target: PairedIdentifier? = nil
    ) -> [ConfigurationSlotKey] {
        state.keys.filter { key in
            application.map { key.application == $0 } ?? true && role.map { key.role == $0 } ?? true
                && target.map { key.target == $0 } ?? true
        }
    }

    // MARK: status

    /// One row for each secondary and slot, those that lack something first, and the number of rows that are left out.
    func rows(of keys: [ConfigurationSlotKey]) async -> (rows: [PropertyListDictionary], more: Int) {
        var rows = StatusRows()
        var pace = AnswerPace(parts)
        for key in keys {
            for secondary in secondaries {
                await pace.step()
                guard let standing = state.standing(of: secondary.addressee, for: key) else { continue }
                let isLacking = standing.staleSince != nil && !standing.awaitsApplication
                rows.add(isLacking: isLacking) { row(secondary, key, standing) }
            }
        }
        return (rows.shown, rows.more)
    }

    private func row(
        _ secondary: Secondary, _ key: ConfigurationSlotKey, _ standing: SecondaryStanding
    ) -> PropertyListDictionary {
        key.fields.merging(present: [
            "name": .string(secondary.name), "via": secondary.via.map { .string($0) },
            "pairing": .data(secondary.addressee.pairing.bytes), "version": PropertyListValue(standing.desired.version),
            "digest": .data(standing.desired.digest), "drift": .boolean(standing.isDrift),
            "linked": secondary.isLinked.map { .boolean($0) },
            "reported": standing.reported.map { PropertyListValue($0) },
            "reportedDigest": standing.reportedOther.map { .data($0) },
            "verdict": standing.verdict.map { .string($0) }, "text": standing.text.map { .string($0) },
            "ending": standing.ending.map { .string($0.rawValue) },
            "taken": standing.outstanding.map(secondary.hasTaken) == true ? true : nil,
            "rollout": standing.desired.rollout.map { .string(Self.words(of: $0)) },
            "stale": standing.staleSince.map { .integer($0.milliseconds) },
            "over": standing.isOver(at: now) ? true : nil, "noApp": standing.awaitsApplication ? true : nil,
        ])
    }

    // MARK: the commands

    /// All secondaries that have applied what these versions desire of them (CFG-77): near ones by name, and far ones
    /// as rows, since a carrier's word for a name must not look like a near one's (CTL-37).
    func holders(
        of key: ConfigurationSlotKey, versions: [UInt64]
    ) -> (near: [PropertyListValue], far: [PropertyListValue]) {
        let holders = secondaries.filter { secondary in
            guard let standing = state.standing(of: secondary.addressee, for: key) else { return false }
            return standing.staleSince == nil && versions.contains(standing.desired.version)
        }
        let far = holders.compactMap { holder -> PropertyListValue? in
            guard let via = holder.via else { return nil }
            return .dictionary([
                "name": .string(holder.name), "via": .string(via), "pairing": .data(holder.addressee.pairing.bytes),
            ])
        }
        return (holders.filter { $0.via == nil }.map { PropertyListValue.string($0.name) }, far)
    }

    /// One row for each desired envelope (CTL-23), with the number of secondaries that have it, and of those that lack
    /// it.
    func list(_ application: ApplicationIdentifier?) async -> (rows: [PropertyListDictionary], more: Int) {
        var rows: [PropertyListDictionary] = []
        var count = 0
        var pace = AnswerPace(parts)
        for key in keys(of: application) {
            let desired = state.desired(of: key)
            count += desired.count
            guard rows.count < Self.rowLimit else { continue }
            // Once for each secondary, and not for each row.
            var standings: [[UInt8]: [SecondaryStanding]] = [:]
            for secondary in secondaries {
                await pace.step()
                guard let standing = state.standing(of: secondary.addressee, for: key) else { continue }
                standings[standing.desired.digest, default: []].append(standing)
            }
            for one in desired.reversed().prefix(Self.rowLimit - rows.count) {
                rows.append(describe(one, standings[one.digest] ?? []))
            }
        }
        return (rows, count - rows.count)
    }

    private func describe(_ desired: DesiredConfiguration, _ standings: [SecondaryStanding]) -> PropertyListDictionary {
        // A secondary in the state `no-app` is counted apart (CTL-24).
        let withoutApp = standings.count(where: \.awaitsApplication)
        let (all, lapsed) = (standings.count { $0.staleSince == nil }, standings.count { $0.isOver(at: now) })
        return describe(desired).merging(present: [
            "secondaries": .integer(Int64(standings.count - withoutApp)),
            "noApp": withoutApp > 0 ? .integer(Int64(withoutApp)) : nil, "applied": .integer(Int64(all - lapsed)),
            "lapsed": .integer(Int64(lapsed)), "drifted": .integer(Int64(standings.count(where: \.isDrift))),
        ])
    }

    private func describe(_ desired: DesiredConfiguration) -> PropertyListDictionary {
        let first = desired.rollout.map { rollout in
            secondaries.filter { rollout.first.contains($0.addressee.pairing) }.map(\.name)
        }
        return desired.key.fields.merging(present: [
            "version": PropertyListValue(desired.version), "digest": .data(desired.digest),
            "txid": .data(desired.payload.transaction.bytes), "accepted": .integer(desired.accepted.milliseconds),
            "signers": .array(desired.signers.map { .data($0) }),
            "only": desired.payload.only.map { .array($0.map { .data($0.bytes) }) },
            "expires": desired.payload.expires.map { PropertyListValue($0) },
            "first": first.map { .array($0.map { .string($0) }) },
            "rollout": desired.rollout.map { .string(Self.words(of: $0)) },
        ])
    }

    private static func words(of rollout: ConfigurationRollout) -> String {
        rollout.stopped.map { "stopped: \($0)" } ?? "waiting for the first"
    }

    /// Everything about one slot (CTL-24): what is desired, the history, and the secondaries.
    func show(_ key: ConfigurationSlotKey) async -> PropertyListDictionary {
        let desired = state.desired(of: key).reversed().map { PropertyListValue.dictionary(describe($0)) }
        let accepted = state.history(of: key).reversed().map { PropertyListValue.dictionary($0.summary) }
        let (rows, more) = await rows(of: [key])
        let secondaries = rows.map { row in
            PropertyListValue.dictionary(row.merging(["history": .array(history(of: key, at: row["pairing"]))]))
        }
        return key.fields.merging([
            "desired": .array(desired), "history": .array(accepted), "secondaries": .array(secondaries),
            "others": .array(others(of: key, atMost: Self.rowLimit - rows.count)), "more": .integer(Int64(more)),
        ])
    }

    /// Secondaries that have applied something in this slot and of which nothing is desired there now: the operator has
    /// withdrawn it, or the envelopes no longer name them.
    private func others(of key: ConfigurationSlotKey, atMost limit: Int) -> [PropertyListValue] {
        secondaries.lazy.filter { state.standing(of: $0.addressee, for: key) == nil }.compactMap { secondary in
            let pairing = PropertyListValue.data(secondary.addressee.pairing.bytes)
            let history = history(of: key, at: pairing)
            guard !history.isEmpty else { return nil }
            return .dictionary(
                PropertyListDictionary(present: [
                    "name": .string(secondary.name), "pairing": pairing, "history": .array(history),
                    "via": secondary.via.map { .string($0) }, "linked": secondary.isLinked.map { .boolean($0) },
                ]))
        }.prefix(limit).map { $0 }
    }

    private func history(of key: ConfigurationSlotKey, at pairing: PropertyListValue?) -> [PropertyListValue] {
        guard let bytes = pairing?.dataValue, let identifier = UniqueIdentifier(bytes: bytes) else { return [] }
        let accepted = state.history(of: key)
        return (state.state(of: key, at: identifier)?.history ?? []).reversed().map { line in
            // All rows have to fit the answer (LIM-85).
            let isAmbiguous = accepted.count { $0.version == line.version } > 1
            return .dictionary(
                PropertyListDictionary(present: [
                    "version": PropertyListValue(line.version), "reported": .integer(line.reported.milliseconds),
                    "digest": isAmbiguous ? line.digest.map { .data($0) } : nil,
                ]))
        }
    }
}
