// Deliveries of key sets and revocations from a primary to its secondaries (CFG-92): how far along a chain each one is,
// and what is on its way to it. Steps go in the chain's order and are never superseded. A secondary that refuses one
// may have lost its state: at its next link it gets the chain from the beginning, the first step alone (CFG-95), so
// that one that refuses again costs no more.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
import TandemWire

package struct KeyChainDeliveries: Sendable, Equatable {
    /// One chain at one secondary.
    package struct Key: Sendable, Hashable {
        package let pairing: UniqueIdentifier
        package let subject: KeySubject

        package init(pairing: UniqueIdentifier, subject: KeySubject) {
            self.pairing = pairing
            self.subject = subject
        }
    }

    /// The reason to look at what a secondary lacks.
    package enum Occasion: Sendable {
        case linked
        /// It has announced the app, and may have learned a key.
        case announced
        /// The chain may have grown, or a delivery has ended.
        case changed
    }

    /// A step to be queued for a secondary.
    package struct Item: Sendable, Equatable {
        /// The item, and the nonce that its report repeats.
        package let id: UniqueIdentifier
        package let key: Key
        /// The exact bytes.
        package let envelope: [UInt8]
    }

    package struct Transition: Sendable, Equatable {
        /// To be queued, in this order.
        package fileprivate(set) var items: [Item] = []
        /// Items in the queue that the secondary would only refuse.
        package fileprivate(set) var cancelled: [UniqueIdentifier] = []
    }

    package struct Result: Sendable, Equatable {
        package let digest: [UInt8]
        package let verdict: Verdict
        package let text: String?
    }

    /// A secondary beside a chain, as it has reported (CTL-74).
    package struct Standing: Sendable, Equatable {
        /// The last step that it has accepted.
        package let last: ChainStep?
        /// The steps that it has not accepted.
        package let waiting: Int
        /// Its last report, if steps are waiting and that does not accept one.
        package let refusal: Result?

        /// Whether the secondary refuses what it lacks (CTL-12). A key that cannot be used refuses a revocation, too.
        /// One that knows no key yet refuses nothing: nothing is expected of it before its app announces one (CFG-74).
        package func isRefused(hasApplication: Bool) -> Bool {
            guard let verdict = refusal?.verdict, verdict != .waitingForKey else { return false }
            return !Verdict.awaitsApplication(hasApplication: hasApplication, verdict: verdict.name)
        }
    }

    /// How far along a chain a secondary is.
    package struct Progress: Sendable, Equatable {
        fileprivate struct Step: Sendable, Equatable {
            let id: UniqueIdentifier
            let index: Int
            let digest: [UInt8]
        }

        /// The steps from the beginning that the secondary has accepted.
        package fileprivate(set) var accepted = 0
        /// The digest of the last of them.
        fileprivate var last: [UInt8]?
        fileprivate var underWay: [Step] = []
        package fileprivate(set) var result: Result?
        /// The steps of the chain when it was brought last.
        fileprivate var planned = 0
        /// It has refused a step, and has accepted none since: one goes alone.
        fileprivate var isProbed = false
        /// The key that it trusted when it was looked at last.
        fileprivate var trust: TrustMark

        fileprivate init(isProbed: Bool = false, under trust: TrustMark = .unnamed) {
            self.isProbed = isProbed
            self.trust = trust
        }

        /// Whether it is one along this chain: another anchor may have taken the place of the one before.
        fileprivate func isAlong(_ chain: [ChainStep]) -> Bool {
            // A refusal of the first step leaves nothing else to compare.
            if isRefused, let result, !chain.contains(where: { $0.digest == result.digest }) { return false }
            let known = underWay.map { ($0.index, $0.digest) } + (last.map { [(accepted - 1, $0)] } ?? [])
            return known.allSatisfy { index, digest in chain.indices.contains(index) && chain[index].digest == digest }
        }

        /// The steps that may be on their way (LIM-111).
        private var room: Int { isProbed ? 1 : ConfigurationLimits.stepsUnderWay }

        /// Whether steps of a chain of so many are neither accepted nor on their way.
        fileprivate func isBehind(_ count: Int) -> Bool { !isRefused && next < count }

        /// The first step that is neither accepted nor on its way.
        private var next: Int { max(accepted, underWay.last.map { $0.index + 1 } ?? 0) }

        /// The next steps, as many as may be on their way.
        fileprivate mutating func take(_ chain: [ChainStep], _ newIdentifier: () -> UniqueIdentifier) -> [Step] {
            planned = chain.count
            let first = next
            let steps = (first..<max(first, min(chain.count, accepted + room))).map { index in
                Step(id: newIdentifier(), index: index, digest: chain[index].digest)
            }
            underWay += steps
            return steps
        }

        /// - Parameters:
        ///   - digest: that of a step that is, or was, at this index.
        ///   - chain: the present one.
        package func verdict(on digest: [UInt8], at index: Int, along chain: [ChainStep]) -> Verdict? {
            guard isAlong(chain) else { return nil }
            if accepted > index { return .applied }
            guard let result else { return nil }
            if result.digest == digest { return result.verdict }
            switch result.verdict {
            case .applied: return nil
            // Of a step that a verifier with a later anchor has no use for; the next ones may follow.
            case .rejected(.rollback), .rejected(.oldKeySet): return underWay.isEmpty ? result.verdict : nil
            default: return result.verdict
            }
        }

        /// A refusal ends the deliveries until the next link.
        fileprivate var isRefused: Bool { result.map { $0.verdict != .applied } ?? false }

        /// Whether nothing of this counts under the key that the secondary trusts now.
        fileprivate func isLost(by next: TrustMark) -> Bool {
            let hadKey = accepted > 0 || result?.verdict.isRefusal == true
            return trust.isLost(by: next, after: hadKey ? .key : result == nil ? .nothing : .reports)
        }

        fileprivate func startsAgain(_ occasion: Occasion, _ count: Int) -> Bool {
            switch occasion {
            case .linked: true
            // One that had no usable key may have one now.
            case .announced: count > planned || result.map { !$0.verdict.isRefusal } ?? false
            case .changed: count > planned
            }
        }
    }

    private var progress: [Key: Progress] = [:]
    /// The chain of each nonce that no report has answered.
    private var awaited: [UniqueIdentifier: Key] = [:]
    /// The last accepted report counters of each secondary, for its reports on steps, from the first delivery on.
    private var counters: [UniqueIdentifier: ReportCounter] = [:]
    /// The chains that have started again on this link against what their secondaries had reported.
    private var doubted: Set<Key> = []

    package init() {}

    package subscript(key: Key) -> Progress? { progress[key] }

    /// The chains whose last report did not accept a step.
    package var refused: [Key] { progress.filter(\.value.isRefused).map(\.key) }

    /// The pairings of which anything is known.
    package var pairings: Set<UniqueIdentifier> { Set(progress.keys.map(\.pairing)).union(counters.keys) }

    /// Whether steps of a chain of so many are not on their way to a secondary yet: a configuration that is delivered
    /// now would overtake them.
    /// - Parameters:
    ///   - epoch: the present epoch of the pairing.
    ///   - trust: the key that the secondary trusts.
    package func isBehind(
        _ key: Key, along count: Int, in epoch: UInt64, under trust: TrustMark = .unnamed
    ) -> Bool {
        let progress = progress[key] ?? Progress()
        // In a new epoch, and under another key, all of it comes again.
        if mustEnterEpoch(epoch, of: key.pairing) || progress.isLost(by: trust) { return count > 0 }
        return progress.isBehind(count)
    }

    /// - Parameters:
    ///   - epoch: the present epoch of the pairing.
    ///   - trust: the key that the secondary trusts.
    package func standing(
        of key: Key, along chain: [ChainStep], in epoch: UInt64, under trust: TrustMark = .unnamed
    ) -> Standing {
        guard let progress = progress[key], progress.isAlong(chain), !progress.isLost(by: trust),
            !mustEnterEpoch(epoch, of: key.pairing)
        else { return Standing(last: nil, waiting: chain.count, refusal: nil) }
        let (accepted, waiting) = (progress.accepted, chain.count - progress.accepted)
        let refusal = progress.isRefused && waiting > 0 ? progress.result : nil
        return Standing(last: accepted > 0 ? chain[accepted - 1] : nil, waiting: waiting, refusal: refusal)
    }

    /// Whether the pairing has begun an epoch that this state has not entered.
    package func mustEnterEpoch(_ epoch: UInt64, of pairing: UniqueIdentifier) -> Bool {
        counters[pairing].map { $0.epoch < epoch } ?? false
    }

    /// Whether a report with this nonce is one on a step.
    package func awaits(_ nonce: UniqueIdentifier) -> Bool { awaited[nonce] != nil }

    /// Writes only progress that differs. The state is copied to be changed: otherwise each link of a secondary that
    /// lacks nothing would copy the progress of all secondaries, for each app.
    private mutating func put(_ progress: Progress?, of key: Key) {
        guard progress != self.progress[key] else { return }
        for step in self.progress[key]?.underWay ?? [] { awaited[step.id] = nil }
        self.progress[key] = progress
        for step in progress?.underWay ?? [] { awaited[step.id] = key }
    }
}

