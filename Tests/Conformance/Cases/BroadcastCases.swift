// One message to all paired devices.

import PairedSession
import TandemWire

enum BroadcastCases {
    static let all = [toAll, oneAway, boundToOne]

    private static let toAll = Case("SES-30", "a broadcast reaches the app on each device once", secondaries: 3) {
        stage in
        let primary = try stage.app(at: .primary)
        let others = try (0..<3).map { try stage.app(at: .secondary($0)) }
        for other in others { other.receive() }
        try stage.wait("all are reachable") { others.allSatisfy(\.isReachable) && primary.reaches(3) }
        for number in 1...20 {
            let sent = primary.broadcast(["n": .integer(Int64(number))])
            try stage.wait("receipts") { sent.value != nil }
            let outcomes = try sent.value?.get() ?? []
            try demand(outcomes.map(\.pairing) == stage.world.pairings.sorted(), "a receipt for each: \(outcomes)")
            try demand(outcomes.allSatisfy { $0.failure == nil }, "all left: \(outcomes)")
        }
        try stage.wait("all are there") { others.allSatisfy { $0.messages.count == 20 } }
        for other in others { try demand(other.messages.map(\.number) == (1...20).map { $0 }, "each once, in order") }
    }

    private static let oneAway = Case(
        "SES-30", "a broadcast names the device where no app takes it, and reaches the others", secondaries: 3
    ) { stage in
        let primary = try stage.app(at: .primary)
        let others = try (0..<3).map { try stage.app(at: .secondary($0)) }
        for other in others { other.receive() }
        try stage.wait("all are reachable") { others.allSatisfy(\.isReachable) && primary.reaches(3) }
        stage.world.end(others[1], .orderly)
        try stage.wait("the primary sees one leave") { primary.reaches(2) }
        let sent = primary.broadcast(["n": 1])
        try stage.wait("receipts") { sent.value != nil }
        let outcomes = try sent.value?.get() ?? []
        try demand(outcomes.map(\.pairing) == stage.world.pairings.sorted(), "a receipt for each: \(outcomes)")
        let missed = outcomes.filter { $0.failure != nil }
        try demand(missed.map(\.pairing) == [stage.world.pairings[1]], "the one that was left: \(outcomes)")
        try demand(missed.allSatisfy { $0.failure?.code == .notReachable }, "7007: \(missed)")
        try stage.wait("the others have it") { others[0].messages.count == 1 && others[2].messages.count == 1 }
    }

    private static let boundToOne = Case("SES-8", "a message to one device reaches no other", secondaries: 3) { stage in
        let primary = try stage.app(at: .primary)
        let others = try (0..<3).map { try stage.app(at: .secondary($0)) }
        for other in others {
            other.receive { message in
                try? message.reply(["n": .integer(message.number ?? 0)])
                return false
            }
        }
        try stage.wait("all are reachable") { others.allSatisfy(\.isReachable) && primary.reaches(3) }
        for number in 0..<60 {
            let answer = primary.send(["n": .integer(Int64(number))], to: stage.world.pairings[number % 3])
            try stage.wait("an answer") { answer.value != nil }
            try demand(answer.value?.dictionary == ["n": .integer(Int64(number))], "its own: \(answer.values)")
        }
        for (place, other) in others.enumerated() {
            let expected = (0..<60).filter { $0 % 3 == place }.map { Int64($0) }
            try demand(other.messages.map(\.number) == expected, "secondary \(place) has its own only")
            let pairing = stage.world.pairings[place]
            try demand(other.messages.allSatisfy { $0.pairing == pairing }, "through the pairing of secondary \(place)")
        }
    }
}

extension App {
    /// Whether that many devices can be reached now.
    func reaches(_ count: Int) -> Bool {
        session.pairedDevices.filter { $0.reachability.level == .immediate }.count == count
    }
}
