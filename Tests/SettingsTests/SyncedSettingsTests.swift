// The rules of the mirror, one by one.

import TandemBase
import TandemPropertyList
import TandemSettings
import TandemTestSupport
import TandemWire
import Testing

@Suite struct SyncedSettingsTests {
    private static let names = ["colour", "volume"]

    /// Two sides that have met, with the values that their apps have.
    private struct Pair {
        var primary = SyncedSettings(.primary, names: names)
        var secondary = SyncedSettings(.secondary, names: names)
        var values: (primary: [String: SyncedValue], secondary: [String: SyncedValue])

        init(_ primary: [String: SyncedValue] = [:], _ secondary: [String: SyncedValue] = [:]) throws {
            values = (primary, secondary)
            try exchange()
        }

        mutating func look() {
            _ = primary.look(at: values.primary)
            _ = secondary.look(at: values.secondary)
        }

        /// Bodies cross, then all is said.
        mutating func exchange() throws {
            look()
            let (to, from) = (primary.outgoing, secondary.outgoing)
            try Self.carry(from, from: &secondary, to: &primary)
            try Self.carry(to, from: &primary, to: &secondary)
            take()
            for _ in 0..<6 {
                try Self.carry(secondary.outgoing, from: &secondary, to: &primary)
                take()
                try Self.carry(primary.outgoing, from: &primary, to: &secondary)
                take()
            }
            #expect(primary.outgoing == nil && secondary.outgoing == nil)
        }

        private static func carry(
            _ said: (body: PropertyListDictionary, mark: UInt64)?, from sender: inout SyncedSettings,
            to receiver: inout SyncedSettings
        ) throws {
            guard let said else { return }
            sender.sent(said.mark)
            _ = try receiver.merge(said.body)
        }

        /// The apps take what is pending.
        private mutating func take() {
            Self.take(&primary, &values.primary)
            Self.take(&secondary, &values.secondary)
        }

        private static func take(_ side: inout SyncedSettings, _ values: inout [String: SyncedValue]) {
            for (name, value) in side.pending {
                values[name] = value
                side.took(name)
            }
        }
    }

    private func value(_ number: Int64) -> SyncedValue { .value(.integer(number)) }