extension KeyChainDeliveries {
    /// The chain has grown, or its secondary may lack a part of it: it gets the steps that it has not accepted and that
    /// are not on their way. After a refusal it gets the first one, and the others once it has accepted that.
    /// - Parameters:
    ///   - chain: the steps after the anchor, in order.
    ///   - trust: the key that the secondary trusts. One that it has learned since, or none, has nothing behind it.
    ///   - isUnderWay: whether an item is still in its queue.
    ///   - isHandled: whether the secondary, or the carrier on the way to it, has handled an item.
    package mutating func advance(
        _ key: Key, along chain: [ChainStep], because occasion: Occasion = .changed, under trust: TrustMark = .unnamed,
        isUnderWay: (UniqueIdentifier) -> Bool, isHandled: (UniqueIdentifier) -> Bool,
        newIdentifier: () -> UniqueIdentifier
    ) -> Transition {
        var transition = Transition()
        if case .linked = occasion { doubted.remove(key) }
        guard !chain.isEmpty else { return transition }
        var progress = progress[key] ?? Progress()
        if progress.isLost(by: trust) {
            transition.cancelled = progress.underWay.map(\.id)
            progress = Progress()
        }
        progress.trust = progress.trust.followed(by: trust)
        // One that has left its queue without a report is sent again: the secondary knows it if it took it. A report
        // follows the handling, and counts as lost no sooner than at the next link or announcement.
        let awaitsReports = occasion == .changed
        let gone = progress.underWay.firstIndex { !isUnderWay($0.id) && !(awaitsReports && isHandled($0.id)) }
        // Steps behind one that is sent again are, too, unless they wait in the queue.
        if let gone { progress.underWay[gone...].removeAll { !isUnderWay($0.id) } }
        let isRefused = progress.isRefused
        if !progress.isAlong(chain) || (isRefused && progress.startsAgain(occasion, chain.count)) {
            // The steps behind a refused one do not follow at the secondary, either.
            transition.cancelled += progress.underWay.map(\.id)
            progress = Progress(isProbed: isRefused || progress.isProbed, under: progress.trust)
        } else if isRefused {
            put(progress, of: key)
            return transition
        }
        transition.items = items(progress.take(chain, newIdentifier), chain, key)
        put(progress, of: key)
        return transition
    }

