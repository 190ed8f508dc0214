// Our own reading of schemas against the vectors that are given to others (Protocol/Vectors/settings).

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSettings
import TandemTestSupport
import Testing

@Suite struct SchemaVectorTests {
    static let cases = VectorCase.all(in: "settings/schemas.json")

    @Test("SCH-1, SCH-2: the vectors are there, those that are read and those that are refused")
    func areThere() {
        #expect(Self.cases.count { $0.error == nil } >= 4 && Self.cases.count { $0.error != nil } >= 10)
        let ofButtons = Self.cases.filter { $0.clause == "SCH-21" }
        #expect(ofButtons.contains { $0.pairs["opens"] != nil } && ofButtons.contains { $0.error != nil })
    }

    @Test(
        "SCH-1, SCH-2, SCH-3, SCH-5, SCH-21: a schema is read, known and judged by as its vector says, and opens its buttons",
        arguments: cases)
    func document(vector: VectorCase) throws {
        let bytes = try #require(vector.bytes)
        _ = try vector.checkedValue()
        if let location = vector.error {
            let error = #expect(throws: SchemaError.self) { try SchemaDocument(reading: bytes) }
            #expect(error?.location == location)
            return
        }
        let document = try SchemaDocument(reading: bytes)
        #expect(.string(Hexadecimal.encode(SHA256.digest(document.bytes))) == vector.pairs["digest"])
        let opens = (vector.pairs["opens"]?.arrayValue ?? []).compactMap(\.stringValue)
        #expect(document.buttons == Set(opens))
        for (name, isTaken) in [("takes", true), ("refuses", false)] {
            for values in vector.pairs[name]?.arrayValue ?? [] {
                let values = try #require(TypedNotation.value(values)?.dictionaryValue)
                let payload = Result { () throws(SettingsPayloadError) in try document.schema.payload(values) }
                #expect(((try? payload.get()) != nil) == isTaken, "\(values)")
            }
        }
    }
}
