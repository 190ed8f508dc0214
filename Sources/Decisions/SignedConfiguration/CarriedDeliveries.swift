// Deliveries that a carrier passes on (CFG-103, CFG-104): the way back of each report, and its announcements to its own
// primaries. A carrier never judges, stages or wants anything that it carries.

package import TandemBase
package import TandemPropertyList
import TandemWire

package struct CarriedDeliveries: Sendable {
    /// The way of one delivery through this device.
    package struct Way: Sendable, Equatable {
        /// The item, and the nonce that the report repeats.
        package let nonce: UniqueIdentifier
        package let application: ApplicationIdentifier
        /// The pairing with the primary that it came from.
        package let upstream: UniqueIdentifier
        /// The pairing that it went out through.
        package let downstream: UniqueIdentifier
        /// The far pairing.
        package let to: UniqueIdentifier
        package let isKeyStatement: Bool
        /// In the order in which they came.
        fileprivate(set) var ordinal: UInt64 = 0

        package init(
            nonce: UniqueIdentifier, application: ApplicationIdentifier, upstream: UniqueIdentifier,
            downstream: UniqueIdentifier, to: UniqueIdentifier, isKeyStatement: Bool = false
        ) {
            (self.nonce, self.application, self.to) = (nonce, application, to)
            (self.upstream, self.downstream, self.isKeyStatement) = (upstream, downstream, isKeyStatement)
        }

        fileprivate var route: Route {
            Route(upstream: upstream, to: to, application: application, isKeyStatement: isKeyStatement)
        }
    }

    /// The last statement to one primary about one app.
    package struct Announcement: Sendable, Equatable {
        /// The item that took it there.
        package let item: UniqueIdentifier
        /// The epoch of the primary's pairing when the statement was made. In another one the primary may have lost it.
        fileprivate let epoch: UInt64
        package let contents: [UInt8]
        /// The secondaries in it. Not stored, and nil with statements below: the next comparison looks at the contents.
        fileprivate var bare: [CarrierStatement.Secondary]?
    }

    /// The keys that one secondary trusts, as this device has stated it.
    package struct StatedTrust: Sendable, Equatable {
        /// The last mark for each app that has named one.
        fileprivate var marks: [ApplicationIdentifier: TrustMark] = [:]
        /// How often nothing counted any longer under another one.
        fileprivate var losses: UInt64 = 0

        fileprivate init() {}
    }

    fileprivate struct Route: Hashable {
        let upstream: UniqueIdentifier
        let to: UniqueIdentifier
        let application: ApplicationIdentifier
        let isKeyStatement: Bool
    }

    private struct LeftOut: Hashable {
        let upstream: UniqueIdentifier
        let pairing: UniqueIdentifier
        let application: ApplicationIdentifier
    }

    private var ways: [UniqueIdentifier: Way] = [:]
    /// The nonces of each route, the newest last.
    private var routes: [Route: [UniqueIdentifier]] = [:]
    /// The last statements to each primary.
    private var announcements: [UniqueIdentifier: [ApplicationIdentifier: Announcement]] = [:]
    private var trusts: [UniqueIdentifier: StatedTrust] = [:]
    /// Until when statements of secondaries are left out (LIM-96).
    private var leftOut: [LeftOut: MonotonicTime] = [:]
    /// Of the last statement.
    private var counter: UInt64 = 0
    private var lastOrdinal: UInt64 = 0

    package init() {}

    /// This device's pairings of ways and announcements.
    package var pairings: Set<UniqueIdentifier> {
        let stated = Set(announcements.keys).union(trusts.keys)
        return ways.values.reduce(into: stated) { $0.formUnion([$1.upstream, $1.downstream]) }
    }

    // MARK: the ways

    /// A configuration passes. The oldest ways of the same route are forgotten (``displaced(by:)``).
    package mutating func carry(_ new: Way) -> [CarriedChange] {
        guard ways[new.nonce] == nil else { return [] }
        let displaced = displaced(by: new)
        for way in displaced { ways[way.nonce] = nil }
        routes[new.route]?.removeFirst(displaced.count)
        var way = new
        way.ordinal = lastOrdinal + 1
        restore(way)
        return [.way(way)] + displaced.map { .forgotten($0.nonce) }
    }

    /// The oldest ways of the same route, beyond the last eight configurations (LIM-85) or as many steps as a primary
    /// has on their way (LIM-111). No more items than these may wait here: their primary chooses the slots, and would
    /// fill a queue that others share.
    package func displaced(by new: Way) -> [Way] {
        guard ways[new.nonce] == nil, let nonces = routes[new.route] else { return [] }
        let room = new.isKeyStatement ? ConfigurationLimits.stepsUnderWay : ConfigurationLimits.openDeliveries
        return nonces.prefix(max(0, nonces.count + 1 - room)).compactMap { ways[$0] }
    }

    package func way(of nonce: UniqueIdentifier) -> Way? { ways[nonce] }

    /// The way back of a report that came through a pairing about a far one; nil for one that this device did not
    /// carry.
    package func way(
        of nonce: UniqueIdentifier, from downstream: UniqueIdentifier, about far: UniqueIdentifier
    ) -> Way? {
        ways[nonce].flatMap { $0.downstream == downstream && $0.to == far ? $0 : nil }
    }

    // MARK: keys

    /// A secondary of this device trusts these keys, for all the apps for which it is stated. Comes before a statement.
    /// Of what a primary above was told before the first trust mark this device knows nothing: it counts as lost.
    package mutating func note(
        _ marks: [ApplicationIdentifier: TrustMark], of downstream: UniqueIdentifier
    ) -> [CarriedChange] {
        var trust = trusts[downstream] ?? StatedTrust()
        let before = trust
        for (app, mark) in marks {
            let known = trust.marks[app] ?? .unnamed
            let isStated = announcements.values.contains { $0[app] != nil }
            if known.isLost(by: mark, after: isStated ? .key : .nothing) {
                trust.losses = min(trust.losses + 1, Limits.lastEpoch)
            }
            let next = known.followed(by: mark)
            trust.marks[app] = next == .unnamed ? nil : next
        }
        // One that is forgotten here has its first trust mark again later.
        if trust.marks.count > ConfigurationLimits.carriedApplications {
            trust.marks = trust.marks.filter { marks[$0.key] != nil }
        }
        guard trust != before else { return [] }
        trusts[downstream] = trust
        return [.trusted(downstream, trust)]
    }

    /// The epoch to state for a secondary: it rises with that of the pairing, and with each key under which nothing of
    /// before counts. Primaries of every release begin again at a higher one.
    package func statedEpoch(of downstream: UniqueIdentifier, in epoch: UInt64) -> UInt64 {
        let losses = trusts[downstream]?.losses ?? 0
        return min(epoch, Limits.lastEpoch - losses) + losses
    }

    // MARK: announcements

    /// The apps that a primary has been told of.
    package func announced(to upstream: UniqueIdentifier) -> [ApplicationIdentifier: Announcement] {
        announcements[upstream] ?? [:]
    }

    /// Whether the last statement to a primary in this epoch names these secondaries, and has no statement below. A
    /// carrier states all its apps when one has changed: what says the same is found without being written.
    package func hasNamed(
        _ secondaries: [CarrierStatement.Secondary], about app: ApplicationIdentifier, to upstream: UniqueIdentifier,
        in epoch: UInt64
    ) -> Bool {
        guard let last = announcements[upstream]?[app] else { return false }
        return last.epoch == epoch && last.bare == secondaries
    }

    /// The statements of secondaries that one of this device to a primary has room for. One that leads back to one of
    /// them, or too far, is left out, and stays so for a while (LIM-96): in a ring of devices each statement would
    /// otherwise change the next one, without end.
    /// - Parameters:
    ///   - offers: the accepted statements of the secondaries that carry.
    ///   - room: bytes.
    /// - Returns: those that are in it, and those that have just been left out.
    package mutating func chooseBelow(
        _ offers: [AcceptedStatement], about app: ApplicationIdentifier, to upstream: UniqueIdentifier,
        notNaming reserved: Set<UniqueIdentifier>, room: Int, now: MonotonicTime
    ) -> (below: [[UInt8]], leftOut: Int) {
        var (bytes, statements, below, new) = (room, ConfigurationLimits.carriedStatements - 1, [[UInt8]](), 0)
        for offer in offers {
            let key = LeftOut(upstream: upstream, pairing: offer.pairing, application: app)
            if let end = leftOut[key], now < end { continue }
            // Sixteen bytes for its place in the list.
            guard let extent = offer.extent, extent.devices.isDisjoint(with: reserved),
                extent.length < ConfigurationLimits.chainLength, extent.statements <= statements,
                offer.bytes.count + 16 <= bytes
            else {
                leftOut[key] = now + ConfigurationLimits.leftOut
                new += 1
                continue
            }
            leftOut[key] = nil
            bytes -= offer.bytes.count + 16
            statements -= extent.statements
            below.append(offer.bytes)
        }
        return (below, new)
    }

    /// The statement to make to a primary; nil if it would say what the last one of this epoch said.
    package mutating func announce(
        _ secondaries: [CarrierStatement.Secondary], below: [[UInt8]], about app: ApplicationIdentifier,
        to upstream: UniqueIdentifier, in epoch: UInt64, of device: UniqueIdentifier, item: UniqueIdentifier
    ) -> (statement: CarrierStatement, changes: [CarriedChange])? {
        let last = announcements[upstream]?[app]
        guard last != nil || !secondaries.isEmpty else { return nil }
        let statement = CarrierStatement(
            of: device, through: upstream, about: app, counter: counter + 1, secondaries: secondaries, below: below)
        let bare = below.isEmpty ? secondaries : nil
        if let last, last.contents == statement.contents, last.epoch == epoch {
            announcements[upstream]?[app]?.bare = bare
            return nil
        }
        counter += 1
        let announcement = Announcement(item: item, epoch: epoch, contents: statement.contents)
        announcements[upstream, default: [:]][app] = announcement
        announcements[upstream]?[app]?.bare = bare
        return (statement, [.counter(counter), .announced(upstream, app, announcement)])
    }

    /// A statement has not arrived, or its reader has lost it: it is made again.
    package mutating func forgetAnnouncement(
        to upstream: UniqueIdentifier, where isLost: (Announcement, ApplicationIdentifier) -> Bool
    ) -> [CarriedChange] {
        let lost = announced(to: upstream).filter { isLost($0.value, $0.key) && !$0.value.contents.isEmpty }
        return lost.map { app, lost in
            // Its app stays known: a primary that has an earlier statement must hear that nothing is left.
            let empty = Announcement(item: lost.item, epoch: lost.epoch, contents: [])
            announcements[upstream]?[app] = empty
            return .announced(upstream, app, empty)
        }
    }

    package mutating func unpaired(_ pairing: UniqueIdentifier) -> [CarriedChange] {
        let ended = ways.values.filter { $0.upstream == pairing || $0.downstream == pairing || $0.to == pairing }
        for way in ended {
            ways[way.nonce] = nil
            routes[way.route]?.removeAll { $0 == way.nonce }
        }
        routes = routes.filter { !$0.value.isEmpty }
        // A ring may have ended.
        leftOut = [:]
        let hadAnnouncements = announcements.removeValue(forKey: pairing) != nil
        let hadTrust = trusts.removeValue(forKey: pairing) != nil
        return ended.map { .forgotten($0.nonce) } + (hadAnnouncements || hadTrust ? [.unpaired(pairing)] : [])
    }

    // MARK: restoring

    package mutating func restore(_ way: Way) {
        ways[way.nonce] = way
        lastOrdinal = max(lastOrdinal, way.ordinal)
        let route = way.route
        let before = routes[route]?.lastIndex { (ways[$0]?.ordinal ?? 0) < way.ordinal }
        routes[route, default: []].insert(way.nonce, at: before.map { $0 + 1 } ?? 0)
    }

    package mutating func restore(
        _ announcement: Announcement, about app: ApplicationIdentifier, to upstream: UniqueIdentifier
    ) { announcements[upstream, default: [:]][app] = announcement }

    package mutating func restore(counter: UInt64) { self.counter = counter }

    package mutating func restore(_ trust: StatedTrust, of downstream: UniqueIdentifier) { trusts[downstream] = trust }
}

