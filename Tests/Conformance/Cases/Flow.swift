// Numbered items on their way, and the one thing that must hold whatever happened meanwhile: each arrived, in order, and
// none twice unless it said so.

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

    /// Each of the numbers was given, first in their order, and again only as a redelivery.
    func checkFlow(_ numbers: some Sequence<Int>, at place: Place) throws {
        var attempts: [Int64: Int] = [:]
        var order: [Int64] = []
        for item in given(at: place) {
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

    /// An app that has been at the place once and has left: installed, and not there.
    func install(at place: Place) throws {
        let app = try app(at: place)
        world.end(app, .orderly)
    }

    /// A primary's app, and the counterpart installed but away.
    func alone() throws -> App {
        let (primary, secondary) = try pair()
        world.end(secondary, .orderly)
        try wait("the primary sees it leave") { !primary.isReachable }
        return primary
    }

    /// Cuts the links and keeps them down.
    func unlink(_ app: App) throws {
        world.isLinkAllowed = false
        world.cutLinks()
        try wait("the loss is seen") { app.session.reachability.level == .unreachable }
    }

    func relink() { world.isLinkAllowed = true }
}
