// Bodies about settings that repeat one key tens of thousands of times: an array of references is a few bytes for each.

import TandemPropertyList
import TandemSettings
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct RepeatedBodiesTests {
    @Test("CTL-44: a key that is set to nothing ten thousand times over is one edit")
    func nothingOverAndOver() throws {
        let keys = [PropertyListValue](repeating: "name", count: 10_000) + ["volume", "name"]
        let change = try SettingsChange(BodyFields(["values": .dictionary([:]), "nothing": .array(keys)]))
        #expect(change.nothing == ["name", "volume"])
    }

    @Test("SES-78: of two short rows with one key the first counts, and a list of very many costs no look at each")
    func shortRows() throws {
        let document = try SchemaDocument(writing: [
            SettingDeclaration(
                name: "volume", type: .integer, editor: .slider, summary: "", bounds: .integer(0...100),
                initialValue: .integer(7)),
            SettingDeclaration(
                name: "name", type: .string, editor: .edit, summary: "", initialValue: .string("hall")),
        ])
        let rows: [PropertyListValue] = [8, 9].map { ["key": "volume", "layer": "user", "value": .integer($0)] }
        #expect(SettingsState.rows(rows, of: document).first?["value"] == 8)
        // Comparing a key of combining marks takes long.
        let marks = String(repeating: "\u{301}\u{323}", count: 63)
        let many = [PropertyListValue](repeating: ["key": .string(marks)], count: 50_000)
        let begin = ThreadTime.now
        #expect(SettingsState.rows(many, of: document).count == 2)
        #expect(ThreadTime.now - begin < .milliseconds(100), "\(ThreadTime.now - begin)")
    }
}
