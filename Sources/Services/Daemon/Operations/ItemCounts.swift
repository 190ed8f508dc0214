// How many durable items came how far, for status and metrics: looked up once, because items may be many.

import TandemBase
import TandemOperations

/// The counters of durable items.
struct ItemCounts {
    private let counters: [TraceEvent.Step: Counter]

    init(_ counters: Counters) {
        self.counters = [
            .accepted: counters.counter("items.accepted"), .sent: counters.counter("items.sent"),
            .arrived: counters.counter("items.arrived"), .delivered: counters.counter("items.delivered"),
            .handled: counters.counter("items.handled"),
        ]
    }

    func add(_ step: TraceEvent.Step) { counters[step]?.add() }
}
