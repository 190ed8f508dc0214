// Who is killed, and when, from a seed: at an item's number, so that a run can be repeated on a slower machine, and some
// milliseconds into what happens then, so that the deaths fall on every step of an item's way.

import TandemTestSupport

/// The numbers of a run, and its deaths.
struct DeathPlan: Sendable {
    enum Victim: CaseIterable {
        /// The daemons of the primary and of the secondary.
        case hub, kiosk
        /// The app that receives, a process.
        case receiver
        /// A process that submits one item.
        case sender
        /// The session of this process, which submits most items. It is ended while it submits, in order, and not killed: who
        /// is killed is in a process of its own.
        case session
    }

    struct Death {
        let victim: Victim
        /// The item that is about to be submitted.
        let item: Int64
        /// How long the victim lives on then.
        let delay: Duration
    }

    let items: Int64
    let seed: UInt64
    /// Of those who do not submit, in the order of their items.
    let bystanders: [Death]
    /// Of those who submit an item, by the item.
    let submitters: [Int64: Death]

    init(items: Int64, kills: Int, seed: UInt64) {
        (self.items, self.seed) = (items, seed)
        var random = SeededGenerator(seed: seed)
        // All items are different, or a submitter would have to die twice.
        let places = (1..<items).shuffled(using: &random).prefix(kills).sorted()
        // Everybody's turn comes equally often; the order is the seed's.
        let victims = places.indices.map { Victim.allCases[$0 % Victim.allCases.count] }.shuffled(using: &random)
        let deaths = zip(places, victims).map { place, victim in
            let latest = Self.longestDelay(of: victim)
            return Death(victim: victim, item: place, delay: .microseconds(Int.random(in: 0...latest, using: &random)))
        }
        let submitting = deaths.filter { $0.victim == .session || $0.victim == .sender }
        submitters = Dictionary(submitting.map { ($0.item, $0) }, uniquingKeysWith: { first, _ in first })
        bystanders = deaths.filter { $0.victim != .session && $0.victim != .sender }
    }

    /// In microseconds: about as long as there is something to interrupt.
    private static func longestDelay(of victim: Victim) -> Int {
        switch victim {
        case .session: 3000  // one commit
        case .sender: 150_000  // the start of a process, and one commit
        case .hub, .kiosk, .receiver: 20_000  // some items
        }
    }
}