    /// A secondary refuses a configuration for its keys. If it has accepted all steps, it has lost them since: nothing
    /// of that counts, once on each link. The chain is to be advanced then, and the configuration follows it.
    /// - Returns: whether the chain starts again.
    package mutating func doubt(_ key: Key, along chain: [ChainStep]) -> Bool {
        guard !chain.isEmpty, let known = progress[key], known.accepted == chain.count, known.isAlong(chain),
            !known.isRefused, doubted.insert(key).inserted
        else { return false }
        put(Progress(under: known.trust), of: key)
        return true
    }

    /// A secondary has accepted a step: of those that had no room yet the next ones follow.
    package mutating func goOn(
        _ key: Key, along chain: [ChainStep], newIdentifier: () -> UniqueIdentifier
    ) -> [Item] {
        // Not one by one: each time, the row is written.
        guard var progress = progress[key], !progress.isRefused, progress.isAlong(chain),
            progress.underWay.count <= ConfigurationLimits.stepsUnderWay / 2
        else { return [] }
        let steps = progress.take(chain, newIdentifier)
        put(progress, of: key)
        return items(steps, chain, key)
    }

    private func items(_ steps: [Progress.Step], _ chain: [ChainStep], _ key: Key) -> [Item] {
        steps.map { Item(id: $0.id, key: key, envelope: chain[$0.index].envelope) }
    }

    /// A secondary has reported on a step.
    /// - Parameters:
    ///   - epoch: the present epoch of the pairing.
    ///   - trust: the key that the secondary trusts for an application.
    /// - Throws: ``ReportFailure``; nothing has changed then.
    package mutating func report(
        _ bytes: [UInt8], through pairing: UniqueIdentifier, in epoch: UInt64, device: UniqueIdentifier,
        key: ReportPublicKey, under trust: (ApplicationIdentifier) -> TrustMark = { _ in .unnamed }
    ) throws(ReportFailure) -> Key {
        let nonce = ConfigurationReport.claimedNonce(bytes)
        let asked = nonce.flatMap { awaited[$0] }.flatMap { $0.pairing == pairing ? $0 : nil }
        guard !mustEnterEpoch(epoch, of: pairing) else { throw .wrongNonce }
        var counter = counters[pairing] ?? ReportCounter(epoch: epoch)
        let report = try ConfigurationReport(verifying: bytes, by: key, device: device, pairing: pairing)
        try counter.accept(report)
        let facts = report.facts
        guard let key = asked, key.subject == facts.key.subject, var progress = progress[key],
            !progress.isLost(by: trust(key.subject.application)),
            let step = progress.underWay.first(where: { $0.id == facts.delivery.nonce && $0.digest == facts.digest })
        else { throw .wrongNonce }
        // The report comes under the mark, and is none of before it.
        progress.trust = progress.trust.followed(by: trust(key.subject.application))
        progress.result = Result(digest: facts.digest, verdict: facts.verdict, text: facts.text)
        if facts.verdict == .applied {
            progress.isProbed = false
            if step.index >= progress.accepted { (progress.accepted, progress.last) = (step.index + 1, step.digest) }
            progress.underWay.removeAll { $0.index <= step.index }
        } else {
            progress.underWay.removeAll { $0.id == step.id }
        }
        put(progress, of: key)
        counters[pairing] = counter
        return key
    }

