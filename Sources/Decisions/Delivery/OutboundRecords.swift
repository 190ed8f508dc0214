// Items of a sender: as they are submitted, as the records that the queue keeps of them without their bodies, and the
// indexes over these records. A record is enough to continue after a restart at any point.

package import TandemBase
package import TandemWire

package struct OutboundItem: Sendable, Equatable {
    package let id: UniqueIdentifier
    package let payload: [UInt8]
    package internal(set) var supersedeKey: [UInt8]?
    /// The time to live; nil for the usual one.
    package let lifetime: Duration?
    /// Which handler of the peer's application is meant; nil for the usual one.
    package let topic: String?
    /// The subject of an urgent item: the newest item of each kind is the current one.
    package let kind: String?
    /// The item whose end this one waits for; only one that is known and has not ended.
    package var after: UniqueIdentifier?
    /// For a context: what to do if its bytes equal those of the last one.
    package let policy: ContextPolicy
    /// Assigned by the queue to a context.
    var revision: UInt64?

    package init(
        id: UniqueIdentifier, payload: [UInt8], supersedeKey: [UInt8]? = nil, lifetime: Duration? = nil,
        topic: String? = nil, kind: String? = nil, after: UniqueIdentifier? = nil, policy: ContextPolicy = .ifChanged
    ) {
        self.id = id
        self.payload = payload
        self.supersedeKey = supersedeKey
        self.lifetime = lifetime
        self.topic = topic
        self.kind = kind
        self.after = after
        self.policy = policy
    }
}

/// The state of an item on its way.
package enum OutboundPhase: Sendable, Equatable {
    /// Durable here, never sent: the sender alone decides about it.
    case waiting
    /// Given this place in the numbering and sent at least once.
    case sent(sequence: UInt64)
    /// Durable at the peer.
    case stored(sequence: UInt64)
    /// Ended; kept until its submitter has acknowledged that.
    case finished(Outcome)

    var sequence: UInt64? {
        switch self {
        case .sent(let sequence), .stored(let sequence): sequence
        case .waiting, .finished: nil
        }
    }
}

