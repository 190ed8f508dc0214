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
    private(set) var kept = KeptAmount()

    init(_ limit: KeptAmount) { self.limit = limit }

    func change(from before: KeptAmount, to now: KeptAmount) {
        kept.records += now.records - before.records
        kept.bytes += now.bytes - before.bytes
    }

    /// Why an item of this size has no room; nil if it has.
    func refusal(of size: Int) -> QueueFull? {
        if kept.records < limit.records, size <= limit.bytes - kept.bytes { return nil }
        return QueueFull(kept, of: limit)
    }
}

/// The part of its budgets that one queue uses; confined to its loop.
final class ItemUsage {
    private var budgets: [ItemBudget]
    private var kept = KeptAmount()

    init(_ budgets: [ItemBudget]) { self.budgets = budgets }

    /// The queue keeps this much now.
    func set(_ now: KeptAmount) {
        guard now != kept else { return }
        for budget in budgets { budget.change(from: kept, to: now) }
        kept = now
    }

    /// The queue counts in other budgets from now on.
    func move(to others: [ItemBudget]) {
        let now = kept
        set(KeptAmount())
        budgets = others
        set(now)
    }

    /// Why an item of this size has no room in one of the budgets; nil if it has.
    func refusal(of size: Int) -> QueueFull? {
        for budget in budgets { if let refusal = budget.refusal(of: size) { return refusal } }
        return nil
    }
}

/// The budgets of all queues; confined to its loop.
final class ItemBudgets {
    /// The scope of a budget; nil means all pairings, or all users.
    private struct Key: Hashable {
        var pairing: UniqueIdentifier?
        var user: UInt32?
        var direction: DeliveryDirection
        var isConfiguration = false
    }

    private struct Queues: Hashable {
        let pairing: UniqueIdentifier
        let channel: Channel
    }

    private let limits: ItemBudgetLimits
    private var budgets: [Key: ItemBudget] = [:]
    private var inboundQueues: [Queues: Int] = [:]

    init(_ limits: ItemBudgetLimits) { self.limits = limits }

    /// Counts a new queue.
    /// - Parameter user: whose app it is; only what it sends counts as the user's.
    func add(_ key: QueueKey, _ direction: DeliveryDirection, user: UInt32?) -> ItemUsage {
        if direction == .inbound { inboundQueues[Queues(pairing: key.pairing, channel: key.channel), default: 0] += 1 }
        return ItemUsage(budgets(of: key, direction, user: user))
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

    /// The queues that a peer has made by naming them, on one channel.
    func inboundQueues(of pairing: UniqueIdentifier, _ channel: Channel) -> Int {
        inboundQueues[Queues(pairing: pairing, channel: channel)] ?? 0
    }

    /// A pairing is gone, and its queues have ended.
    func remove(_ pairing: UniqueIdentifier) {
        budgets = budgets.filter { $0.key.pairing != pairing }
        inboundQueues = inboundQueues.filter { $0.key.pairing != pairing }
    }
}
