// Values of settings as the listing shows them to people.

import TandemOperations
import TandemPropertyList
import TandemSettings
import Testing

@testable import tandem

@Suite struct SettingsRowTests {
    @Test("CTL-39: the listing shows an encoded value by its type and size, and everything else as it is stored")
    func shownValues() {
        let coded = PropertyListValue.dictionary(CodedSetting(tag: "Frame", version: 2, bytes: [1, 2, 3]).dictionary)
        func shown(_ value: PropertyListValue, _ type: String, secret: Bool = false) -> String {
            SettingsAnswer.shown(
                of: Fact(["key": "k", "type": .string(type), "value": value, "secret": .boolean(secret)]))
        }
        #expect(shown(coded, "coded") == "'Frame' in 3 bytes")
        #expect(shown(coded, "coded", secret: true) == SettingError.redacted)
        #expect(shown(coded, "dictionary").contains("$data"), "a dictionary of the same keys")
        #expect(shown(7, "integer") == "7" && shown("on", "string") == "on")
    }
}