/// An item of an outbound queue without its body. Copied several times for each event: the fields that few items have
/// are behind one reference.
package struct OutboundRecord: Sendable, Equatable {
    /// The order of acceptance; local to this queue and never used again.
    package let ordinal: UInt64
    /// The item's identifier, for its submitter and for tracing.
    package let id: UniqueIdentifier
    /// Bytes of the body.
    package let size: Int
    /// In the queue's time.
    package let acceptedAt: Int64
    package internal(set) var expiresAt: Int64
    /// Attempts that the peer refused.
    package internal(set) var attempts = 0
    package internal(set) var phase = OutboundPhase.waiting
    /// Why the item is being taken back, once it was sent; the peer's answer is awaited.
    package internal(set) var withdrawal: GapReason?
    /// Whether it is the current item of its kind.
    package internal(set) var isCurrent = false
    /// Whether the submitter has acknowledged how it ended: the record is then a dead letter, or one that is tried once
    /// more.
    package internal(set) var isAcknowledged = false
    /// Whether its short body is in the item's row. Not stored: the body in that row shows it.
    package var sharesRow = false
    private var rareBox = RareBox.empty

    private struct RareFields: Sendable, Equatable {
        var supersedeKey: [UInt8]?
        var topic: String?
        var revision: UInt64?
        var kind: String?
        var after: UniqueIdentifier?
        var refusal: ItemRefusal?
        var fileSize: Int64?
    }

    private enum RareBox: Sendable, Equatable {
        case empty
        indirect case full(RareFields)
    }

    private var rare: RareFields {
        get { if case .full(let rare) = rareBox { rare } else { RareFields() } }
        set { rareBox = newValue == RareFields() ? .empty : .full(newValue) }
    }

    /// Items with equal keys supersede each other; nil for one that is never superseded.
    package var supersedeKey: [UInt8]? { rare.supersedeKey }

    /// Which handler of the peer's application is meant; nil for the usual one.
    package var topic: String? { rare.topic }

    /// The revision of a context.
    package internal(set) var revision: UInt64? {
        get { rare.revision }
        set { rare.revision = newValue }
    }

    /// The subject of an urgent item; of each kind one item is the current one.
    package var kind: String? { rare.kind }

    /// The item that has to end before this one is sent, while it has not.
    package internal(set) var after: UniqueIdentifier? {
        get { rare.after }
        set { rare.after = newValue }
    }

    /// The peer's last refusal.
    package internal(set) var refusal: ItemRefusal? {
        get { rare.refusal }
        set { rare.refusal = newValue }
    }

    /// Bytes of the item's content, for people (SES-87): a file's own, although its body is only the manifest.
    package var contentSize: Int { rare.fileSize.map { Int(clamping: $0) } ?? size }

    init(ordinal: UInt64, _ item: OutboundItem, on channel: Channel, acceptedAt: Int64, expiresAt: Int64) {
        self.init(
            ordinal: ordinal, id: item.id, size: item.payload.count,
            acceptedAt: acceptedAt, expiresAt: expiresAt)
        rare = RareFields(
            supersedeKey: item.supersedeKey, topic: item.topic, revision: item.revision, kind: item.kind,
            after: item.after, fileSize: FileManifest.fileSize(in: item.payload, on: channel))
        placeBody(on: channel)
    }

    init(ordinal: UInt64, id: UniqueIdentifier, size: Int, acceptedAt: Int64, expiresAt: Int64) {
        self.ordinal = ordinal
        self.id = id
        self.size = size
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
    }

    /// Sends the item, or the gap in its place.
    /// - Parameter payload: the body if it is at hand.
    func sending(_ sequence: UInt64, at now: Int64, payload: [UInt8]? = nil) -> OutboundEffect {
        if let reason = withdrawal { return .sendGap(sequence: sequence, reason) }
        return .send(
            OutboundDispatch(
                ordinal: ordinal, sequence: sequence, id: id, age: QueueClock.passed(since: acceptedAt, at: now),
                remaining: remaining(at: now), attempt: attempts + 1, topic: topic, revision: revision,
                size: size, payload: payload, bodyTable: bodyTable))
    }

    package var isUnfinished: Bool { if case .finished = phase { false } else { true } }

    /// Whether it was sent, is not stored by the peer, and is not being taken back.
    package var isUnderWay: Bool { if case .sent = phase { withdrawal == nil } else { false } }

    /// Whether only the peer has it and decides how it ends. A new epoch loses that end (DEL-10).
    package var isLostByEpoch: Bool { if case .stored = phase { withdrawal == nil } else { false } }

    /// The record as the header's row completes it: the peer has stored what was sent up to this sequence, and the gap
    /// at least of what was taken back.
    func stored(through last: UInt64) -> Self {
        guard case .sent(let sequence) = phase, sequence <= last, withdrawal == nil else { return self }
        var record = self
        record.phase = .stored(sequence: sequence)
        return record
    }

    /// The manifest of a file is never in the item's row: it goes with the file, when the peer has stored both.
    package mutating func placeBody(on channel: Channel) {
        sharesRow = Self.isShort(size) && !channel.properties.hasFile
    }

    /// Whether the row in which it was accepted is there: until it has ended or is taken back. One that failed here
    /// keeps it for an operator. An item whose body an earlier version wrote into a separate row has none; removing it
    /// then changes nothing.
    var hasItemRow: Bool { withdrawal == .dead ? isUnfinished || isDeadLetter : isUnfinished && withdrawal == nil }

    /// Whether its body is there. A long one goes when the peer has stored it, unless the item failed here.
    package var hasBody: Bool {
        if case .stored = phase, !sharesRow { withdrawal == .dead } else { hasItemRow }
    }

    /// Whether it has ended and its submitter has not acknowledged that.
    var isUnacknowledged: Bool { !isUnfinished && !isAcknowledged }

    /// Whether it is an item of an application that was removed: it only awaits the peer's answer.
    var isCleared: Bool { isUnfinished && isAcknowledged && withdrawal == .cancelled }

    /// Whether it failed here and still has its body: one that failed at the peer is a dead letter there.
    package var isDeadLetter: Bool { phase == .finished(.withdrawn(.dead)) && withdrawal == .dead }

    /// Whether it is only kept so that the same identifier remains the same item: its submitter knows how it ended.
    var isAcknowledgedEnd: Bool { !isUnfinished && isAcknowledged && !isDeadLetter }

    /// The remainder of a record whose outcome its submitter has acknowledged.
    fileprivate init(acknowledged id: UniqueIdentifier, ordinal: UInt64, _ phase: OutboundPhase, revision: UInt64?) {
        self.init(ordinal: ordinal, id: id, size: 0, acceptedAt: 0, expiresAt: 0)
        (self.phase, self.revision, isAcknowledged) = (phase, revision, true)
    }

    /// The peer's last refusal, if it explains the item's end: its sender gave it up.
    package var endingRefusal: ItemRefusal? { phase == .finished(.withdrawn(.dead)) ? refusal : nil }
}