extension CarriedDeliveries.StatedTrust {
    package var dictionary: PropertyListDictionary {
        let rows = marks.sorted { $0.key < $1.key }.map { app, mark -> PropertyListValue in
            ["app": .string(app.description), "trust": .data(mark.bytes ?? [])]
        }
        return ["v": 1, "losses": PropertyListValue(losses), "marks": .array(rows)]
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        losses = try fields.required("losses", "an integer from 0 to 4,294,967,295") { value in
            value.unsignedValue.flatMap { $0 <= Limits.lastEpoch ? $0 : nil }
        }
        let marks = try fields.required("marks", "a list of keys") { $0.list(Self.mark) }
        self.marks = Dictionary(marks.map { ($0.app, $0.mark) }) { $1 }
        try fields.refuseUnknownFields()
    }

    private static func mark(_ value: PropertyListValue) -> (app: ApplicationIdentifier, mark: TrustMark)? {
        guard let fields = value.dictionaryValue, let app = fields["app"]?.applicationValue,
            let bytes = fields["trust"]?.dataValue, let mark = TrustMark(bytes: bytes)
        else { return nil }
        return (app, mark)
    }
}

extension CarriedDeliveries.Way {
    package var dictionary: PropertyListDictionary {
        [
            "v": 1, "nonce": .data(nonce.bytes), "app": .string(application.description),
            "upstream": .data(upstream.bytes), "downstream": .data(downstream.bytes), "to": .data(to.bytes),
            "keys": .boolean(isKeyStatement), "ordinal": PropertyListValue(ordinal),
        ]
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        nonce = try fields.required("nonce", "16 bytes of data") { $0.identifierValue }
        application = try fields.required("app", "an application identifier") { $0.applicationValue }
        upstream = try fields.required("upstream", "16 bytes of data") { $0.identifierValue }
        downstream = try fields.required("downstream", "16 bytes of data") { $0.identifierValue }
        to = try fields.required("to", "16 bytes of data") { $0.identifierValue }
        isKeyStatement = try fields.required("keys", "a boolean") { $0.booleanValue }
        ordinal = try fields.required("ordinal", "an integer from 1") { value in
            value.counterValue.flatMap { $0 > 0 ? $0 : nil }
        }
        try fields.refuseUnknownFields()
    }
}

extension CarriedDeliveries.Announcement {
    package var dictionary: PropertyListDictionary {
        ["v": 1, "item": .data(item.bytes), "epoch": PropertyListValue(epoch), "contents": .data(contents)]
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        item = try fields.required("item", "16 bytes of data") { $0.identifierValue }
        // Earlier versions wrote rows without an epoch.
        epoch = try fields.optional("epoch", "an integer from 1 to 4,294,967,295") { $0.epochValue } ?? 1
        contents = try fields.required("contents", "data") { $0.dataValue }
        try fields.refuseUnknownFields()
    }
}

package enum CarriedChange: Sendable, Equatable {
    case way(CarriedDeliveries.Way)
    case forgotten(UniqueIdentifier)
    case counter(UInt64)
    case announced(UniqueIdentifier, ApplicationIdentifier, CarriedDeliveries.Announcement)
    case trusted(UniqueIdentifier, CarriedDeliveries.StatedTrust)
    /// The announcements to a primary, or the keys of a secondary, go.
    case unpaired(UniqueIdentifier)
}
