// Forwarded configuration: one delivery of an envelope to one secondary with its result, and everything that the
// primary knows of one secondary's state for one application, role and target. Both are rows, so that a report that
// arrives after a restart finds what it answers.

package import TandemBase
package import TandemPropertyList
import TandemWire

/// A configuration on its way to one secondary, and its result. The item's identifier is the nonce that the report must
/// repeat.
package struct ForwardedConfiguration: Sendable, Equatable {
    /// How a delivery ended before the secondary judged it; the raw value is for people and programs.
    package enum Ending: String, Sendable, CaseIterable {
        /// The item's time to live ran out. Not `expired`, which is a rejection.
        case undelivered
        /// The operator withdrew the configuration before the secondary had it.
        case withdrawn
        /// A newer configuration took its place in the queue.
        case superseded
        /// The secondary could not take it, time and again.
        case failed
        /// The primary could not queue it: the disk or the queue is full.
        case notQueued = "not-queued"
    }

    /// The item, and the nonce.
    package let id: UniqueIdentifier
    package let pairing: UniqueIdentifier
    package let key: ConfigurationSlotKey
    package let version: UInt64
    /// The key set that the version counts in; nil in a row of an older daemon.
    let keySet: UInt64?
    package let digest: [UInt8]
    /// When it was made, and always later than those before it at the secondary: the clock may have stepped back.
    package let accepted: WallTime
    /// The last reported verdict; nil while there is none.
    package internal(set) var verdict: String?
    package internal(set) var text: String?
    package internal(set) var reported: WallTime?
    package internal(set) var ending: Ending?
    /// No other verdict follows.
    package internal(set) var isFinished = false
    /// Handled by the secondary or gone from its queue, and not answered: its report may be lost. Not stored.
    package internal(set) var isLost = false

    init(_ desired: DesiredConfiguration, id: UniqueIdentifier, pairing: UniqueIdentifier, at now: WallTime) {
        (self.id, self.pairing, key) = (id, pairing, desired.key)
        (version, keySet) = (desired.version, desired.payload.keySetVersion)
        (digest, accepted) = (desired.digest, now)
    }

    /// Whether there is no result yet.
    package var awaitsVerdict: Bool { verdict == nil && !isFinished }

    /// Whether the secondary may take later what it has rejected, for a reason that this device does not see (CFG-73).
    package var mayPassLater: Bool {
        guard let rejection = verdict.flatMap({ Rejection(word: $0) }) else { return false }
        return rejection == .expired || rejection.maySolveItself
    }
}

/// A condition on a delivery.
package typealias DeliveryCondition = (ForwardedConfiguration) -> Bool

extension ForwardedConfiguration {
    package var dictionary: PropertyListDictionary {
        key.fields.merging(present: [
            "id": .data(id.bytes), "pairing": .data(pairing.bytes), "version": PropertyListValue(version),
            "digest": .data(digest), "accepted": .integer(accepted.milliseconds), "finished": .boolean(isFinished),
            "keyset": keySet.map { PropertyListValue($0) }, "verdict": verdict.map { .string($0) },
            "text": text.map { .string($0) }, "reported": reported.map { .integer($0.milliseconds) },
            "ending": ending.map { .string($0.rawValue) },
        ])
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        id = try fields.required("id", "16 bytes of data") { $0.identifierValue }
        pairing = try fields.required("pairing", "16 bytes of data") { $0.identifierValue }
        key = try ConfigurationSlotKey(&fields)
        version = try fields.required("version", "an integer from 1") { $0.positiveValue }
        keySet = try fields.optional("keyset", "an integer from 1") { $0.positiveValue }
        digest = try fields.required("digest", "32 bytes of data") { $0.digestValue }
        accepted = try fields.required("accepted", "an integer") { $0.timeValue }
        isFinished = try fields.required("finished", "a boolean") { $0.booleanValue }
        verdict = try fields.optional("verdict", "a string") { $0.stringValue }
        text = try fields.optional("text", "a string") { $0.stringValue }
        reported = try fields.optional("reported", "an integer") { $0.timeValue }
        ending = try fields.optional("ending", "an ending") { $0.stringValue.flatMap { Ending(word: $0) } }
    }
}