    @Test("SET-71: a body has the numbers, and each entry with its revision") func format() throws {
        var pair = try Pair()
        pair.values.primary = ["volume": value(7), "colour": .nothing]
        pair.look()
        let body = try #require(pair.primary.outgoing?.body)
        #expect(
            body == [
                "clock": 1, "seen": 0,
                "values": [
                    "colour": ["revision": 1, "side": "primary"],
                    "volume": ["revision": 1, "side": "primary", "value": 7],
                ],
            ])
        #expect(SyncedSettings(.primary, names: Self.names).outgoing?.body == [:], "a side that knows nothing")
    }

    @Test("SET-72: what differs at a look is one edit, and no difference is none") func edits() throws {
        var pair = try Pair(["volume": value(7)])
        #expect(pair.values.secondary == ["volume": value(7)])
        pair.look()
        #expect(pair.primary.outgoing == nil && pair.secondary.outgoing == nil, "nothing was edited")
        pair.values.secondary = ["colour": value(1)]
        pair.look()
        let body = try #require(pair.secondary.outgoing?.body)
        #expect(body["clock"] == 1 && body["values"]?.dictionaryValue?.keys == ["colour"])
        try pair.exchange()
        #expect(pair.values.primary == ["colour": value(1)])
    }

    @Test("SET-73: of two edits that did not know each other the primary's counts, on both sides") func conflict()
        throws
    {
        var pair = try Pair(["volume": value(1)])
        pair.values.primary["volume"] = value(2)
        pair.values.secondary["volume"] = value(3)
        pair.look()
        // Many edits are no better than one.
        for number in 4..<9 {
            pair.values.secondary["volume"] = value(Int64(number))
            pair.look()
        }
        let (to, from) = (try #require(pair.primary.outgoing), try #require(pair.secondary.outgoing))
        #expect(try pair.primary.merge(from.body).conflicts == ["volume"])
        #expect(try pair.secondary.merge(to.body).conflicts == ["volume"])
        #expect(pair.primary.pending.isEmpty)
        #expect(pair.secondary.pending.map(\.value) == [value(2)])
    }

    @Test("SET-73: an edit that knew the other one counts, whichever side it is of") func laterEdit() throws {
        var pair = try Pair(["volume": value(1)])
        for number in 2..<8 {
            if number.isMultiple(of: 2) {
                pair.values.secondary["volume"] = value(Int64(number))
            } else {
                pair.values.primary["volume"] = value(Int64(number))
            }
            try pair.exchange()
            #expect(pair.values.primary == ["volume": value(Int64(number))])
            #expect(pair.values.secondary == pair.values.primary)
        }
    }

    @Test("SET-74: nothing is kept of a removed value, and no old body brings it back") func removal() throws {
        var pair = try Pair(["volume": value(1), "colour": value(2)])
        pair.secondary.announce()
        let old = try #require(pair.secondary.outgoing?.body)
        pair.values.primary["volume"] = nil
        try pair.exchange()
        #expect(pair.values.secondary == ["colour": value(2)])
        _ = try pair.primary.merge(old)
        #expect(pair.primary.pending.isEmpty)
        for stored in [pair.primary.stored, pair.secondary.stored] {
            #expect(stored["body"]?.dictionaryValue?["values"]?.dictionaryValue?.keys == ["colour"])
            #expect(stored["local"]?.dictionaryValue?.keys == ["colour"] && stored["waiting"] == [])
        }
    }

    @Test("SET-74: a removal that did not know an edit gives way to it") func removalAndEdit() throws {
        var pair = try Pair(["volume": value(1)])
        pair.values.primary["volume"] = nil
        pair.values.secondary["volume"] = value(2)
        try pair.exchange()
        #expect(pair.values.primary == ["volume": value(2)] && pair.values.secondary == pair.values.primary)
    }

    @Test("SET-75: at the first exchange each side brings what the other has not; the primary's counts of the others")
    func firstExchange() throws {
        let pair = try Pair(["volume": value(1)], ["volume": value(2), "colour": value(3)])
        #expect(pair.values.primary == ["volume": value(1), "colour": value(3)])
        #expect(pair.values.secondary == pair.values.primary)
    }

    @Test(
        "SET-75: a side that has lost its store goes on after the numbers that it has used", arguments: [true, false])
    func lostStore(isPrimary: Bool) throws {
        var pair = try Pair(["volume": value(1)], ["colour": value(2)])
        for number: Int64 in 3..<6 {
            pair.values.primary["volume"] = value(number)
            pair.values.secondary["colour"] = value(number)
            try pair.exchange()
        }
        if isPrimary {
            pair.primary = SyncedSettings(.primary, names: Self.names)
            pair.values.primary = [:]
        } else {
            pair.secondary = SyncedSettings(.secondary, names: Self.names)
            pair.values.secondary = [:]
        }
        try pair.exchange()
        #expect(pair.values.primary == ["volume": value(5), "colour": value(5)])
        #expect(pair.values.secondary == pair.values.primary)
        if isPrimary { pair.values.primary["volume"] = value(9) } else { pair.values.secondary["volume"] = value(9) }
        try pair.exchange()
        #expect(pair.values.primary["volume"] == value(9) && pair.values.secondary["volume"] == value(9))
    }

    @Test("SET-76: a body that cannot be is refused as a whole, and its receiver goes on as before")
    func refusedBodies() throws {
        var pair = try Pair(["volume": value(1)])
        let before = pair.primary.stored
        func body(_ clock: Int64, _ seen: Int64, _ entry: PropertyListDictionary) -> PropertyListDictionary {
            ["clock": .integer(clock), "seen": .integer(seen), "values": ["volume": .dictionary(entry)]]
        }
        let hostile: [PropertyListDictionary] = [
            ["clock": 1], ["clock": 1, "seen": 1, "values": []], ["clock": "1", "seen": 1, "values": [:]],
            ["clock": -1, "seen": 1, "values": [:]], ["clock": .unsigned(.max), "seen": 1, "values": [:]],
            ["clock": .integer(.max), "seen": 1, "values": [:]], ["clock": 1, "seen": .integer(.max), "values": [:]],
            ["clock": .integer(1 << 33), "seen": 1, "values": [:]],
            ["clock": 1, "seen": .integer(1 << 33), "values": [:]],
            ["clock": 1, "seen": 1, "values": ["volume": 5]], body(1, 1, [:]), body(1, 1, ["revision": 1]),
            body(1, 1, ["revision": 2, "side": "secondary"]), body(1, 1, ["revision": 2, "side": "primary"]),
            body(1, 1, ["revision": 0, "side": "primary"]), body(1, 1, ["revision": 1, "side": "relay"]),
            body(1, 1, ["revision": .unsigned(.max), "side": "secondary"]),
        ]
        for fields in hostile {
            #expect(throws: SyncedSettingsFault.self, "\(fields)") { try pair.primary.merge(fields) }
            #expect(pair.primary.stored == before)
        }
        pair.values.secondary["volume"] = value(4)
        try pair.exchange()
        #expect(pair.values.primary["volume"] == value(4), "the next edit comes as ever")
    }

    @Test("SET-76, LIM-109: no number of a counterpart's keeps this side from editing") func greatNumbers() throws {
        var pair = try Pair(["volume": value(1)])
        var (clock, seen): (Int64, Int64) = (0, 1)
        for _ in 0..<100 {
            (clock, seen) = (clock + 1 << 32, seen + 1 << 32)
            _ = try pair.primary.merge([
                "clock": .integer(clock), "seen": .integer(seen),
                "values": ["volume": ["revision": .integer(clock), "side": "secondary", "value": 8]],
            ])
        }
        #expect(pair.primary.pending.map(\.value) == [value(8)])
        pair.primary.took("volume")
        _ = pair.primary.look(at: ["volume": value(9)])
        let values = pair.primary.outgoing?.body["values"]?.dictionaryValue
        #expect(values?["volume"]?.dictionaryValue?["side"] == "primary")
        // Paired again both count from the beginning.
        #expect(SyncedSettings(.primary, names: Self.names).outgoing?.body == [:])
    }

    @Test("SET-77: what the app refuses or does not know is mirrored, and pending after the next start")
    func refusedValues() throws {
        var old = SyncedSettings(.primary, names: ["volume"])
        _ = try old.merge([:])
        let body: PropertyListDictionary = [
            "clock": 1, "seen": 0,
            "values": [
                "colour": ["revision": 1, "side": "secondary", "value": "red"],
                "volume": ["revision": 1, "side": "secondary", "value": 101],
            ],
        ]
        _ = try old.merge(body)
        #expect(old.pending.map(\.name) == ["volume"])
        old.refuse("volume")
        #expect(old.pending.isEmpty && old.look(at: [:]).isEmpty, "a refused value is no edit")
        #expect(old.stored["body"]?.dictionaryValue?["values"] == body["values"])
        // The next release of the app knows more, and takes more.
        let new = try #require(SyncedSettings(.primary, names: Self.names, stored: old.stored))
        #expect(new.pending.map(\.name) == ["colour", "volume"])
        // An edit here ends it.
        _ = old.look(at: ["volume": value(60)])
        #expect(old.pending.isEmpty && old.outgoing?.body["clock"] == 1)
    }

    @Test(
        "SET-77: of a property that a release begins to sync the primary's value counts", arguments: DeviceRole.allCases
    )
    func laterProperty(_ side: DeviceRole) throws {
        var old = SyncedSettings(side, names: ["volume"])
        _ = try old.merge([:])
        let theirs = side.counterpart.rawValue
        _ = try old.merge([
            "clock": 1, "seen": 0,
            "values": ["colour": ["revision": 1, "side": .string(theirs), "value": "red"]],
        ])
        _ = old.look(at: ["volume": value(1)])
        for _ in 0..<2 {
            var new = try #require(SyncedSettings(side, names: Self.names, stored: old.stored))
            #expect(new.look(at: ["volume": value(1), "colour": .value("blue")]).conflicts == ["colour"])
            let entry = new.outgoing?.body["values"]?.dictionaryValue?["colour"]?.dictionaryValue
            #expect(entry?["value"] == (side == .primary ? "blue" : "red"))
            #expect(new.pending.map(\.value) == (side == .primary ? [] : [.value("red")]))
            // A value that the app sets afterwards is an edit.
            var next = try #require(SyncedSettings(side, names: Self.names, stored: new.stored))
            #expect(next.look(at: ["volume": value(1), "colour": .value("green")]).isEmpty)
            #expect(next.pending.isEmpty)
        }
    }

    @Test("SET-77: an app without stored preferences gets back what it had") func restored() throws {
        var pair = try Pair(["volume": value(1), "colour": value(2)])
        pair.primary.restore(missingFrom: ["colour": value(2)])
        #expect(pair.primary.pending.map(\.name) == ["volume"] && pair.primary.pending.map(\.value) == [value(1)])
    }

    @Test("SET-77: a preference that the app has removed before its mirror looked is a removal") func removed() throws {
        var pair = try Pair(["volume": value(1), "colour": value(2)])
        pair.primary.restore(missingFrom: [:], except: ["volume"])
        #expect(pair.primary.pending.map(\.name) == ["colour"])
        _ = pair.primary.look(at: ["colour": value(2)])
        let body = try #require(pair.primary.outgoing?.body)
        #expect(body["values"]?.dictionaryValue?.keys == ["colour"])
    }

    @Test("SET-77: an app that refuses the counterpart's value, and finds its own missing at start, removes nothing")
    func missingBesideRefused() throws {
        var side = SyncedSettings(.primary, names: ["volume"])
        _ = try side.merge([:])
        _ = side.look(at: ["volume": value(20)])
        _ = try side.merge([
            "clock": 2, "seen": 1, "values": ["volume": ["revision": 2, "side": "secondary", "value": 101]],
        ])
        side.refuse("volume")
        var restarted = try #require(SyncedSettings(.primary, names: ["volume"], stored: side.stored))
        restarted.restore(missingFrom: [:])
        #expect(restarted.look(at: [:]).isEmpty)
        #expect(restarted.stored["body"]?.dictionaryValue?["values"] == side.stored["body"]?.dictionaryValue?["values"])
    }

    @Test("SET-77: a preference that was never told, and is missing at start, is not taken away")
    func missingBeforeTheFirstBody() throws {
        var side = SyncedSettings(.primary, names: ["volume"])
        _ = side.look(at: ["volume": value(20)])
        var restarted = try #require(SyncedSettings(.primary, names: ["volume"], stored: side.stored))
        restarted.restore(missingFrom: [:])
        #expect(restarted.pending.isEmpty && restarted.look(at: [:]).isEmpty)
    }

    @Test("LIM-108: each side has its share, and two full shares fit a body") func shares() throws {
        var (most, sizes): (Int, [Int]) = (0, [0, 1, 240, 5000])
        for size in sizes {
            let names = (0..<600).map { "setting \($0)" }
            var sides = [SyncedSettings(.primary, names: names), SyncedSettings(.secondary, names: names)]
            _ = try sides[0].merge([:])
            _ = try sides[1].merge([:])
            // Texts that take two bytes for each of their characters, and lists of many small objects.
            let text = SyncedValue.value(.string(String(repeating: "é", count: size)))
            let list = SyncedValue.value(.array((0..<size).map { .integer(Int64($0)) }))
            var full: [Int] = []
            for index in sides.indices {
                let own = names.enumerated().filter { $0.offset % 2 == index }.map(\.element)
                full.append(
                    sides[index].look(at: Dictionary(uniqueKeysWithValues: own.map { ($0, index == 0 ? text : list) }))
                        .full.count)
            }
            #expect(size < 240 ? full == [0, 0] : full.allSatisfy { $0 > 0 })
            let body = try #require(sides[0].outgoing?.body)
            _ = try sides[1].merge(body)
            let merged = try #require(sides[1].outgoing?.body)
            most = max(most, try PropertyListWriter.write(.dictionary(merged)).count)
        }
        #expect(most <= Limits.contextBody)
        sizes = (0...512).map { $0 }
        var side = SyncedSettings(.primary, names: sizes.map { "\($0)" })
        _ = try side.merge([:])
        let values = Dictionary(uniqueKeysWithValues: sizes.map { ("\($0)", SyncedValue.nothing) })
        #expect(side.look(at: values).full.count == 1, "the 513th")
        // Values of a side above its share are refused, even if their sender is not the one that made them.
        let entries = sizes.map { ("\($0)", PropertyListValue.dictionary(["revision": 1, "side": "secondary"])) }
        #expect(throws: SyncedSettingsFault.self) {
            try side.merge([
                "clock": 1, "seen": 0,
                "values": .dictionary(PropertyListDictionary(uniqueKeysWithValues: entries)),
            ])
        }
    }

    @Test("LIM-108: a share is weighed once for all edits of a look, and not for each") func manyEdits() throws {
        let names = (0..<512).map { "setting\($0)" }
        var mirror = SyncedSettings(.primary, names: names)
        _ = try mirror.merge([:])
        let value = SyncedValue.value(.array(["text"]))
        let begin = ThreadTime.now
        #expect(mirror.look(at: Dictionary(uniqueKeysWithValues: names.map { ($0, value) })).full.isEmpty)
        #expect(ThreadTime.now - begin < .milliseconds(100), "\(ThreadTime.now - begin)")
    }

    @Test("SET-78: what is stored is read back, and damage is noticed") func storedForm() throws {
        var pair = try Pair(["volume": value(1), "colour": .nothing])
        pair.values.primary["volume"] = nil
        pair.look()
        for side in [pair.primary, SyncedSettings(.primary, names: Self.names)] {
            let read = try #require(SyncedSettings(.primary, names: Self.names, stored: side.stored))
            #expect(read.stored == side.stored && read.outgoing?.body == side.outgoing?.body)
            var former = side.stored
            former["names"] = nil
            #expect(SyncedSettings(.primary, names: Self.names, stored: former)?.stored == side.stored)
        }
        for key in pair.primary.stored.keys {
            var damaged = pair.primary.stored
            damaged[key] = "no"
            #expect(SyncedSettings(.primary, names: Self.names, stored: damaged) == nil, "\(key)")
        }
    }
}
