// Join links that are used up, misread, expired or tried too often, and the end of a pairing. Devices that are paired
// already join again by a link and keep their pairing (PAR-16), so that a case needs no device without one.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire

enum JoinCases {
    static let all = [usedLink, misread, expired, attempts, joinsAgain, ended]

    private static let usedLink = Case(
        "PAR-8", "a used join link joins its device again, and no other one", needs: [.control], secondaries: 2
    ) { stage in
        let link = try stage.joinLink()
        for _ in 0..<2 { try stage.join(0, by: link) }
        try stage.expectJoinRefused(link, at: .secondary(1))
    }

    private static let misread = Case(
        "PAR-7", "a join link with a changed character joins nobody, and the link itself does", needs: [.control]
    ) { stage in
        let link = try stage.joinLink()
        for part in ["token", "secret"] {
            try stage.expectJoinRefused(changed(link, part), at: .secondary(0))
        }
        // No device has that key: the secondary finds another one there, and says so in words of its own.
        let foreign = try stage.result(of: .join, ["link": .string(changed(link, "key"))], at: .secondary(0))
        try demand(foreign.code != 0, "another device's link: \(foreign.fault)")
        try stage.join(0, by: link)
    }

    private static let expired = Case("PAR-5", "an expired join link joins nobody", needs: [.control]) { stage in
        let link = try stage.joinLink(seconds: 1)
        stage.pass(.seconds(3))
        try stage.expectJoinRefused(link, at: .secondary(0))
        try stage.join(0, by: stage.joinLink(seconds: 60))
    }

    private static let attempts = Case(
        "LIM-10", "after five wrong proofs a join link joins nobody", needs: [.control]
    ) { stage in
        let link = try stage.joinLink()
        for _ in 0..<5 { try stage.expectJoinRefused(changed(link, "secret"), at: .secondary(0)) }
        try stage.expectJoinRefused(link, at: .secondary(0))
        try stage.join(0, by: stage.joinLink())
    }

    private static let joinsAgain = Case(
        "PAR-16", "a device that joins again keeps its link", needs: [.control]
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        let apps = [primary, secondary]
        let before = try apps.map { try $0.changes }
        try stage.join(0, by: stage.joinLink())
        stage.linger(.seconds(2))
        for app in apps { try stage.expectAnswer(to: app) }
        let after = try apps.map { try $0.changes }
        try demand(after == before, "no change of the level: \(before), then \(after)")
        try primary.send(stage.request(.random()))
        try stage.wait("a message") { try !secondary.received(.message).isEmpty }
    }

    private static let ended = Case(
        "PAR-13", "what waits in a pairing ends with it, and the next pairing of the devices is another one",
        needs: [.control, .durable]
    ) { stage in
        let primary = try stage.alone()
        let items = try stage.submit(0..<3, from: primary)
        try stage.wait("stored") { items.allSatisfy { primary.storedItems.contains($0.id) } }
        let former = stage.world.pairings[0]
        let answer = try stage.answer(to: .unpair, ["pairing": .data(former.bytes), "yes": true], at: .primary)
        try demand(answer["done"] == .boolean(true), "done: \(answer)")
        try stage.wait("the items are over") { items.allSatisfy { $0.outcome?.error?.code == .deviceNotPaired } }

        let witness = try stage.registered(at: .secondary(0), receives: false)
        let link: PropertyListDictionary = ["link": .string(try stage.joinLink()), "replace": true]
        let joined = try stage.answer(to: .join, link, at: .secondary(0))
        let next = joined["pairing"]
        try demand(next != nil && next != .data(former.bytes), "another pairing: \(joined)")
        try stage.wait("only the next pairing is left", pauses: Backoff.longest) {
            try witness.entries.map { $0["pairing"] } == [next]
        }
        let secondary = try stage.app(at: .secondary(0))
        secondary.handle()
        try stage.wait("the apps reach each other", pauses: Backoff.longest) {
            primary.isReachable && secondary.isReachable
        }
        let later = try stage.submit([3], from: primary)
        try stage.wait("the next item is handled") { later[0].outcome == .handled }
        try demand(secondary.items.map(\.number) == [3], "nothing of before: \(secondary.items.map(\.number))")
    }

    /// The link with another character in the middle of a part, where each bit of it counts.
    private static func changed(_ link: String, _ part: String) -> String {
        let parts = link.split(separator: "&").map { text -> String in
            guard text.hasPrefix("\(part)=") else { return String(text) }
            var characters = Array(text)
            let place = part.count + 4
            characters[place] = characters[place] == "A" ? "B" : "A"
            return String(characters)
        }
        return parts.joined(separator: "&")
    }
}

extension Stage {
    fileprivate func join(_ number: Int, by link: String) throws {
        let joined = try answer(to: .join, ["link": .string(link)], at: .secondary(number))
        let pairing = world.pairings[number]
        try demand(joined["pairing"] == .data(pairing.bytes), "PAR-16: its pairing \(pairing): \(joined)")
    }

    /// The primary refuses the link without a detail.
    fileprivate func expectJoinRefused(_ link: String, at place: Place) throws {
        let refused = try result(of: .join, ["link": .string(link)], at: place)
        try demand(
            refused.code != 0 && refused.name == ControlFailureName.joinRefused.rawValue,
            "join-refused: \(refused.fault)")
    }
}