extension OutboundRecord: QueueRecord {
    static var recordTable: DeliveryTable { .outboundRecord }
    static var itemTable: DeliveryTable { .outboundItem }
    static var payloadTable: DeliveryTable { .outboundPayload }

    var itemID: UniqueIdentifier? { id }
    var sequence: UInt64? { phase.sequence }
    package var bodyTable: DeliveryTable { sharesRow ? .outboundItem : .outboundPayload }
    var value: DeliveryValue { .outboundRecord(self) }
    func value(with body: [UInt8]?) -> DeliveryValue { .outboundItem(self, body: body) }
}

// MARK: stored form

extension OutboundRecord {
    /// The record's stored form, perhaps with its body; its ordinal is in the row's key.
    func stored(with body: [UInt8]? = nil) -> [UInt8] {
        var record = RecordWriter(capacity: 96 + (body?.count ?? 0))
        record.add(.id, id)
        record.add(.size, Int64(size))
        record.add(.accepted, acceptedAt)
        record.add(.expires, expiresAt)
        record.add(.attempts, attempts, unless: 0)
        record.add(.supersedes, supersedeKey)
        record.add(.topic, topic)
        record.add(.revision, revision)
        record.add(.kind, kind)
        record.add(.current, if: isCurrent)
        record.add(.after, after)
        record.add(.failure, refusal?.code)
        record.add(.acknowledged, if: isAcknowledged)
        record.add(.withdrawal, withdrawal?.rawValue)
        switch phase {
        case .waiting: break
        case .sent(let sequence): record.add(.sent, sequence)
        case .stored(let sequence): record.add(.stored, sequence)
        case .finished(let outcome): record.add(outcome)
        }
        record.add(.refusal, refusal?.name)
        record.add(.fileSize, rare.fileSize)
        record.add(.body, body)
        return record.bytes
    }

    init(_ fields: inout RecordReader, ordinal: UInt64) throws(DeliveryRecordError) {
        guard let id = try fields.identifier(.id) else { throw .missing(fields.table, .id) }
        let (size, acceptedAt) = (try fields.count(.size), try fields.time(.accepted))
        let (expiresAt, attempts) = (try fields.time(.expires), try fields.count(.attempts, usually: 0))
        self.init(ordinal: ordinal, id: id, size: size, acceptedAt: acceptedAt, expiresAt: expiresAt)
        self.attempts = attempts
        // Filled once: each assignment through the record copies it.
        var rare = RareFields()
        rare.supersedeKey = try fields.bytes(.supersedes)
        rare.topic = try fields.text(.topic)
        rare.revision = try fields.optionalNumber(.revision)
        rare.kind = try fields.text(.kind)
        isCurrent = fields.flag(.current)
        rare.after = try fields.identifier(.after)
        let failure = try fields.integer(.failure)
        isAcknowledged = fields.flag(.acknowledged)
        withdrawal = try fields.word(.withdrawal) { GapReason(word: $0) }
        phase = try Self.phase(in: &fields)
        let name = try fields.text(.refusal)
        rare.refusal = failure.map { ItemRefusal(code: $0, name: name) }
        rare.fileSize = try fields.fileSize()
        self.rare = rare
    }

