// Settings benchmark: reading a property, loading 500 keys, and a batch of 100 changes with its notification.

import PairedConfiguration
import TandemPropertyList
import TandemSettings

/// A configuration of an app that reads it all the time.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class ReadConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Logging") var logging = false
    @Slider("Volume", in: 0...100) var volume = 50
    @Edit("Name") var name = "a name that is no small string"
}

/// The figures of `Scripts/bench settings`.
struct SettingsBench {
    private static let keyCount = 500
    private static let batchCount = 100

    private let configuration = ReadConfiguration(preferences: MemoryPreferences())

    func report() throws {
        let rounds = Rounds(count: 50)
        let inputs = [Int](repeating: 0, count: 1000)
        try rounds.figure("setting read, integer", over: inputs) { _ in Sink.keep(configuration.volume) }.report()
        try rounds.figure("setting read, boolean", over: inputs) { _ in Sink.keep(configuration.logging) }.report()
        try rounds.figure("setting read, string", over: inputs) { _ in Sink.keep(configuration.name) }.report()
        try load(rounds)
        try change(rounds)
    }

    /// Reads a value of each type so often, for those who count what it costs.
    func read(times: Int) {
        for _ in 0..<times {
            Sink.keep(configuration.volume)
            Sink.keep(configuration.logging)
            Sink.keep(configuration.name)
        }
    }

    private static func schema(_ count: Int) -> SettingsSchema {
        SettingsSchema(
            (0..<count).map {
                SettingDeclaration(
                    name: "setting\($0)", type: .integer, editor: .edit, summary: "", bounds: .integer(0...1_000_000),
                    initialValue: .integer(0))
            })
    }

    private static func entries(_ count: Int, from first: Int) -> PropertyListDictionary {
        PropertyListDictionary(
            uniqueKeysWithValues: (0..<count).map { ("setting\($0)", .integer(Int64(first + $0))) })
    }

    /// A file of 500 keys, from its bytes to the layer.
    private func load(_ rounds: Rounds) throws {
        let schema = Self.schema(Self.keyCount)
        let files = try (1...16).map { first in
            try PropertyListWriter.write(.dictionary(Self.entries(Self.keyCount, from: first)))
        }
        var layers = SettingLayers(schema)
        try rounds.figure("settings load, 500 keys", over: files) { bytes in
            var reading = LayerReading(schema, SettingConversion(dates: .standard))
            reading.read(try PropertyListReader.readDictionary(bytes))
            Sink.keep(layers.replace(.file, with: reading.payload, origin: .file))
        }.report()
    }

    /// A signed payload of 100 values, judged and applied as one batch. Each payload changes all of them, the first
    /// one too, which comes after the defaults.
    private func change(_ rounds: Rounds) throws {
        let schema = Self.schema(Self.batchCount)
        let payloads = (1...16).map { Self.entries(Self.batchCount, from: $0) }
        var layers = SettingLayers(schema)
        try rounds.figure("settings batch, 100 changes", over: payloads) { values in
            let changes = layers.replace(.signedOverride, with: try schema.payload(values), origin: .signed)
            guard changes.changes.count == Self.batchCount else { throw BenchError(text: "a change is missing") }
        }.report()
    }
}