/// The state of one secondary for one application, role and target, as its reports tell it.
package struct SecondaryState: Sendable, Equatable {
    /// A version that the secondary has applied.
    package struct Application: Sendable, Equatable {
        package let version: UInt64
        /// Of its envelope; nil in a row of an earlier release.
        package let digest: [UInt8]?
        /// As ``ForwardedConfiguration/keySet``.
        let keySet: UInt64?
        package let reported: WallTime
    }

    /// An envelope that the secondary has rejected for good.
    struct Refusal: Sendable, Equatable {
        let digest: [UInt8]
        let verdict: String
        /// Whether the secondary never takes these bytes again, because it has failed with them or its trial of them
        /// ended (CFG-63). A later `rollback` says no more than that.
        let isBurnt: Bool

        /// - Parameter isBurnt: nil in a row of an earlier release, which says it by the verdict alone.
        init(digest: [UInt8], verdict: String, isBurnt: Bool?) {
            (self.digest, self.verdict) = (digest, verdict)
            self.isBurnt = isBurnt ?? (verdict == Verdict.failed.name)
        }

        /// Whether its verdict says by itself that the version is burnt.
        var isFailure: Bool { verdict == Verdict.failed.name }

        /// Whether the secondary may take the envelope by now (CFG-73).
        /// - Parameters:
        ///   - isValid: by this device's clock the envelope has not expired.
        ///   - bringsKeys: whether this primary has the chain of key sets, which it brings first.
        func mayHaveEnded(isValid: Bool, bringsKeys: Bool) -> Bool {
            if isBurnt { return false }
            return switch Rejection(word: verdict) {
            // The secondary's clock was ahead of this device's.
            case .expired?: isValid
            // A configuration of one set never passes under a later one: only a secondary that is behind may take it.
            // This device has verified it: a secondary that misses the threshold lacks keys.
            case let rejection? where rejection.comesOfKeys: bringsKeys
            case let rejection: rejection?.maySolveItself ?? false
            }
        }
    }

    /// The secondary's words on an envelope that its app does not load.
    private struct NamedFault: Sendable, Equatable {
        let digest: [UInt8]
        let text: String
    }

    enum Occasion {
        /// The operator applied these bytes.
        case applied([UInt8])
        case reachable
        /// The secondary has reported on these bytes.
        case reported([UInt8])
    }

    /// Deliveries without a final verdict, the newest last.
    package internal(set) var open: [ForwardedConfiguration] = []
    /// The last delivery that has one, or that ended without.
    package internal(set) var last: ForwardedConfiguration?
    /// The last delivery that was answered by `applied`, while ``last`` is a later one that was not: reports may follow
    /// it (CFG-114).
    private var lastApplied: ForwardedConfiguration?
    /// Finished deliveries whose rows were read beside those of ``last`` and ``lastApplied``: the next delivery that
    /// finishes takes their rows away.
    private var orphans: [ForwardedConfiguration] = []
    /// The configuration that the last report says is active.
    package internal(set) var good: GoodConfiguration?
    /// The last fault, by its configuration. It stays during the trial of a newer one, which may fail, and goes when
    /// that passes.
    private var lastLoadFault: NamedFault?
    /// The envelope that the secondary applied last, by its reports.
    var applied: [UInt8]?
    /// The envelope that the secondary has itself reported as applied, and no trial of it lasts (CFG-79). Reports on
    /// other envelopes can name one as active during its trial.
    private var passed: [UInt8]?
    /// The last applications, the newest last (LIM-85).
    package internal(set) var history: [Application] = []
    private(set) var refusals: [Refusal] = []
    /// The envelope that was delivered first without being applied since, and when.
    private(set) var awaited: [UInt8]?
    private(set) var awaitedSince: WallTime?
    /// The key that the secondary trusted when it was looked at last.
    private(set) var trust = TrustMark.unnamed

    init() {}

    /// The deliveries that a report may answer: those without a final verdict, and the last applied one while what it
    /// brought is active, because its app may not load it any longer (CFG-114).
    var answerable: [ForwardedConfiguration] {
        open
            + [last, lastApplied].compactMap(\.self).filter {
                $0.verdict == Verdict.applied.name && $0.digest == good?.digest
            }
    }

    /// Why the app does not load what is active, in the secondary's words (CFG-114); nil if it does, as far as known.
    package var loadFault: String? { lastLoadFault.flatMap { $0.digest == good?.digest ? $0.text : nil } }

    /// An `applied` has come. A last verdict says nothing about loading, unless a follow-up has come in its place
    /// (CFG-114). No trial begins with a fault.
    mutating func noteLoading(_ facts: ReportFacts, isFollowUp: Bool) {
        let text = facts.isOnTrial == false ? facts.text : nil
        let isOfOther = lastLoadFault.map { $0.digest != facts.digest } ?? false
        if isOfOther, facts.isOnTrial != false { return }
        guard isOfOther || isFollowUp || text != nil || facts.isOnTrial == true else { return }
        lastLoadFault = text.map { NamedFault(digest: facts.digest, text: $0) }
    }

    /// Whether the secondary has applied other bytes of this version, or may still take them, also of an envelope that
    /// was withdrawn. It then refuses the new ones as `equivocation` (CFG-77).
    func mayHoldOtherBytes(than new: DesiredConfiguration, hasLeft: DeliveryCondition) -> Bool {
        let (version, keySet) = (new.version, new.payload.keySetVersion)
        let isApplied = history.contains { line in
            line.version == version && line.keySet == keySet && line.digest != nil && !new.isBrought(by: line.digest)
        }
        return isApplied
            || open.contains { entry in
                entry.version == version && entry.keySet == keySet && !new.isBrought(by: entry.digest)
                    && mayHold(entry, hasLeft)
            }
    }

    /// Whether it stages a configuration, or may still take it.
    func mayHold(_ desired: DesiredConfiguration, _ hasLeft: DeliveryCondition) -> Bool {
        open.contains { desired.isBrought(by: $0.digest) && mayHold($0, hasLeft) }
    }

    /// Whether it stages what an open delivery brings, or may still take it.
    func mayHold(_ entry: ForwardedConfiguration, _ hasLeft: DeliveryCondition) -> Bool {
        entry.verdict != nil || !hasRefused(entry.digest) && hasLeft(entry)
    }

    /// A delivery is made; the oldest of too many is forgotten (LIM-85).
    mutating func opened(
        _ entry: ForwardedConfiguration, of desired: DesiredConfiguration, _ transition: inout DesiredTransition
    ) {
        open.append(entry)
        if desired.isBrought(by: passed) { passed = nil }
        let surplus = open.prefix(max(0, open.count - ConfigurationLimits.openDeliveries))
        open.removeFirst(surplus.count)
        transition.changes += surplus.map { .forgotten($0) }
    }

    mutating func restore(_ entry: ForwardedConfiguration) {
        guard entry.isFinished else {
            open.append(entry)
            return open.sort { $0.accepted < $1.accepted }
        }
        let isApplied = { (entry: ForwardedConfiguration) in entry.verdict == Verdict.applied.name }
        let finished = [last, lastApplied, entry].compactMap(\.self).sorted { $0.accepted < $1.accepted }
        // Of two finished ones the later one was not applied, whatever the clock said.
        let (other, applied) = (finished.last { !isApplied($0) }, finished.last(where: isApplied))
        (last, lastApplied) = (other ?? applied, other == nil ? nil : applied)
        orphans += finished.filter { $0.id != other?.id && $0.id != applied?.id }
    }

    /// Deliveries of this envelope whose verdict is outstanding.
    func isOnItsWay(_ digest: [UInt8]) -> Bool { open.contains { $0.digest == digest && !$0.isLost } }

    /// Whether the configuration is active by the last report, and a report on a delivery of it has said that no trial
    /// of it lasts (CFG-61).
    func hasPassed(_ desired: DesiredConfiguration) -> Bool {
        desired.isBrought(by: good?.digest) && desired.isBrought(by: passed)
    }

    /// Whether the same bytes were applied by a delivery after this one, so that a verdict on it is of before.
    func isOvertaken(_ entry: ForwardedConfiguration) -> Bool {
        open.contains {
            $0.digest == entry.digest && $0.accepted > entry.accepted && $0.verdict == Verdict.applied.name
        }
    }

    /// The time of the next delivery.
    func accepted(at now: WallTime) -> WallTime {
        let made = (open + orphans + [last, lastApplied].compactMap(\.self)).map(\.accepted)
        return made.max().map { max(now, $0 + .milliseconds(1)) } ?? now
    }

    func hasRefused(_ digest: [UInt8]) -> Bool { refusals.contains { $0.digest == digest } }

    /// The verdict and text with which the version of an envelope was burnt; nil if it was not.
    func burnt(_ digest: [UInt8]) -> (verdict: String?, text: String?)? {
        guard let refusal = refusals.first(where: { $0.digest == digest && $0.isBurnt }) else { return nil }
        return (refusal.verdict, last?.digest == digest ? last?.text : nil)
    }

    mutating func refuse(_ digest: [UInt8], _ verdict: String, burns: Bool) {
        refusals.append(Refusal(digest: digest, verdict: verdict, isBurnt: burns))
        if passed == digest { passed = nil }
    }

    mutating func forgetRefusal(of digest: [UInt8]) { forgetRefusals { $0.digest == digest } }

    mutating func forgetRefusals(where isForgotten: (Refusal) -> Bool) { refusals.removeAll(where: isForgotten) }

    /// It is to apply this envelope under the key that it trusts. A wait for another one ends.
    mutating func beginWait(for digest: [UInt8], under trust: TrustMark, since now: WallTime) {
        self.trust = self.trust.followed(by: trust)
        if awaited != digest { (awaited, awaitedSince) = (digest, now) }
    }

    func lacks(_ wanted: DesiredConfiguration, because occasion: Occasion) -> Bool {
        // Others wait until this secondary has answered a delivery of its own.
        let isFirst = wanted.rollout.map { $0.stopped == nil } ?? false
        let hasIt = isFirst ? hasPassed(wanted) : wanted.isBrought(by: good?.digest)
        return switch occasion {
        // One with a lifetime may be applied no longer by the secondary's clock, and no report says so.
        case .applied(wanted.digest): !hasIt || wanted.payload.lifetime != nil
        case .applied, .reachable: !hasIt
        // The envelope that it has just answered is not sent again.
        case .reported(let digest): !hasIt && digest != wanted.digest
        }
    }

    /// The secondary has reported an envelope as applied.
    /// - Parameter movesMark: whether the secondary's version mark moved. It does not for a waived signature (CFG-22),
    ///   whose version has no key set in the history and is therefore compared with no other.
    mutating func apply(_ entry: ForwardedConfiguration, movesMark: Bool) {
        let (last, keySet) = (history.last, movesMark ? entry.keySet : nil)
        let isNew = good?.digest != entry.digest || last?.version != entry.version || last?.keySet != keySet
        good = GoodConfiguration(version: entry.version, digest: entry.digest)
        applied = entry.digest
        if entry.isFinished { passed = entry.digest } else if passed == entry.digest { passed = nil }
        if awaited == entry.digest { (awaited, awaitedSince) = (nil, nil) }
        guard isNew else { return }
        history.append(
            Application(
                version: entry.version, digest: entry.digest, keySet: keySet,
                reported: entry.reported ?? entry.accepted))
        history.removeFirst(max(0, history.count - ConfigurationLimits.history))
    }

    /// Nothing that was delivered or reported counts any longer: the deliveries are taken back.
    mutating func forgetDeliveries(_ transition: inout DesiredTransition) {
        let finished = orphans + [last, lastApplied].compactMap(\.self)
        transition.changes += (open + finished).map { .forgotten($0) }
        transition.cancellations += open.filter { $0.verdict == nil }
        (open, orphans, last, lastApplied) = ([], [], nil, nil)
        (good, applied, refusals, history) = (nil, nil, [], [])
        (passed, lastLoadFault) = (nil, nil)
    }

    /// The secondary trusts this key. If that is another one than at the last look, or none, it has lost what it had
    /// applied: it has drifted, and nothing else that it reported counts.
    mutating func note(_ trust: TrustMark, _ transition: inout DesiredTransition) {
        if isLost(by: trust) {
            let applied = applied
            forgetDeliveries(&transition)
            self.applied = applied
        } else if self.trust == .unnamed, trust != .unnamed {
            // A staged one may have gone with the key of before: it comes again, and either report counts.
            for index in open.indices where open[index].verdict != nil { self.open[index].isLost = true }
        }
        self.trust = self.trust.followed(by: trust)
    }

    /// Whether nothing of this counts under the key that the secondary trusts now. A waived configuration (CFG-22)
    /// counts as one that had a key: it costs one delivery.
    func isLost(by next: TrustMark) -> Bool {
        let hadKey = good != nil || applied != nil || !history.isEmpty
        let isReported = !refusals.isEmpty || last?.verdict != nil
        return trust.isLost(by: next, after: hadKey ? .key : isReported ? .reports : .nothing)
    }

    /// Takes an entry over: a finished one becomes the last one, in place of the one before. One that was held back
    /// (CFG-52) does not take the place of what a later delivery has made active: reports may follow that (CFG-114).
    mutating func update(_ entry: ForwardedConfiguration, _ transition: inout DesiredTransition) {
        guard entry.isFinished else {
            if let index = open.firstIndex(where: { $0.id == entry.id }) { self.open[index] = entry }
            transition.changes.append(.forwarded(entry))
            return
        }
        if last?.id == entry.id {
            last = entry
            return transition.changes.append(.forwarded(entry))
        }
        if lastApplied?.id == entry.id {
            // It has drifted (CFG-76), and a later delivery has the last verdict.
            lastApplied = nil
            return transition.changes.append(.forgotten(entry))
        }
        if let last, last.accepted > entry.accepted, entry.verdict != Verdict.applied.name,
            last.verdict == Verdict.applied.name, last.digest == good?.digest
        {
            open.removeAll { $0.id == entry.id }
            return transition.changes.append(.forgotten(entry))
        }
        retireLast(for: entry, &transition)
        // Earlier deliveries of the same bytes are never answered: reports come in order.
        let older = open.prefix { $0.id != entry.id }.filter { $0.digest == entry.digest }
        transition.changes += older.map { .forgotten($0) }
        self.open.removeAll { open in open.id == entry.id || older.contains { $0.id == open.id } }
        last = entry
        transition.changes.append(.forwarded(entry))
    }

    /// The last one makes room for a later one. While what it brought is active it is kept, unless the later one is
    /// applied.
    private mutating func retireLast(for entry: ForwardedConfiguration, _ transition: inout DesiredTransition) {
        transition.changes += orphans.map { .forgotten($0) }
        orphans = []
        guard let last else { return }
        if entry.verdict == Verdict.applied.name {
            transition.changes += [last, lastApplied].compactMap(\.self).map { .forgotten($0) }
            lastApplied = nil
        } else if last.verdict == Verdict.applied.name, last.digest == good?.digest {
            lastApplied = last
        } else {
            transition.changes.append(.forgotten(last))
        }
    }

    /// Whether one has been reported as applied after which the secondary can only reject this one: a higher version
    /// of the same key set, or any of a later set. Each key set begins its own row of versions.
    func hasApplied(above desired: DesiredConfiguration) -> Bool {
        let (keySet, version) = (desired.payload.keySetVersion, desired.version)
        return history.contains { applied in
            applied.keySet.map { ($0, applied.version) > (keySet, version) } ?? false
        }
    }

    /// The verdict on an envelope, also on one whose delivery another one has replaced.
    /// - Parameter isActive: whether the active configuration is the same, also in another envelope.
    package func verdict(on digest: [UInt8], isActive: Bool? = nil) -> String? {
        let delivery = delivery(of: digest)
        // One that had applied these bytes got no delivery, or one that ended without a verdict.
        if delivery?.awaitsVerdict != true, isActive ?? (good?.digest == digest) { return Verdict.applied.name }
        return delivery.map(\.verdict) ?? refusals.last { $0.digest == digest }?.verdict
    }

    /// Whether the secondary had applied a configuration, and reports something else as active since.
    package func hasDrifted(from desired: DesiredConfiguration) -> Bool {
        !desired.isBrought(by: good?.digest) && desired.isBrought(by: applied)
    }

    /// The newest delivery of an envelope.
    package func delivery(of digest: [UInt8]) -> ForwardedConfiguration? {
        open.last { $0.digest == digest } ?? (last?.digest == digest ? last : nil)
    }

    /// The deliveries whose reports are expected, and the last one that is finished. One whose report was held back
    /// (CFG-52) while a later one was answered is not shown: its report may come late, or never.
    var shownDeliveries: [ForwardedConfiguration] {
        let answered = last.flatMap { $0.verdict == nil ? nil : $0.accepted }
        let rest = open.filter { entry in entry.verdict != nil || answered.map { entry.accepted >= $0 } ?? true }
        return rest + [last].compactMap(\.self)
    }

    /// The part that outlives its deliveries, which are rows of their own; nil if there is none.
    package var dictionary: PropertyListDictionary? {
        guard good != nil || applied != nil || !history.isEmpty || !refusals.isEmpty || awaited != nil else {
            return nil
        }
        return PropertyListDictionary(present: [
            "v": 1,
            "history": .array(
                history.map { line in
                    .dictionary(
                        PropertyListDictionary(present: [
                            "version": PropertyListValue(line.version), "time": .integer(line.reported.milliseconds),
                            "digest": line.digest.map { .data($0) },
                            "keyset": line.keySet.map { PropertyListValue($0) },
                        ]))
                }),
            "refusals": .array(
                refusals.map { refusal in
                    .dictionary(
                        PropertyListDictionary(present: [
                            "digest": .data(refusal.digest), "verdict": .string(refusal.verdict),
                            "burnt": refusal.isBurnt != refusal.isFailure ? .boolean(refusal.isBurnt) : nil,
                        ]))
                }),
            "goodVersion": good.map { PropertyListValue($0.version) }, "goodDigest": good.map { .data($0.digest) },
            "applied": applied.map { .data($0) }, "passed": passed.map { .data($0) },
            "awaited": awaited.map { .data($0) }, "since": awaitedSince.map { .integer($0.milliseconds) },
            "trust": trust.bytes.map { .data($0) }, "loadFault": lastLoadFault.map { .string($0.text) },
            "unloaded": loadFault == nil ? lastLoadFault.map { .data($0.digest) } : nil,
        ])
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        history = try fields.required("history", "a list of versions") { $0.list(Self.application) }
        refusals = try fields.required("refusals", "a list of digests") { $0.list(Self.refusal) }
        let version = try fields.optional("goodVersion", "an integer from 1") { $0.positiveValue }
        let digest = try fields.optional("goodDigest", "32 bytes of data") { $0.digestValue }
        good = version.flatMap { version in digest.map { GoodConfiguration(version: version, digest: $0) } }
        applied = try fields.optional("applied", "32 bytes of data") { $0.digestValue }
        passed = try fields.optional("passed", "32 bytes of data") { $0.digestValue }
        awaited = try fields.optional("awaited", "32 bytes of data") { $0.digestValue }
        awaitedSince = try fields.optional("since", "an integer") { $0.timeValue }
        let loadFault = try fields.optional("loadFault", "a string") { $0.stringValue }
        // The digest of the fault's configuration, if that is not the active one.
        let unloaded = try fields.optional("unloaded", "32 bytes of data") { $0.digestValue }
        trust = try fields.optional("trust", "16 bytes of data, or none") { TrustMark(bytes: $0.dataValue) } ?? .unnamed
        try fields.refuseUnknownFields()
        if let digest = unloaded ?? good?.digest {
            lastLoadFault = loadFault.map { NamedFault(digest: digest, text: $0) }
        }
    }

    private static func application(_ value: PropertyListValue) -> Application? {
        guard let fields = value.dictionaryValue, let version = fields["version"]?.positiveValue,
            let time = fields["time"]?.timeValue
        else { return nil }
        return Application(
            version: version, digest: fields["digest"]?.digestValue, keySet: fields["keyset"]?.positiveValue,
            reported: time)
    }

    private static func refusal(_ value: PropertyListValue) -> Refusal? {
        guard let fields = value.dictionaryValue, let digest = fields["digest"]?.digestValue,
            let verdict = fields["verdict"]?.stringValue
        else { return nil }
        return Refusal(digest: digest, verdict: verdict, isBurnt: fields["burnt"]?.booleanValue)
    }
}
