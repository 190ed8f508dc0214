// Our own merging of synced settings against the vectors that are given to others (Protocol/Vectors/frames).

import TandemBase
import TandemPropertyList
import TandemSettings
import TandemTestSupport
import Testing

@Suite struct SyncedVectorTests {
    static let cases = VectorCase.all(in: "frames/settings.json")

    @Test("SET-73: the vectors are there") func areThere() {
        #expect(Self.cases.count >= 40)
        for clause in ["SET-73", "SET-74", "SET-75", "SET-76", "LIM-108", "LIM-109"] {
            #expect(Self.cases.contains { $0.clause == clause }, "\(clause)")
        }
    }

    private func value(_ key: String, _ vector: VectorCase) -> PropertyListDictionary? {
        TypedNotation.value(vector.pairs[key])?.dictionaryValue
    }

    /// The receiver as the vector has it.
    private func receiver(_ vector: VectorCase) throws -> SyncedSettings {
        let side = try #require(vector.pairs["side"]?.stringValue.flatMap { DeviceRole(rawValue: $0) })
        if let app = value("app", vector) {
            var settings = SyncedSettings(side, names: app.keys)
            let values = app.map { ($0.key, SyncedValue.value($0.value)) }
            _ = settings.look(at: Dictionary(uniqueKeysWithValues: values))
            return settings
        }
        let own = try #require(value("own", vector))
        let values = own["values"]?.dictionaryValue ?? [:]
        let local = values.map { name, entry -> (String, PropertyListValue) in
            var fields = entry.dictionaryValue ?? [:]
            fields["revision"] = nil
            fields["side"] = nil
            return (name, .dictionary(fields))
        }
        let stored: PropertyListDictionary = [
            "body": .dictionary(own), "heard": .integer(vector.pairs["heard"]?.integerValue ?? 0),
            "local": .dictionary(PropertyListDictionary(uniqueKeysWithValues: local)),
            "names": .array(values.keys.map { .string($0) }), "waiting": [],
        ]
        return try #require(SyncedSettings(side, names: values.keys, stored: stored))
    }

    @Test("SET-73 to SET-76, LIM-108, LIM-109: a body has the consequences that its vector says", arguments: cases)
    func consequences(vector: VectorCase) throws {
        var settings = try receiver(vector)
        let (mark, before) = (settings.outgoing?.mark ?? 0, settings.stored)
        settings.sent(mark)
        let body = try PropertyListReader.readDictionary(try #require(vector.bytes))
        if vector.error != nil {
            #expect(throws: SyncedSettingsFault.self) { try settings.merge(body) }
            #expect(settings.stored == before && settings.outgoing == nil)
            return
        }
        let report = try settings.merge(body)
        #expect(settings.stored["body"]?.dictionaryValue == value("merged", vector))
        #expect((settings.outgoing != nil) == vector.pairs["answers"]?.booleanValue)
        #expect(report.conflicts == vector.pairs["conflicts"]?.arrayValue?.compactMap(\.stringValue))
    }
}
