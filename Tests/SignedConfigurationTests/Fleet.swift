// A primary's desired state with simulated secondaries, on which the tests of desired state and of rollouts act.

import TandemBase
import TandemCrypto
import TandemSignedConfiguration
import Testing

/// Desired configurations, and secondaries that sign their reports.
struct Fleet {
    struct Member {
        let pairing = UniqueIdentifier.random()
        let device = UniqueIdentifier.random()
        let key = ReportPrivateKey.generate()
        var counter: UInt64 = 0
        /// Of its pairing.
        var epoch: UInt64 = 1
    }

    var desired = DesiredConfigurations()
    /// The items that the last event took back.
    private(set) var cancelled: [UniqueIdentifier?] = []
    /// The deliveries whose rows the last report has removed.
    private(set) var forgotten: [UniqueIdentifier] = []
    var members: [Member]
    var now = Fixture.now
    var target: PairedIdentifier
    /// Whether unanswered items have left the primary's queues.
    var hasLeft = false
    /// Whether the members lack keys.
    var isBehind = false
    var trust = TrustMark.unnamed
    let key: ConfigurationSlotKey

    init(_ count: Int = 1) throws {
        members = (0..<count).map { _ in Member() }
        target = try Fixture.target()
        key = try Fixture.slotKey()
    }

    func addressee(_ index: Int) -> ConfigurationAddressee {
        let (target, isBehind, trust) = (target, isBehind, trust)
        return ConfigurationAddressee(
            pairing: members[index].pairing, epoch: members[index].epoch, device: members[index].device,
            isBehind: { _ in isBehind }, trust: { _ in trust }, target: { _ in target })
    }

    /// The pairing of a member begins another epoch.
    mutating func beginEpoch(_ index: Int) {
        members[index].epoch += 1
        _ = desired.enterEpoch(of: addressee(index))
    }

    /// An envelope of this version, for all or for some members.
    func envelope(
        _ version: UInt64, only: [Int]? = nil, lifetime: UInt64? = nil, keySet: UInt64 = 1
    ) throws -> [UInt8] {
        try Fixture.envelope(version: version) { payload in
            payload.keySetVersion = keySet
            payload.only = only.map { $0.map { members[$0].device } }
            payload.lifetime = lifetime
        }
    }

    /// Applies an envelope at the primary; returns the members that it is delivered to, with their items.
    mutating func accept(_ envelope: [UInt8], first: [Int]? = nil) throws -> [Int: ConfigurationItem] {
        let new = try DesiredConfiguration(envelope: envelope, accepted: now)
        let pairings = first.map { Set($0.map { members[$0].pairing }) }
        let hasLeft = hasLeft
        let transition = try desired.accept(
            new, first: pairings, for: members.indices.map { addressee($0) }, hasLeft: { _ in hasLeft }, at: now,
            identifier: { .random() })
        cancelled = transition.cancellations.map(\.id)
        return deliveries(of: transition)
    }

    /// Applies an envelope that the first member lacks.
    mutating func delivered(_ envelope: [UInt8]) throws -> ConfigurationItem {
        let items = try accept(envelope)
        return try #require(items[0])
    }

    /// How the delivery of an envelope to the first member has ended without a verdict.
    func ending(of envelope: [UInt8]) throws -> ForwardedConfiguration.Ending? {
        desired.ending(of: try DesiredConfiguration(envelope: envelope, accepted: now), at: addressee(0))
    }

    /// The item that a member lacks when its link comes up.
    mutating func linked(_ index: Int) throws -> ConfigurationItem {
        let item = link(index)
        return try #require(item)
    }

    func deliveries(of transition: DesiredTransition) -> [Int: ConfigurationItem] {
        let items = Dictionary(uniqueKeysWithValues: transition.deliveries.map { ($0.entry.pairing, $0) })
        guard !items.isEmpty else { return [:] }
        return Dictionary(
            uniqueKeysWithValues: members.indices.compactMap { index in
                items[members[index].pairing].map { (index, $0) }
            })
    }

    /// The link of a member comes up; none of its items is in its queue any more, unless said otherwise.
    mutating func link(_ index: Int, underWay: Bool = false, bringsKeys: Bool = true) -> ConfigurationItem? {
        let transition = desired.linked(
            addressee(index), isUnderWay: { _ in underWay }, bringsKeys: { _ in bringsKeys }, at: now,
            identifier: { .random() })
        return deliveries(of: transition)[index]
    }

    /// LIM-137 is over on the link of a member.
    mutating func reconsider(_ index: Int) -> ConfigurationItem? {
        let transition = desired.reconsidered(addressee(index), at: now, identifier: { .random() })
        return deliveries(of: transition)[index]
    }

    /// The member's app is announced.
    mutating func announce(_ index: Int, underWay: Bool = false) -> ConfigurationItem? {
        let transition = desired.changed(
            key.application, at: addressee(index), isUnderWay: { _ in underWay }, at: now, identifier: { .random() })
        cancelled = transition.cancellations.map(\.id)
        return deliveries(of: transition)[index]
    }

    /// The member reports on an item; returns what is delivered to it next.
    mutating func report(
        _ index: Int, _ item: ConfigurationItem, _ verdict: Verdict, good: ConfigurationItem? = nil,
        onTrial: Bool? = nil, text: String? = nil, about key: ConfigurationSlotKey? = nil
    ) throws -> ConfigurationItem? {
        members[index].counter += 1
        let active = verdict == .applied ? item : good
        let facts = ReportFacts(
            delivery: ConfigurationDelivery(pairing: members[index].pairing, nonce: item.entry.id),
            key: key ?? item.entry.key,
            digest: item.entry.digest, transaction: nil, version: item.entry.version, verdict: verdict, text: text,
            good: active.map { GoodConfiguration(version: $0.entry.version, digest: $0.entry.digest) },
            isOnTrial: onTrial)
        let report = ConfigurationReport(
            facts, device: members[index].device, counter: members[index].counter, time: now)
        let (_, transition) = try desired.report(
            report.signed(with: members[index].key), from: addressee(index), device: members[index].device,
            key: members[index].key.publicKey, at: now, identifier: { .random() })
        cancelled = transition.cancellations.map(\.id)
        forgotten = transition.changes.compactMap { change -> UniqueIdentifier? in
            if case .forgotten(let entry) = change { entry.id } else { nil }
        }
        return deliveries(of: transition)[index]
    }

    mutating func end(_ index: Int, _ item: ConfigurationItem, _ ending: ForwardedConfiguration.Ending) {
        _ = desired.ended(item.entry.id, at: members[index].pairing, ending, nil)
    }

    func standing(_ index: Int) -> SecondaryStanding? { desired.standing(of: addressee(index), for: key) }
}
