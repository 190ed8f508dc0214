// Far secondaries of a primary: devices below its secondaries, as the statements of these carriers certify them
// (CFG-101, CFG-102). The first device and report key that a carrier names for a pairing stay that pairing's as long as
// the carrier is paired: one that turns malicious later cannot speak for a device that it named before.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
import TandemWire

/// A device below a secondary, for one app.
package struct FarSecondary: Sendable, Equatable {
    /// The pairings from this device to the carrier that names it: at least one.
    let path: [UniqueIdentifier]
    /// The claim of that carrier.
    package let facts: CarrierStatement.Secondary
    /// The highest epoch that was stated for it, with that of its carrier's pairing as the high half. Not stored: after
    /// a start the next link looks at everything.
    private(set) var highestEpoch: UInt64 = 0

    /// The pairing of the secondary with this primary, through which everything goes.
    package var carrier: UniqueIdentifier { path[0] }

    /// Its index among all that this device's carriers state.
    var mark: [UInt8] { SHA256.digest((path + [facts.pairing]).flatMap(\.bytes)) }

    /// Takes the place of the claim of before.
    /// - Parameter epoch: that of the carrier's pairing.
    /// - Returns: whether it announces the app (CFG-103): an epoch that alternates does so once.
    fileprivate mutating func follow(_ last: FarSecondary?, in epoch: UInt64) -> Bool {
        let stated = epoch << 32 | facts.epoch
        highestEpoch = max(stated, last?.highestEpoch ?? 0)
        guard let last else { return true }
        return stated > last.highestEpoch || path != last.path || facts.target != last.facts.target
    }
}

