// What a run has seen, and what of it breaks the promise: whatever was accepted arrives, in order and once, and nothing
// else does (DEL-1, DEL-3, DEL-11). Only the records count; nothing here asks a daemon.

/// What the sending app knows, and what the receiving app has written down.
struct DeliveryRecord {
    /// A line of the receiving app.
    struct Delivery: Equatable {
        let number: Int64
        let id: String
        let attempt: Int

        var isRedelivery: Bool { attempt > 1 }
    }

    /// The numbers 0, 1, 2 ... have been submitted, in this order, each at most once.
    var submitted: Int64 = 0
    /// The submissions whose acceptance was heard. Of the others nobody knows whether they are to arrive.
    var accepted: Set<Int64> = []
    /// In the order in which they came.
    var deliveries: [Delivery] = []

    /// Every breach in words; empty if the promise was kept.
    var breaches: [String] {
        var breaches: [String] = []
        var firsts: [Int64: Delivery] = [:]
        var latest: Delivery?
        for delivery in deliveries {
            if let first = firsts[delivery.number] {
                breaches += Self.breaches(repeating: first, with: delivery)
                continue
            }
            firsts[delivery.number] = delivery
            if let latest, latest.number > delivery.number { breaches.append("after \(latest): \(delivery)") }
            latest = delivery
        }
        let strangers = firsts.keys.filter { !(0..<submitted).contains($0) }.sorted()
        breaches += strangers.map { "never submitted: \($0)" }
        breaches += accepted.subtracting(firsts.keys).sorted().map { "accepted and lost: \($0)" }
        return breaches
    }

    /// What the handler sees again is the same item, and it is told so.
    private static func breaches(repeating first: Delivery, with delivery: Delivery) -> [String] {
        if first.id != delivery.id { return ["two items: \(first) and \(delivery)"] }
        return delivery.isRedelivery ? [] : ["again, not marked: \(delivery)"]
    }
}

extension DeliveryRecord.Delivery {
    /// Reads a line of `tandem receive`; nil for one that is no numbered user info.
    init?(line: Substring) {
        guard let number = line.firstMatch(of: /"n":([0-9]+)/).flatMap({ Int64($0.1) }),
            let attempt = line.firstMatch(of: /"attempt":([0-9]+)/).flatMap({ Int($0.1) }),
            let id = line.firstMatch(of: /"id":"([0-9A-F-]{36})"/)
        else { return nil }
        self.init(number: number, id: String(id.1), attempt: attempt)
    }
}
