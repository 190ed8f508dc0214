// Numbered items on their way, and the one thing that must hold whatever happened meanwhile: each arrived, in order,
// and none twice unless it said so.

import PairedSession
import TandemSession
import TandemWire

extension Stage {
    /// All that apps at a place were given, in order, by this and former processes.
    func given(at place: Place, _ channels: Set<Channel> = [.userInfo]) -> [DeliveredItem] {
        apps.filter { $0.place == place }.flatMap(\.items).filter { channels.contains($0.channel) }
    }

    /// Submits items with these numbers, and waits until each is accepted.
    @discardableResult
    func submit(_ numbers: some Sequence<Int>, from app: App, options: TransferOptions = TransferOptions()) throws
        -> [Item]
    {
        let items = numbers.map { app.submit(Int64($0), options: options) }
        try wait("all are accepted") { items.allSatisfy { $0.acceptance != nil } }
        for item in items { try demand(item.isAccepted, "accepted: \(item.error as Any)") }
        return items
    }

    /// The numbers of the items that were accepted: all of them, but for those that met a daemon about to stop, or one
    /// that has a link again and was not told yet which apps are at its other end; it says so at once. On a manual
    /// clock nothing is under way at such a moment.
    func accepted(_ items: [Item]) throws -> [Int] {
        try wait("an answer to each") { items.allSatisfy { $0.acceptance != nil } }
        for item in items where !item.isAccepted {
            try demandPassing(item.error)
        }
        let accepted = items.indices.filter { items[$0].isAccepted }
        try demand(accepted.count > items.count / 2, "most are accepted: \(accepted)")
        return accepted
    }

    /// A refusal that comes of the moment, where time is real.
    func demandPassing(_ error: SessionError?) throws {
        let isPassing = error.map { $0.isRetryable || $0.code == .sessionNotActivated } ?? false
        try demand(isRealTime && isPassing, "accepted: \(error as Any)")
    }

    /// Each of the numbers was given through its pairing, first in their order, and again only as a redelivery.
    func checkFlow(_ numbers: some Sequence<Int>, at place: Place, channel: Channel = .userInfo) throws {
        var attempts: [Int64: Int] = [:]
        var order: [Int64] = []
        let through = if case .secondary(let number) = place { [world.pairings[number]] } else { world.pairings }
        for item in given(at: place, [channel]) {
            try demand(through.contains(item.facts.pairing), "\(item.number) came through \(item.facts.pairing)")
            let before = attempts.updateValue(item.facts.attempt, forKey: item.number)
            if let before {
                try demand(item.facts.attempt > before, "\(item.number) came twice as attempt \(item.facts.attempt)")
            } else {
                order.append(item.number)
            }
        }
        try demand(order == numbers.map { Int64($0) }, "each, in order: \(order)")
    }

    /// Whether each of the numbers was given at least once.
    func hasAll(_ numbers: some Sequence<Int>, at place: Place) -> Bool {
        Set(given(at: place).map(\.number)).isSuperset(of: numbers.map { Int64($0) })
    }

    /// A primary's app, and the counterpart installed but away.
    func alone() throws -> App {
        let (primary, secondary) = try pair()
        world.end(secondary, .orderly)
        try wait("the primary sees it leave") { !primary.isReachable }
        try demand(primary.session.pairedDevices.allSatisfy(\.isInstalled), "an app that is away stays installed")
        return primary
    }

    /// Cuts the links and keeps them down.
    func unlink(_ app: App) throws { try unlink { app.session.reachability.level == .unreachable } }

    func unlink(_ app: RawApp) throws { try unlink { try !app.isReachable } }

    private func unlink(_ isSeen: () throws -> Bool) throws {
        world.isLinkAllowed = false
        world.cutLinks()
        try wait("the loss is seen", until: isSeen)
    }
}