package struct FarSecondaries: Sendable {
    /// The first claim of a carrier on one of its pairings.
    package struct Certified: Sendable, Equatable {
        package let device: UniqueIdentifier
        /// SubjectPublicKeyInfo.
        package let reportKey: [UInt8]
        /// The last name of one that no statement names any more, and the time since when.
        package fileprivate(set) var gone: Gone?

        init(device: UniqueIdentifier, reportKey: [UInt8]) { (self.device, self.reportKey) = (device, reportKey) }
    }

    /// The end of a far secondary that a carrier no longer states.
    package struct Gone: Sendable, Equatable {
        package let name: String
        package let since: WallTime
    }

    /// A secondary that carries.
    package struct Carrier {
        package let pairing: UniqueIdentifier
        package let device: UniqueIdentifier
        /// The present epoch of the pairing.
        package let epoch: UInt64
        /// Its report key, pinned in the pairing.
        package let key: ReportPublicKey

        package init(pairing: UniqueIdentifier, device: UniqueIdentifier, epoch: UInt64 = 1, key: ReportPublicKey) {
            (self.pairing, self.device, self.epoch, self.key) = (pairing, device, epoch, key)
        }
    }

    private struct Branch {
        var accepted: [ApplicationIdentifier: AcceptedStatement] = [:]
        var keys: CertifiedKeys = [:]
    }

    private var branches: [UniqueIdentifier: Branch] = [:]
    private var known: [UniqueIdentifier: [ApplicationIdentifier: FarSecondary]] = [:]
    /// Devices behind an unpaired carrier that no other carrier states, by their pairings: at most LIM-85 (CTL-38).
    private var traces: [UniqueIdentifier: Certified] = [:]

    package init() {}

    // MARK: state in force

    package var isEmpty: Bool { known.isEmpty }

    /// The pairings of which statements or keys are kept.
    package var carriers: Set<UniqueIdentifier> { Set(branches.keys) }

    /// All of them by their pairings with their carriers, in the order of these.
    package var pairings: [UniqueIdentifier] { known.keys.sorted() }

    /// The device of a far pairing: the same with the same key for each of its apps.
    package subscript(pairing: UniqueIdentifier) -> FarSecondary? { known[pairing]?.min { $0.key < $1.key }?.value }

    /// The newest epoch of a far pairing that a statement about any of its apps names: that about another one may be
    /// older.
    package func epoch(of pairing: UniqueIdentifier) -> UInt64 { known[pairing]?.values.map(\.facts.epoch).max() ?? 0 }

    package func target(of app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> PairedIdentifier? {
        known[pairing]?[app]?.facts.target
    }

    /// The targets of a far pairing's apps, in the order of these.
    package func targets(at pairing: UniqueIdentifier) -> [(app: ApplicationIdentifier, target: PairedIdentifier)] {
        (known[pairing] ?? [:]).map { ($0.key, $0.value.facts.target) }.sorted { $0.0 < $1.0 }
    }

    package func pairings(behind carrier: UniqueIdentifier) -> [UniqueIdentifier] {
        pairings.filter { self[$0]?.carrier == carrier }
    }

    /// A far pairing behind one carrier of which a condition is true. Each item that ends asks: it sorts nothing.
    package func pairing(
        behind carrier: UniqueIdentifier, where isMeant: (UniqueIdentifier) -> Bool
    ) -> UniqueIdentifier? {
        known.keys.first { isMeant($0) && self[$0]?.carrier == carrier }
    }

    /// The apps that something behind a carrier has, by its last statements.
    package func applications(behind carrier: UniqueIdentifier) -> Set<ApplicationIdentifier> {
        Set(
            (branches[carrier]?.accepted ?? [:]).filter { $0.value.tree.secondaries.contains(where: \.facts.installed) }
                .keys)
    }

    package func statement(of carrier: UniqueIdentifier, about app: ApplicationIdentifier) -> AcceptedStatement? {
        branches[carrier]?.accepted[app]
    }

    /// A device that carriers have named and name no longer.
    package struct Hidden: Sendable, Equatable {
        /// Nil once that one is unpaired.
        package let carrier: UniqueIdentifier?
        package let pairing: UniqueIdentifier
        package let device: UniqueIdentifier
        package let gone: Gone
    }

    /// Those that carriers have named and name no longer, as far as no statement names the device in another way: a
    /// carrier that hides one can do so in the open only.
    package var hidden: [Hidden] {
        let devices = devices
        let stated = branches.flatMap { carrier, branch in
            branch.keys.values.joined().compactMap { Self.trace($0.key, $0.value, by: carrier) }
        }
        return (stated + traces.compactMap { Self.trace($0.key, $0.value, by: nil) })
            .filter { !devices.contains($0.device) }
            .sorted { ($0.gone.name, $0.pairing) < ($1.gone.name, $1.pairing) }
    }

    private static func trace(
        _ pairing: UniqueIdentifier, _ certified: Certified, by carrier: UniqueIdentifier?
    ) -> Hidden? {
        certified.gone.map { Hidden(carrier: carrier, pairing: pairing, device: certified.device, gone: $0) }
    }

    private var devices: Set<UniqueIdentifier> { Set(known.values.flatMap { $0.values.map(\.facts.device) }) }

    // MARK: events

    /// Verifies a carrier's statement and takes it over. A fault of a secondary, or in a statement of `below`, costs
    /// that one only: a device far below takes nothing from its siblings.
    /// - Parameters:
    ///   - own: this device.
    ///   - isDirect: whether a pairing is one of this device's own.
    /// - Throws: ``CarrierFailure``; nothing has changed then.
    package mutating func take(
        _ bytes: [UInt8], about app: ApplicationIdentifier, from carrier: Carrier, at own: UniqueIdentifier,
        now: WallTime, isDirect: @escaping (UniqueIdentifier) -> Bool
    ) throws(CarrierFailure) -> FarTransition {
        let statement = try CarrierStatement(verifying: bytes, with: carrier.key)
        guard statement.device == carrier.device, statement.pairing == carrier.pairing else { throw .wrongDevice }
        var branch = branches[carrier.pairing] ?? Branch()
        let before = branch.accepted[app]
        // In a new epoch the carrier's store or this one was restored: it may count from an earlier number.
        if let before, before.epoch == carrier.epoch, statement.counter <= before.tree.statement.counter {
            throw .replayed
        }
        guard let extent = statement.extent else { throw .tooMany }
        var examination = StatementExamination(app, at: own, knowing: branch.keys, isDirect: isDirect)
        let tree = try examination.accept(
            statement, through: [carrier.pairing], makers: [carrier.device], before: before?.tree)
        var transition = FarTransition()
        transition.changes = examination.keys.flatMap { path, named in
            named.filter { branch.keys[path]?[$0.key] == nil }.map { .certified(path, $0.key, $0.value) }
        }
        transition.passedOver = examination.passedOver.map(\.failure)
        branch.keys = examination.keys
        branches[carrier.pairing] = branch
        let (chosen, freed) = replace(app, behind: carrier, with: tree, at: now, &transition)
        let accepted = AcceptedStatement(
            bytes: bytes, extent: extent, epoch: carrier.epoch, passedOver: Set(examination.passedOver.map(\.mark)),
            chosen: chosen, tree: tree, named: Set(tree.secondaries.map(\.facts.pairing)))
        branches[carrier.pairing]?.accepted[app] = accepted
        transition.changes.append(.statement(carrier.pairing, app, accepted))
        chooseAgain(for: freed, &transition)
        forgetTraces(&transition)
        return transition
    }

    /// The secondaries of a statement take the place of those of the one before. A pairing stays with the carrier that
    /// named it first, and its device with its key.
    /// - Returns: the marks of those that count, and the last claim on those that are gone.
    private mutating func replace(
        _ app: ApplicationIdentifier, behind carrier: Carrier, with tree: StatementTree, at now: WallTime,
        _ transition: inout FarTransition
    ) -> (chosen: Set<[UInt8]>, freed: [UniqueIdentifier: FarSecondary]) {
        let before = known.compactMapValues { $0[app].flatMap { $0.carrier == carrier.pairing ? $0 : nil } }
        for pairing in before.keys { known[pairing]?[app] = nil }
        let named = tree.secondaries
        let all = Dictionary(grouping: named, by: \.facts.pairing)
        var chosen: Set<[UInt8]> = []
        for first in named where all[first.facts.pairing]?.first == first {
            let pairing = first.facts.pairing
            let (counting, isContested) = choice(of: all[pairing] ?? [], after: before)
            if isContested { transition.contested.append(pairing) }
            guard var one = counting else { continue }
            if one.follow(before[pairing], in: carrier.epoch) { transition.announced.append(pairing) }
            enter(one, about: app, &transition)
            chosen.insert(one.mark)
            transition.present.append(pairing)
        }
        transition.gone = before.keys.filter { known[$0]?.isEmpty ?? true }
        for pairing in transition.gone {
            known[pairing] = nil
            guard let last = before[pairing] else { continue }
            setGone(Gone(name: last.facts.name, since: now), pairing, through: last.path, &transition)
        }
        return (chosen, before.filter { known[$0.key] == nil })
    }

    private mutating func enter(
        _ claim: FarSecondary, about app: ApplicationIdentifier, _ transition: inout FarTransition
    ) {
        known[claim.facts.pairing, default: [:]][app] = claim
        setGone(nil, claim.facts.pairing, through: claim.path, &transition)
    }

    /// Chooses again for pairings for which no claim counts any longer. Another carrier may have stated them all along
    /// and been passed over for the carrier whose claim counted. It does not state them again while its statement stays
    /// the same.
    /// - Parameter freed: those that were stated, with the last claim, and so with the device and key that count; nil
    ///   for all.
    private mutating func chooseAgain(for freed: [UniqueIdentifier: FarSecondary]?, _ transition: inout FarTransition) {
        guard freed?.isEmpty != true else { return }
        for (app, claims) in candidates(for: freed) {
            // None of them is contested for a carrier's fault now.
            guard var one = choice(of: claims, after: freed ?? [:]).counting else { continue }
            _ = one.follow(nil, in: branches[one.carrier]?.accepted[app]?.epoch ?? 0)
            enter(one, about: app, &transition)
            transition.chosenAgain[app, default: []].append(one.facts.pairing)
            guard var accepted = branches[one.carrier]?.accepted[app] else { continue }
            accepted.chosen.insert(one.mark)
            branches[one.carrier]?.accepted[app] = accepted
            let change = FarChange.statement(one.carrier, app, accepted)
            transition.changes.removeAll { $0.isReplaced(by: change) }
            transition.changes.append(change)
        }
    }

    /// The claims of each accepted statement on each pairing, at least one: the nearest first, and then always in the
    /// same order.
    private func candidates(
        for freed: [UniqueIdentifier: FarSecondary]?
    ) -> [(app: ApplicationIdentifier, claims: [FarSecondary])] {
        var found: [(app: ApplicationIdentifier, claims: [FarSecondary])] = []
        for branch in branches.values {
            for (app, accepted) in branch.accepted where freed?.keys.contains(where: accepted.named.contains) != false {
                let claims = accepted.tree.secondaries.filter { claim in
                    let pairing = claim.facts.pairing
                    return known[pairing] == nil && (freed.map { $0[pairing] != nil } ?? true)
                }
                found += Dictionary(grouping: claims, by: \.facts.pairing).values.map { (app: app, claims: $0) }
            }
        }
        return found.sorted { left, right in
            let (one, other) = (left.claims[0], right.claims[0])
            return (one.path.count, one.carrier, left.app, one.facts.pairing)
                < (other.path.count, other.carrier, right.app, other.facts.pairing)
        }
    }

    private mutating func setGone(
        _ gone: Gone?, _ pairing: UniqueIdentifier, through path: [UniqueIdentifier],
        _ transition: inout FarTransition
    ) {
        guard let carrier = path.first, var certified = branches[carrier]?.keys[path]?[pairing], certified.gone != gone
        else { return }
        certified.gone = gone
        branches[carrier]?.keys[path]?[pairing] = certified
        transition.changes.append(.certified(path, pairing, certified))
    }

    /// The claim on a pairing that counts, of those in one statement: that of the carrier whose claim counted before,
    /// else the one nearest to this device; nil if that one does not have the app. Contested if others stay uncounted.
    private func choice(
        of claims: [FarSecondary], after before: [UniqueIdentifier: FarSecondary]
    ) -> (counting: FarSecondary?, isContested: Bool) {
        guard let first = claims.first else { return (nil, false) }
        let pairing = first.facts.pairing
        let others = known[pairing]?.values.map { $0 } ?? []
        if others.contains(where: { $0.carrier != first.carrier }) {
            return (nil, claims.contains(where: \.facts.installed))
        }
        let identity = (others.first ?? before[pairing] ?? first).facts.identity
        let same = claims.filter { $0.facts.identity == identity }
        let one = same.first { $0.path == before[pairing]?.path } ?? same.first
        return (one?.facts.installed == true ? one : nil, same.count < claims.count)
    }

    /// The pairing with a carrier is gone. The devices behind it are behind another one that states them, too, or
    /// are gone.
    package mutating func unpaired(_ carrier: UniqueIdentifier, at now: WallTime) -> FarTransition {
        guard let branch = branches[carrier] else { return FarTransition() }
        var transition = FarTransition(changes: [.unpaired(carrier)])
        transition.gone = pairings(behind: carrier)
        var freed: [UniqueIdentifier: FarSecondary] = [:]
        for pairing in transition.gone { freed[pairing] = self[pairing] }
        var rows: [UniqueIdentifier: Certified] = [:]
        let stated = devices
        for (pairing, certified) in branch.keys.values.joined()
        where certified.gone != nil && !stated.contains(certified.device) { rows[pairing] = certified }
        branches[carrier] = nil
        for pairing in transition.gone { known[pairing] = nil }
        chooseAgain(for: freed, &transition)
        for (pairing, last) in freed {
            var certified = Certified(device: last.facts.device, reportKey: last.facts.reportKey)
            certified.gone = Gone(name: last.facts.name, since: now)
            rows[pairing] = certified
        }
        keepTraces(rows, &transition)
        return transition
    }

    /// The operator has seen that a device is gone: its rows end (CTL-68). A carrier that is still paired keeps the key
    /// that it named first, and one that states the device again and then no longer makes another row.
    /// - Returns: no changes for a device that is stated, or of which nothing is kept.
    package mutating func forget(_ device: UniqueIdentifier) -> FarTransition {
        var transition = FarTransition()
        guard !devices.contains(device) else { return transition }
        for branch in branches.values {
            for (path, named) in branch.keys {
                for (pairing, certified) in named where certified.device == device {
                    setGone(nil, pairing, through: path, &transition)
                }
            }
        }
        for (pairing, certified) in traces where certified.device == device { forgetTrace(pairing, &transition) }
        return transition
    }

    /// Keeps a trace of those that no carrier states any more (LIM-85): the oldest goes first.
    private mutating func keepTraces(_ rows: [UniqueIdentifier: Certified], _ transition: inout FarTransition) {
        let devices = devices
        for (pairing, certified) in rows.sorted(by: { $0.key < $1.key }) where !devices.contains(certified.device) {
            traces[pairing] = certified
            transition.changes.append(.certified([], pairing, certified))
        }
        let excess = traces.count - ConfigurationLimits.rows
        guard excess > 0 else { return }
        let age = { (row: (key: UniqueIdentifier, value: Certified)) in
            (row.value.gone?.since.milliseconds ?? 0, row.key)
        }
        for row in traces.sorted(by: { age($0) < age($1) }).prefix(excess) { forgetTrace(row.key, &transition) }
    }

    /// The traces of devices that are stated again.
    private mutating func forgetTraces(_ transition: inout FarTransition) {
        guard !traces.isEmpty else { return }
        let devices = devices
        for (pairing, certified) in traces where devices.contains(certified.device) {
            forgetTrace(pairing, &transition)
        }
    }

    private mutating func forgetTrace(_ pairing: UniqueIdentifier, _ transition: inout FarTransition) {
        traces[pairing] = nil
        transition.changes.removeAll { change in
            guard case .certified(let path, let named, _) = change else { return false }
            return path.isEmpty && named == pairing
        }
        transition.changes.append(.forgotten(pairing))
    }

    // MARK: restoring

    /// Everything is restored. A crash, or an earlier version, may have left pairings that a statement names and for
    /// which no claim counts.
    package mutating func restored() -> FarTransition {
        var transition = FarTransition()
        chooseAgain(for: nil, &transition)
        forgetTraces(&transition)
        return transition
    }

    package mutating func restore(
        _ accepted: AcceptedStatement, about app: ApplicationIdentifier, of carrier: UniqueIdentifier
    ) {
        branches[carrier, default: Branch()].accepted[app] = accepted
        for var named in accepted.tree.secondaries where accepted.chosen.contains(named.mark) {
            _ = named.follow(nil, in: accepted.epoch)
            known[named.facts.pairing, default: [:]][app] = named
        }
    }

    /// - Parameter path: the pairings from this device to the one that named it; none once its carrier is unpaired.
    package mutating func restore(
        _ certified: Certified, of pairing: UniqueIdentifier, through path: [UniqueIdentifier]
    ) {
        guard let carrier = path.first else {
            traces[pairing] = certified
            return
        }
        branches[carrier, default: Branch()].keys[path, default: [:]][pairing] = certified
    }
}

/// By the pairings from this device to a carrier, and by that carrier's pairing with its secondary. A device far below
/// can name what it likes: it does not touch what others have named.
typealias CertifiedKeys = [[UniqueIdentifier]: [UniqueIdentifier: FarSecondaries.Certified]]

/// A statement that a primary has accepted.
package struct AcceptedStatement: Sendable, Equatable {
    /// The exact bytes, for a statement of this device.
    package let bytes: [UInt8]
    /// All that is in it, whether it counts or not. Kept, because each statement of this device asks for it.
    package let extent: CarrierStatement.Extent?
    /// The epoch of the carrier's pairing when the statement came.
    fileprivate let epoch: UInt64
    /// The marks of that in it which does not count.
    fileprivate let passedOver: Set<[UInt8]>
    /// The marks of the secondaries in it that a primary reaches.
    fileprivate var chosen: Set<[UInt8]>
    fileprivate let tree: StatementTree
    /// The pairings in it: most statements name none of those that are looked for.
    fileprivate let named: Set<UniqueIdentifier>
}

extension AcceptedStatement {
    var pairing: UniqueIdentifier { tree.statement.pairing }

    package var dictionary: PropertyListDictionary {
        [
            "v": 2, "statement": .data(bytes), "epoch": PropertyListValue(epoch),
            "passedOver": .array(passedOver.map { .data($0) }), "chosen": .array(chosen.map { .data($0) }),
        ]
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        let version = try fields.required("v", "1 or 2") {
            $0.integerValue.flatMap { (1...2).contains($0) ? $0 : nil }
        }
        let digests = { (value: PropertyListValue) in value.distinct(0...Int.max) { $0.digestValue } }
        bytes = try fields.required("statement", "data") { $0.dataValue }
        passedOver = Set(try fields.required("passedOver", "a list of digests", digests))
        chosen = Set(try fields.required("chosen", "a list of digests", digests))
        if version == 1 {
            // It said only whether an epoch had begun since; 0 is no pairing's epoch.
            let isRenewed = try fields.required("renewed", "a boolean") { $0.booleanValue }
            epoch = isRenewed ? 0 : 1
        } else {
            epoch = try fields.required("epoch", "an integer from 1 to 4,294,967,295") { $0.epochValue }
        }
        try fields.refuseUnknownFields()
        guard let statement = CarrierStatement(claimedIn: bytes) else {
            throw FieldError(field: "statement", problem: "is no statement")
        }
        extent = statement.extent
        tree = StatementTree(statement, through: [statement.pairing], without: passedOver)
        named = Set(tree.secondaries.map(\.facts.pairing))
    }
}

extension FarSecondaries.Certified {
    package var dictionary: PropertyListDictionary {
        PropertyListDictionary(present: [
            "v": 1, "device": .data(device.bytes), "reportKey": .data(reportKey), "name": gone.map { .string($0.name) },
            "gone": gone.map { .integer($0.since.milliseconds) },
        ])
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        device = try fields.required("device", "16 bytes of data") { $0.identifierValue }
        reportKey = try fields.required("reportKey", "data") { $0.dataValue }
        let name = try fields.optional("name", "a string") { $0.stringValue }
        let since = try fields.optional("gone", "an integer") { $0.timeValue }
        if let name, let since { gone = FarSecondaries.Gone(name: name, since: since) }
        try fields.refuseUnknownFields()
    }
}

package enum FarChange: Sendable, Equatable {
    case statement(UniqueIdentifier, ApplicationIdentifier, AcceptedStatement)
    /// - path: the pairings from this device to the one that named it; none once its carrier is unpaired.
    case certified(_ path: [UniqueIdentifier], UniqueIdentifier, FarSecondaries.Certified)
    /// All rows of the carrier go.
    case unpaired(UniqueIdentifier)
    /// The trace of a device whose carrier is unpaired.
    case forgotten(UniqueIdentifier)

    /// Whether another change writes the same row of a statement.
    fileprivate func isReplaced(by other: FarChange) -> Bool {
        guard case .statement(let carrier, let app, _) = self, case .statement(let same, let equal, _) = other else {
            return false
        }
        return carrier == same && app == equal
    }
}

package struct FarTransition: Sendable, Equatable {
    package internal(set) var changes: [FarChange] = []
    /// The far pairings that the statement names.
    package internal(set) var present: [UniqueIdentifier] = []
    /// Those of them that it announces: new for the app, behind other carriers, with another target, or in a higher
    /// epoch than ever (CFG-103).
    package internal(set) var announced: [UniqueIdentifier] = []
    /// Those that another carrier named first, or that were another device, and that stay so.
    package internal(set) var contested: [UniqueIdentifier] = []
    /// The faults of secondaries and statements in it that do not count.
    package internal(set) var passedOver: [CarrierFailure] = []
    /// Those that their carrier names no longer, or that was unpaired.
    package internal(set) var gone: [UniqueIdentifier] = []
    /// Those of them that another statement names, by its app; at a start any that none counted for.
    package internal(set) var chosenAgain: [ApplicationIdentifier: [UniqueIdentifier]] = [:]
}
