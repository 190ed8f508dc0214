// State directories that were put back to an older copy, which a daemon has to notice, and items that failed too often,
// which it keeps.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire

enum StoreCases {
    static let all: [Case] = [Place.primary, .secondary(0)].map { restored($0) } + [lost, deadLetter]

    private static func restored(_ place: Place) -> Case {
        Case(
            "DEL-10", "items flow on after the \(place)'s state was put back to an older copy",
            needs: [.durable, .restart]
        ) { stage in
            let (primary, secondary) = try stage.pair()
            secondary.handle()
            func send(_ numbers: Range<Int>) throws {
                try stage.wait("the apps reach each other") { primary.isReachable && secondary.isReachable }
                let items = try stage.submit(numbers, from: primary)
                try stage.wait("\(numbers) are handled") { items.allSatisfy { $0.outcome == .handled } }
            }
            let directory = TemporaryDirectory()
            let copy = directory.path("state")
            try send(0..<3)
            try stage.restart(place, .orderly) { state in try StateDirectory.copy(state, to: copy) }
            try send(3..<6)
            try stage.restart(place, .orderly) { state in try StateDirectory.copy(copy, to: state) }
            try send(6..<9)
            try stage.checkFlow(0..<9, at: .secondary(0))
        }
    }

    private static let lost = Case(
        "DEL-10", "items that a device had stored and has lost with its state end as lost, and later ones arrive",
        needs: [.durable, .restart]
    ) { stage in
        let primary = try stage.alone()
        let directory = TemporaryDirectory()
        let copy = directory.path("state")
        try stage.restart(.secondary(0), .orderly) { state in try StateDirectory.copy(state, to: copy) }
        let items = try stage.submit(0..<3, from: primary)
        try stage.wait("stored") { items.allSatisfy { primary.storedItems.contains($0.id) } }
        try stage.restart(.secondary(0), .orderly) { state in try StateDirectory.copy(copy, to: state) }
        try stage.wait("they end") { items.allSatisfy { $0.outcome != nil } }
        for item in items {
            let error = item.outcome?.error
            try demand(error?.code == .deliveryFailed && error?.name == "lost", "lost: \(item.outcome as Any)")
        }
        let secondary = try stage.app(at: .secondary(0))
        secondary.handle()
        let next = try stage.submit([3], from: primary)
        try stage.wait("the next is handled") { next[0].outcome == .handled }
        try demand(secondary.items.map(\.number) == [3], "\(secondary.items.map(\.number))")
    }

    private static let deadLetter = Case(
        "CTL-16", "an item that failed too often is kept where it failed, and given again when its operator asks",
        needs: [.durable, .control]
    ) { stage in
        func letters() throws -> [PropertyListDictionary] {
            let answer = try stage.answer(to: .deadLetters, at: .secondary(0))
            return (answer["letters"]?.arrayValue ?? []).compactMap(\.dictionaryValue)
        }
        let (primary, secondary) = try stage.pair()
        secondary.handle { _, _ in .failed("never") }
        let item = try stage.submit([1], from: primary)[0]
        try stage.wait("it ends", pauses: .seconds(1 + 2 + 4 + 8)) { item.outcome != nil }
        let kept = try letters()
        try demand(kept.count == 1, "one letter: \(kept)")
        let letter = kept[0]
        let expected: PropertyListDictionary = [
            "id": .data(item.id.bytes), "pairing": .data(stage.world.pairings[0].bytes),
            "app": .string(Stage.appName), "channel": "userInfo", "direction": "in", "attempts": 5,
        ]
        for (key, value) in expected { try demand(letter[key] == value, "its \(key): \(letter)") }
        // A process that has failed at an item may answer a repetition of it by itself (SES-51).
        stage.world.end(secondary, .orderly)
        let next = try stage.app(at: .secondary(0))
        next.handle()
        let retried = try stage.answer(to: .deadLetterRetry, ["id": .data(item.id.bytes)], at: .secondary(0))
        try demand(retried["count"] == .integer(1), "one: \(retried)")
        try stage.wait("it is given again") { !next.items.isEmpty }
        // Its end need not be durable when its handler returns.
        var left = try letters()
        for _ in 0..<200 {
            if left.isEmpty { break }
            stage.pass(.milliseconds(100))
            left = try letters()
        }
        try demand(left.isEmpty, "none is left: \(left)")
        try demand(next.items.map(\.number) == [1], "once: \(next.items.map(\.number))")
    }
}