    /// One of three fields names the phase; a second one is left over and refused.
    private static func phase(in fields: inout RecordReader) throws(DeliveryRecordError) -> OutboundPhase {
        if let sequence = try fields.optionalCounter(.sent) { return .sent(sequence: sequence) }
        if let sequence = try fields.optionalCounter(.stored) { return .stored(sequence: sequence) }
        return try fields.outcome().map { .finished($0) } ?? .waiting
    }
}

/// The records of an outbound queue, with the indexes that only a sender needs.
struct OutboundRecords: Sendable {
    private(set) var table: RecordTable<OutboundRecord>
    private var ordinalByID: [UniqueIdentifier: UInt64] = [:]
    private var newestBySupersedeKey: [[UInt8]: UInt64] = [:]
    /// Items of a key besides its newest one. A key has several only where a dead letter is tried again beside a newer
    /// item.
    private var olderBySupersedeKey: [[UInt8]: [UInt64]] = [:]
    private var currentByKind: [String: UInt64] = [:]
    /// Items that wait for the end of another item, by that item.
    private var barriers: [UniqueIdentifier: [UInt64]] = [:]
    /// Items that were not sent, in order of acceptance.
    private var waiting = OrdinalQueue()
    /// Ended items that their submitters have not acknowledged, in the order of their ends.
    private var ended = OrdinalQueue()
    /// Ended items that their submitters have not acknowledged.
    private(set) var unacknowledged = 0
    /// One has left these, and may be the first in their order.
    private var hasLeftEnded = false
    /// Sent items whose withdrawal the peer has not answered.
    private(set) var withdrawing = 0
    private var acknowledged = AcknowledgedEnds()
    /// Nil until somebody asks for shares.
    private var sourceShares: SourceShares?

    init(_ stored: [OutboundRecord]) {
        let living = stored.filter { !$0.isAcknowledgedEnd }
        table = RecordTable(living)
        ordinalByID.reserveCapacity(living.count)
        for record in stored.filter(\.isAcknowledgedEnd).sorted(by: { $0.ordinal < $1.ordinal }) {
            acknowledged.append(record)
        }
        for record in living.sorted(by: { $0.ordinal < $1.ordinal }) {
            index(record.ordinal, from: Entry(), to: Entry(record))
            ordinalByID[record.id] = record.ordinal
            if record.isUnfinished { relate(record) }
        }
        prune()
    }

    // MARK: records

    /// A known item; also one of the last whose submitters know how they ended.
    subscript(id: UniqueIdentifier) -> OutboundRecord? { ordinalByID[id].flatMap { table[$0] } ?? acknowledged[id] }

    func isKnown(_ id: UniqueIdentifier) -> Bool { ordinalByID[id] != nil || acknowledged.contains(id) }

    /// Adds an item that was accepted now.
    mutating func add(_ record: OutboundRecord) {
        set(record)
        ordinalByID[record.id] = record.ordinal
        relate(record)
    }

    /// Replaces a record.
    /// - Returns: the record before.
    @discardableResult
    mutating func set(_ record: OutboundRecord) -> OutboundRecord? {
        let before = table.set(record)
        index(record.ordinal, from: before.map { Entry($0) } ?? Entry(), to: Entry(record))
        return before
    }

    mutating func remove(_ record: OutboundRecord) {
        ordinalByID[record.id] = nil
        index(record.ordinal, from: table.remove(record.ordinal).map { Entry($0) } ?? Entry(), to: Entry())
    }

    /// The submitter knows how the item ended: only its identifier, its end and its row stay for a while.
    /// - Returns: what is left of it.
    mutating func acknowledge(_ record: OutboundRecord) -> OutboundRecord {
        remove(record)
        let rest = OutboundRecord(
            acknowledged: record.id, ordinal: record.ordinal, record.phase, revision: record.revision)
        acknowledged.append(rest)
        return rest
    }

    /// Forgets the oldest end that its submitter knows, if there are more than so many.
    mutating func takeExcessAcknowledged(over limit: Int) -> OutboundRecord? {
        acknowledged.takeExcess(over: limit)
    }

