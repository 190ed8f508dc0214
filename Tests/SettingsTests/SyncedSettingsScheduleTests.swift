// The mirror under random schedules: edits on both sides, bodies that are lost, come twice or late, processes that end
// between any two steps, and stores that are lost or restored. Whatever happens, one exchange later both sides have the
// same, and what they have is what the reference has.

import TandemBase
import TandemPropertyList
import TandemSettings
import TandemTestSupport
import Testing

/// A device with an app whose preferences survive its process.
private struct Device {
    static let names = ["a", "b", "c"]

    let side: DeviceRole
    private(set) var preferences: [String: SyncedValue] = [:]
    private(set) var mirror: SyncedSettings
    private(set) var model: SyncedModel
    private var disk: (mirror: PropertyListDictionary, model: SyncedModel)

    init(_ side: DeviceRole) {
        self.side = side
        mirror = SyncedSettings(side, names: Self.names)
        model = SyncedModel(side)
        disk = (mirror.stored, model)
    }

    mutating func edit(_ name: String, _ value: SyncedValue?) { preferences[name] = value }

    mutating func look() {
        #expect(mirror.look(at: preferences).isEmpty)
        model.look(at: preferences)
    }

    mutating func save() { disk = (mirror.stored, model) }

    /// A body leaves when all that it says is on the disk.
    mutating func send() -> Message? {
        look()
        save()
        guard let (body, mark) = mirror.outgoing else { return nil }
        mirror.sent(mark)
        return Message(body: body, model: model.body)
    }

    /// The values are on the disk before the mirror is.
    mutating func receive(_ message: Message, crashing: Bool = false) throws {
        look()
        _ = try mirror.merge(message.body)
        model.merge(message.model)
        for (name, value) in mirror.pending {
            preferences[name] = value
            mirror.took(name)
        }
        if crashing { try crash() } else { save() }
    }

    /// The process ends, and the next one reads what is stored.
    mutating func crash() throws { try restore(disk) }

    mutating func restore(_ disk: (mirror: PropertyListDictionary, model: SyncedModel)) throws {
        let bytes = try PropertyListWriter.write(.dictionary(disk.mirror))
        let read = try PropertyListReader.readDictionary(bytes)
        mirror = try #require(SyncedSettings(side, names: Self.names, stored: read))
        model = disk.model
        mirror.announce()
    }

    mutating func lose() { mirror = SyncedSettings(side, names: Self.names) }

    mutating func announce() { mirror.announce() }

    var backup: (mirror: PropertyListDictionary, model: SyncedModel) { disk }

    /// The entries of the next body, whether it is due or not.
    var entries: PropertyListValue? { mirror.stored["body"]?.dictionaryValue?["values"] }
}

private struct Message {
    let body: PropertyListDictionary
    let model: SyncedModel.Body
}

private struct Schedule {
    var devices = [Device(.primary), Device(.secondary)]
    /// On the way to each device, or gone by: a copy may come at any time.
    private var way: [[Message]] = [[], []]
    private var backups: [(mirror: PropertyListDictionary, model: SyncedModel)] = []
    private var random: SeededGenerator

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        try exchange()
        backups = devices.map(\.backup)
    }

    mutating func step(losingStores: Bool) throws {
        let here = Int.random(in: 0...1, using: &random)
        switch Int.random(in: 0..<(losingStores ? 14 : 12), using: &random) {
        case 0...3:
            let name = Device.names.randomElement(using: &random) ?? "a"
            devices[here].edit(name, value())
            if Bool.random(using: &random) { devices[here].look() }
        case 4...5: if let message = devices[here].send() { way[1 - here].append(message) }
        case 6...9:
            guard let index = way[here].indices.randomElement(using: &random) else { return }
            let message = way[here][index]
            // Lost, delivered, or delivered and coming again; the index is any, so that bodies pass each other.
            if Int.random(in: 0..<3, using: &random) > 0 { way[here].remove(at: index) }
            guard Int.random(in: 0..<5, using: &random) > 0 else { return }
            try devices[here].receive(message, crashing: Int.random(in: 0..<6, using: &random) == 0)
        case 10: try devices[here].crash()
        case 11: devices[here].announce()
        case 12: devices[here].lose()
        default: try devices[here].restore(backups[here])
        }
    }

    private mutating func value() -> SyncedValue? {
        switch Int.random(in: 0..<8, using: &random) {
        case 0...1: nil
        case 2: .nothing
        default: .value(.integer(Int64.random(in: 0..<6, using: &random)))
        }
    }

    /// Both sides say what they have until neither has anything to say.
    mutating func exchange() throws {
        for index in devices.indices { devices[index].announce() }
        for _ in 0..<12 {
            var isQuiet = true
            for index in devices.indices {
                guard let message = devices[index].send() else { continue }
                isQuiet = false
                try devices[1 - index].receive(message)
            }
            if isQuiet { return }
        }
        Issue.record("the two sides never stop")
    }

    var haveConverged: Bool {
        devices[0].preferences == devices[1].preferences && devices[0].entries == devices[1].entries
    }
}

@Suite struct SyncedSettingsScheduleTests {
    @Test("SET-73, SET-74: ten thousand schedules converge, on what the reference has", arguments: 0..<10)
    func schedules(_ part: Int) throws {
        for seed in 0..<1000 {
            var schedule = try Schedule(seed: UInt64(part * 1000 + seed))
            for _ in 0..<16 { try schedule.step(losingStores: false) }
            try schedule.exchange()
            try #require(schedule.haveConverged, "schedule \(part * 1000 + seed)")
            for device in schedule.devices {
                try #require(device.preferences == device.model.values, "schedule \(part * 1000 + seed)")
            }
        }
    }

    @Test("SET-75: schedules in which stores are lost and restored converge", arguments: 0..<4)
    func lostStores(_ part: Int) throws {
        for seed in 0..<250 {
            var schedule = try Schedule(seed: UInt64(100_000 + part * 250 + seed))
            for _ in 0..<30 { try schedule.step(losingStores: true) }
            try schedule.exchange()
            try #require(schedule.haveConverged, "schedule \(part * 250 + seed)")
        }
    }
}