    /// Enters the pairing's epoch; comes before each delivery. If it is higher than that of the last delivery, the
    /// secondary may have lost what it accepted, and no report on an earlier step counts.
    /// - Returns: the keys of the chains that begin again, each with the items to cancel; none at the first delivery,
    ///   whose epoch has to be stored, too; nil if there is nothing to store.
    package mutating func enterEpoch(
        _ epoch: UInt64, of pairing: UniqueIdentifier
    ) -> [(key: Key, cancelled: [UniqueIdentifier])]? {
        let isFirst = counters[pairing] == nil
        guard isFirst || mustEnterEpoch(epoch, of: pairing) else { return nil }
        // A restored secondary counts its reports from where it was.
        counters[pairing] = ReportCounter(epoch: epoch)
        guard !isFirst else { return [] }
        let before = progress.filter { $0.key.pairing == pairing }
        for (key, former) in before { put(Progress(under: former.trust), of: key) }
        return before.map { ($0.key, $0.value.underWay.map(\.id)) }
    }

    package mutating func unpaired(_ pairing: UniqueIdentifier) -> [Key] {
        let keys = progress.keys.filter { $0.pairing == pairing }
        for key in keys { put(nil, of: key) }
        doubted.subtract(keys)
        counters[pairing] = nil
        return keys
    }
}

extension KeyChainDeliveries {
    /// The row of the progress along a chain; nil if it has none.
    package func row(of key: Key) -> PropertyListDictionary? { progress[key]?.dictionary }

    package func counter(of pairing: UniqueIdentifier) -> ReportCounter? { counters[pairing] }

    package mutating func restore(_ fields: PropertyListDictionary, of key: Key) throws(FieldError) {
        put(try Progress(fields), of: key)
    }

    package mutating func restore(_ counter: ReportCounter, of pairing: UniqueIdentifier) {
        counters[pairing] = counter
    }
}

extension KeyChainDeliveries.Progress {
    fileprivate var dictionary: PropertyListDictionary {
        PropertyListDictionary(present: [
            "accepted": .integer(Int64(accepted)),
            "underWay": .array(
                underWay.map { step in
                    ["id": .data(step.id.bytes), "index": .integer(Int64(step.index)), "digest": .data(step.digest)]
                }),
            "planned": planned > 0 ? .integer(Int64(planned)) : nil, "probed": isProbed ? true : nil,
            "last": last.map { .data($0) }, "digest": result.map { .data($0.digest) },
            "verdict": result.map { .string($0.verdict.name) }, "text": result?.text.map { .string($0) },
            "trust": trust.bytes.map { .data($0) },
        ])
    }

    fileprivate init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        accepted = try fields.required("accepted", "a number of steps", Self.count)
        underWay = try fields.required("underWay", "a list of steps") { $0.list { Step($0) } }
        planned = try fields.optional("planned", "a number of steps", Self.count) ?? 0
        isProbed = try fields.optional("probed", "a boolean") { $0.booleanValue } ?? false
        last = try fields.optional("last", "32 bytes of data") { $0.digestValue }
        guard (last == nil) == (accepted == 0) else {
            throw FieldError(field: "last", problem: "and 'accepted' differ")
        }
        let digest = try fields.optional("digest", "32 bytes of data") { $0.digestValue }
        let verdict = try fields.optional("verdict", "a verdict") { $0.stringValue.flatMap { Verdict(name: $0) } }
        let text = try fields.optional("text", "a string") { $0.stringValue }
        if let digest, let verdict {
            result = KeyChainDeliveries.Result(digest: digest, verdict: verdict, text: text)
        }
        trust = try fields.optional("trust", "16 bytes of data, or none") { TrustMark(bytes: $0.dataValue) } ?? .unnamed
        try fields.refuseUnknownFields()
    }

    fileprivate static func count(_ value: PropertyListValue) -> Int? {
        value.integerValue.flatMap { (0...Int64(ConfigurationLimits.chainSteps)).contains($0) ? Int($0) : nil }
    }
}

extension KeyChainDeliveries.Progress.Step {
    fileprivate init?(_ value: PropertyListValue) {
        guard let fields = value.dictionaryValue, let id = fields["id"]?.identifierValue,
            let index = fields["index"].flatMap(KeyChainDeliveries.Progress.count),
            let digest = fields["digest"]?.digestValue
        else { return nil }
        self.init(id: id, index: index, digest: digest)
    }
}
