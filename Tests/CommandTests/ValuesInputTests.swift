// Values of a configuration keep the type that the person wrote.

import TandemControl
import TandemPropertyList
import TandemSettings
import Testing

@testable import tandem

@Suite struct ValuesInputTests {
    @Test(arguments: [
        ("a=true", PropertyListValue.boolean(true)), ("a=7", .integer(7)), ("a=-7", .integer(-7)), ("a=7.0", .real(7)),
        ("a=\"7\"", .string("7")), ("a=#ff00ff", .string("#ff00ff")), ("a=", .string("")), ("a=b=c", .string("b=c")),
        ("a=0x10", .string("0x10")), ("a=nan", .string("nan")), ("a=null", .string("null")), ("a=[1]", .string("[1]")),
        ("a=18446744073709551615", .unsigned(.max)),
    ])
    func assignmentsKeepTheirType(text: String, value: PropertyListValue) throws {
        let (key, read) = try ValuesInput.assignment(text)
        #expect(key == "a")
        #expect(read == value)
    }

    @Test(arguments: ["a", "=1", ""]) func otherTextIsAWrongCall(text: String) {
        #expect(throws: CommandFailure.usage("'\(text)' is not KEY=VALUE")) { try ValuesInput.assignment(text) }
    }

    @Test("a value of another type than its property's is refused with the way to give it")
    func wayOut() throws {
        let parsed = try OptionParser(subcommand: .settingsSet).parse(["--app", "org.example.lamp", "hosts=[\"q\"]"])
        let input = ValuesInput(parsed, assignments: parsed.operands)
        let error = SettingError(property: "hosts", value: "[\"q\"]", rule: .type(.strings))
        let refusal = CommandFailure.refused("\(error) [schema]")
        let way = "A list needs --values FILE, with one JSON object such as {\"KEY\": [\"a\", \"b\"]}"
        #expect(input.explained(refusal).text == "\(refusal.text)\n\(way)")
        let ways: [(SettingType, String)] = [(.date, "\"$date\""), (.boolean, "true or false"), (.data, "\"$data\"")]
        for (type, way) in ways {
            let other = CommandFailure.refused("\(SettingError(property: "a", value: "'x'", rule: .type(type)))")
            #expect(input.explained(other).text.contains(way))
        }
        let bound = CommandFailure.refused("volume: 101 is over the maximum 100 [schema]")
        #expect(input.explained(bound) == bound && input.explained(.usage("x")) == .usage("x"))
        #expect(ValuesInput(parsed, assignments: []).explained(refusal) == refusal)
    }
}