    private mutating func index(_ ordinal: UInt64, from before: Entry, to after: Entry) {
        if before.isWithdrawing != after.isWithdrawing { withdrawing += after.isWithdrawing ? 1 : -1 }
        if before.isUnfinished != after.isUnfinished {
            if after.isUnfinished { sourceShares?.add(ordinal) } else { sourceShares?.remove(ordinal) }
        }
        let isOpened = after.isUnfinished && !before.isUnfinished
        if isOpened, after.isWaiting { waiting.insert(ordinal) }
        guard before.isUnacknowledged != after.isUnacknowledged else { return }
        if after.isUnacknowledged {
            unacknowledged += 1
            ended.append(ordinal)
        } else {
            unacknowledged -= 1
            hasLeftEnded = true
            // Its entry would come alive again with its next end.
            if isOpened { ended.remove(ordinal) }
        }
    }

    /// The facts of a record that the indexes need; all false if there is none.
    private struct Entry {
        var isWithdrawing = false
        var isUnfinished = false
        var isWaiting = false
        var isUnacknowledged = false

        init() {}

        init(_ record: borrowing OutboundRecord) {
            isUnfinished = record.isUnfinished
            isWaiting = record.phase == .waiting
            isWithdrawing = record.withdrawal != nil && record.phase.sequence != nil
            isUnacknowledged = !isUnfinished && !record.isAcknowledged
        }
    }

    /// Drops stale entries of the orders.
    mutating func prune() {
        table.prune()
        guard hasLeftEnded else { return }
        hasLeftEnded = false
        let table = table
        ended.prune(living: unacknowledged) { table[$0]?.isUnacknowledged == true }
    }

    /// Takes an item out of the index that has expired.
    mutating func takeExpired(at now: Int64) -> OutboundRecord? { table.takeExpired(at: now) }

    // MARK: relations between items

    private mutating func relate(_ record: OutboundRecord) {
        if record.isCurrent, let kind = record.kind { currentByKind[kind] = record.ordinal }
        if let item = record.after { barriers[item, default: []].append(record.ordinal) }
        if let supersedeKey = record.supersedeKey, record.withdrawal == nil { relate(record.ordinal, by: supersedeKey) }
    }

    private mutating func relate(_ ordinal: UInt64, by supersedeKey: [UInt8]) {
        guard let other = newestBySupersedeKey[supersedeKey] else {
            return newestBySupersedeKey[supersedeKey] = ordinal
        }
        newestBySupersedeKey[supersedeKey] = max(other, ordinal)
        olderBySupersedeKey[supersedeKey, default: []].append(min(other, ordinal))
    }

    private mutating func unrelate(_ ordinal: UInt64, by supersedeKey: [UInt8]) {
        var others = olderBySupersedeKey.removeValue(forKey: supersedeKey) ?? []
        others.removeAll { $0 == ordinal }
        if newestBySupersedeKey[supersedeKey] == ordinal { newestBySupersedeKey[supersedeKey] = others.popLast() }
        if !others.isEmpty { olderBySupersedeKey[supersedeKey] = others }
    }

    /// The item ends or is taken back: it no longer affects other items.
    mutating func unrelate(_ record: OutboundRecord) {
        if let supersedeKey = record.supersedeKey { unrelate(record.ordinal, by: supersedeKey) }
        if let kind = record.kind, currentByKind[kind] == record.ordinal { currentByKind[kind] = nil }
        guard let item = record.after else { return }
        barriers[item]?.removeAll { $0 == record.ordinal }
        if barriers[item]?.isEmpty == true { barriers[item] = nil }
    }

    /// A dead letter is sent again: it affects other items, as it would after a restart.
    /// - Returns: whether it is the current one of its kind: no other one is.
    mutating func readmit(_ letter: OutboundRecord) -> Bool {
        if let supersedeKey = letter.supersedeKey { relate(letter.ordinal, by: supersedeKey) }
        guard letter.isCurrent, let kind = letter.kind, currentByKind[kind] == nil else { return false }
        currentByKind[kind] = letter.ordinal
        return true
    }

