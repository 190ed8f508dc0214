// Budgets over many queues (LIM-38): an app or a peer may name hundreds of queues, each with limits of its own, so a
// budget limits what they keep together. Every queue reports to its budgets what it keeps after each event, so that no
// component sums up queues to know whether there is room. Configurations have a budget of their own, so that no app can
// keep them out.

import TandemBase
package import TandemDelivery
import TandemWire

/// How much the queues of a pairing, and of a user of this device, may keep together.
package struct ItemBudgetLimits: Sendable {
    /// Of a pairing, in each direction.
    package var pairing = KeptAmount(records: Limits.pairingRecords, bytes: Limits.pairingBytes)
    /// Of one user's apps in one pairing: half of it, so that no user can keep out the others.
    package var share = KeptAmount(records: Limits.pairingRecords / 2, bytes: Limits.pairingBytes / 2)
    /// Of one user's apps in all pairings together.
    package var user = KeptAmount(records: Limits.userRecords, bytes: Limits.userBytes)

    package init() {}
}

/// A budget that several queues share; confined to its loop.
final class ItemBudget {
    private let limit: KeptAmount
    private var kept = KeptAmount()

    init(_ limit: KeptAmount) { self.limit = limit }

    func change(from before: KeptAmount, to now: KeptAmount) {
        kept -= before
        kept += now
    }

    /// Why an item of this size has no room; nil if it has.
    func refusal(of size: Int) -> QueueFull? {
        if kept.records < limit.records, size <= limit.bytes - kept.bytes { return nil }
        return QueueFull(kept, of: limit)
    }
}

/// The ledgers of one pairing and channel that keep something: no more than a device has apps (LIM-11). One of which
/// only the watermark is left does not count (DEL-46). Confined to its loop.
final class OccupiedLedgers {
    private var count = 0
    /// The ledgers of which not even a watermark is left.
    private(set) var unused = 0

    /// Why no further ledger may keep something; nil if one may.
    var refusal: QueueFull? {
        guard count >= Limits.applications else { return nil }
        return QueueFull(KeptAmount(records: count), of: KeptAmount(records: Limits.applications))
    }

    func add() { unused += 1 }

    /// Counts a ledger no longer of which nothing is left.
    func removeUnused() { unused -= 1 }

    func change(from before: LedgerOccupancy, to now: LedgerOccupancy) {
        count += (now == .occupied ? 1 : 0) - (before == .occupied ? 1 : 0)
        unused += (now == .unused ? 1 : 0) - (before == .unused ? 1 : 0)
    }
}

/// The part of its budgets that one queue uses; confined to its loop.
final class ItemUsage {
    private var budgets: [ItemBudget]
    /// The ledgers among which this one counts; nil for an outbound queue.
    private let ledgers: OccupiedLedgers?
    private var kept = KeptAmount()
    private var occupancy = LedgerOccupancy.unused

    init(_ budgets: [ItemBudget], among ledgers: OccupiedLedgers? = nil) {
        self.budgets = budgets
        self.ledgers = ledgers
    }

    /// The queue keeps this much now.
    func set(_ now: KeptAmount, _ occupancy: LedgerOccupancy) {
        if occupancy != self.occupancy {
            ledgers?.change(from: self.occupancy, to: occupancy)
            self.occupancy = occupancy
        }
        guard now != kept else { return }
        for budget in budgets { budget.change(from: kept, to: now) }
        kept = now
    }

    /// The queue counts in other budgets from now on.
    func move(to others: [ItemBudget]) {
        for budget in budgets { budget.change(from: kept, to: KeptAmount()) }
        budgets = others
        for budget in budgets { budget.change(from: KeptAmount(), to: kept) }
    }

    /// Why an item of this size has no room in one of the budgets; nil if it has.
    func refusal(of size: Int) -> QueueFull? {
        if occupancy != .occupied, let refusal = ledgers?.refusal { return refusal }
        for budget in budgets { if let refusal = budget.refusal(of: size) { return refusal } }
        return nil
    }

    /// Whether the ledger keeps nothing, and so many others do that it may not.
    var isCrowdedOut: Bool { occupancy != .occupied && ledgers?.refusal != nil }
}

/// The budgets of all queues; confined to its loop.
final class ItemBudgets {
    /// The scope of a budget; nil means all pairings, or all users.
    private struct Key: Hashable {
        var pairing: UniqueIdentifier?
        var user: UInt32?
        let direction: DeliveryDirection
        var isConfiguration = false
    }

    private struct Ledgers {
        var room = LedgerRoom()
        var occupied: [Channel: OccupiedLedgers] = [:]
    }

    private let limits: ItemBudgetLimits
    private var budgets: [Key: ItemBudget] = [:]
    private var ledgers: [UniqueIdentifier: Ledgers] = [:]

    init(_ limits: ItemBudgetLimits) { self.limits = limits }

    /// Counts a new queue.
    /// - Parameter user: whose app it is; only what it sends counts as the user's.
    func add(_ key: QueueKey, _ direction: DeliveryDirection, user: UInt32?) -> ItemUsage {
        let budgets = budgets(of: key, direction, user: user)
        guard direction == .inbound else { return ItemUsage(budgets) }
        ledgers[key.pairing, default: Ledgers()].room.add(key.app)
        let occupied = occupied(key)
        occupied.add()
        return ItemUsage(budgets, among: occupied)
    }

    /// A ledger of which nothing is left has ended.
    func removeUnusedLedger(_ key: QueueKey) {
        ledgers[key.pairing]?.room.remove(key.app)
        ledgers[key.pairing]?.occupied[key.channel]?.removeUnused()
    }

    private func occupied(_ key: QueueKey) -> OccupiedLedgers {
        if let occupied = ledgers[key.pairing]?.occupied[key.channel] { return occupied }
        let occupied = OccupiedLedgers()
        ledgers[key.pairing, default: Ledgers()].occupied[key.channel] = occupied
        return occupied
    }

    /// The budgets in which a queue counts.
    func budgets(of key: QueueKey, _ direction: DeliveryDirection, user: UInt32?) -> [ItemBudget] {
        let isConfiguration = !key.channel.isForApps
        let all = Key(pairing: key.pairing, direction: direction, isConfiguration: isConfiguration)
        guard let user, direction == .outbound, !isConfiguration else {
            return [budget(all, limits.pairing)]
        }
        return [
            budget(all, limits.pairing),
            budget(Key(pairing: key.pairing, user: user, direction: direction), limits.share),
            budget(Key(user: user, direction: direction), limits.user),
        ]
    }

    private func budget(_ key: Key, _ limit: KeptAmount) -> ItemBudget {
        if let budget = budgets[key] { return budget }
        let budget = ItemBudget(limit)
        budgets[key] = budget
        return budget
    }

    /// Whether a peer may make this ledger only once others of which nothing is left are removed (LIM-150).
    func needsUnused(forNew key: QueueKey) -> Bool {
        guard let known = ledgers[key.pairing], !known.room.hasRoom(for: key.app) else { return false }
        return known.occupied.values.contains { $0.unused > 0 }
    }

    /// Whether a peer may make this ledger by naming it (LIM-11, LIM-150).
    func hasRoom(forNew key: QueueKey) -> Bool {
        guard let known = ledgers[key.pairing] else { return true }
        return known.room.hasRoom(for: key.app) && known.occupied[key.channel]?.refusal == nil
    }

    /// A pairing is gone, and its queues have ended.
    func remove(_ pairing: UniqueIdentifier) {
        budgets = budgets.filter { $0.key.pairing != pairing }
        ledgers[pairing] = nil
    }
}