    /// The newest of the items that a new one with this key supersedes.
    func newest(supersededBy key: [UInt8]?) -> OutboundRecord? {
        key.flatMap { newestBySupersedeKey[$0] }.flatMap { table[$0] }
    }

    /// Unfinished items and their bytes without the one that a new item with this key replaces at once.
    func remaining(supersededBy key: [UInt8]?) -> (items: Int, bytes: Int) {
        guard let replaced = newest(supersededBy: key), replaced.phase == .waiting else {
            return (table.count, table.bytes)
        }
        return (table.count - 1, table.bytes - replaced.size)
    }

    mutating func shares(
        without item: OutboundItem, sourceOf: (UniqueIdentifier) -> UniqueIdentifier?
    ) -> [UniqueIdentifier?: KeptAmount] {
        let table = table
        if sourceShares == nil { sourceShares = SourceShares(table.unfinished().map(\.ordinal)) }
        sourceShares?.lookUp({ table[$0] }, sourceOf: sourceOf)
        return sourceShares?.shares(without: ordinalByID[item.id], supersededBy: item.supersedeKey) ?? [:]
    }

    /// The current item of a kind, which is the current one no longer.
    mutating func removeCurrent(_ kind: String) -> OutboundRecord? {
        currentByKind.removeValue(forKey: kind).flatMap { table[$0] }
    }

    /// The items for whose end others wait here.
    var awaited: [UniqueIdentifier] { Array(barriers.keys) }

    func isAwaiting(_ id: UniqueIdentifier) -> Bool { barriers[id] != nil }

    /// The items that waited for this one, and do so no longer.
    mutating func removeBarrier(_ id: UniqueIdentifier) -> [OutboundRecord] {
        (barriers.removeValue(forKey: id) ?? []).compactMap { table[$0] }
    }

    // MARK: orders

    /// Puts all items that were not sent in order of acceptance again.
    mutating func rebuildWaiting() {
        waiting = OrdinalQueue()
        for record in table.unfinished() where record.phase == .waiting { waiting.append(record.ordinal) }
    }

    /// Takes the next item to send; nil if there is none, or if it waits for another item's end.
    mutating func takeWaiting() -> OutboundRecord? {
        while let ordinal = waiting.first {
            guard let record = table[ordinal], record.phase == .waiting else {
                waiting.removeFirst()
                continue
            }
            // Everything behind it waits with it.
            if record.after != nil { return nil }
            waiting.removeFirst()
            return record
        }
        return nil
    }

    /// The first of the ended items that their submitters have not acknowledged, in the order of their ends.
    func unacknowledged(limit: Int) -> [OutboundRecord] {
        Array(ended.all.lazy.compactMap { table[$0] }.filter(\.isUnacknowledged).prefix(limit))
    }

    /// The oldest of them if there are more than so many.
    mutating func excessUnacknowledged(over limit: Int) -> OutboundRecord? {
        guard unacknowledged > limit else { return nil }
        prune()
        return ended.first.flatMap { table[$0] }
    }
}

/// The last items whose submitters know how they ended, the oldest first. No more than that is kept of each in memory,
/// because a device may have thousands of queues.
private struct AcknowledgedEnds: Sendable {
    private struct End: Sendable {
        let ordinal: UInt64
        let phase: OutboundPhase
        let revision: UInt64?
    }

    private var ends: [UniqueIdentifier: End] = [:]
    private var order: [UniqueIdentifier] = []

    subscript(id: UniqueIdentifier) -> OutboundRecord? {
        ends[id].map { OutboundRecord(acknowledged: id, ordinal: $0.ordinal, $0.phase, revision: $0.revision) }
    }

    func contains(_ id: UniqueIdentifier) -> Bool { ends[id] != nil }

    mutating func append(_ record: OutboundRecord) {
        ends[record.id] = End(ordinal: record.ordinal, phase: record.phase, revision: record.revision)
        order.append(record.id)
    }

    /// Takes the oldest out if there are more than so many.
    mutating func takeExcess(over limit: Int) -> OutboundRecord? {
        guard order.count > limit else { return nil }
        let oldest = self[order[0]]
        ends[order.removeFirst()] = nil
        return oldest
    }
}
