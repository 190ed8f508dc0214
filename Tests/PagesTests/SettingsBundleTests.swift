// The walk over the pages of a Settings.bundle: which keys and defaults it finds, and what it survives.

import TandemPages
import TandemPropertyList
import TandemSettings
import Testing

@Suite struct SettingsBundleTests {
    private func page(_ specifiers: PropertyListValue...) -> PropertyListDictionary {
        ["PreferenceSpecifiers": .array(specifiers)]
    }

    private func child(_ file: String) -> PropertyListValue { ["Type": "PSChildPaneSpecifier", "File": .string(file)] }

    private func title(_ key: String, _ value: PropertyListValue? = nil) -> PropertyListValue {
        var entries: PropertyListDictionary = ["Type": "PSTitleValueSpecifier", "Key": .string(key)]
        entries["DefaultValue"] = value
        return .dictionary(entries)
    }

    private func bundle(_ pages: [String: PropertyListDictionary]) -> SettingsBundle {
        SettingsBundle(PageTree { name throws(SettingsBundleProblem) in pages[name] })
    }

    @Test("SET-33: keys come from all pages in their order, with a default or without, child panes' own included")
    func keys() {
        let found = bundle([
            "Root": page(
                ["Type": "PSGroupSpecifier", "Title": "Sound"],
                ["Type": "PSTextFieldSpecifier", "Key": "nameSetting", "DefaultValue": "Anna"],
                ["Type": "PSToggleSwitchSpecifier", "Key": "enabledSetting"],
                ["Type": "PSChildPaneSpecifier", "File": "Sound", "Key": "soundPane"], child("More")),
            "Sound": page(["Type": "PSSliderSpecifier", "Key": "sliderSetting", "DefaultValue": 0.5], child("Deep")),
            "Deep": page(["Type": "PSTitleValueSpecifier", "Key": "deep", "DefaultValue": 1]),
            "More": page(["Type": "PSMultiValueSpecifier", "Key": "more"], title("nameSetting", "Anna")),
        ])
        #expect(found.keys == ["nameSetting", "enabledSetting", "soundPane", "sliderSetting", "deep", "more"])
        #expect(found.defaults == ["nameSetting": "Anna", "sliderSetting": 0.5, "deep": 1])
        #expect(found.problems.isEmpty)
    }

    @Test("SET-33, PAG-4: pages that lead to each other are visited once each, and told")
    func cycles() {
        var visits: [String] = []
        let pages = [
            "Root": page(child("A"), child("Root")), "A": page(child("B"), child("A")),
            "B": page(child("A"), child("Root")),
        ]
        let found = SettingsBundle(
            PageTree { name throws(SettingsBundleProblem) in
                visits.append(name)
                return pages[name]
            })
        #expect(visits == ["Root", "A", "B"])
        #expect(
            found.problems == [
                .cycle(page: "Root", leadsTo: "Root"), .cycle(page: "A", leadsTo: "A"),
                .cycle(page: "B", leadsTo: "A"), .cycle(page: "B", leadsTo: "Root"),
            ])
    }

    @Test("SET-33: a page that is missing, damaged or not one of specifiers is reported, and the others are read")
    func damage() {
        let pages = [
            "Root": page(child("Missing"), child("Broken"), child("Odd"), child("Odder"), child("Good")),
            "Odd": ["PreferenceSpecifiers": "none"], "Odder": page("text"), "Good": page(title("good")),
        ]
        let found = SettingsBundle(
            PageTree { name throws(SettingsBundleProblem) in
                if name == "Broken" { throw .unreadablePage(name, reason: "line 1") }
                return pages[name]
            })
        #expect(found.keys == ["good"])
        #expect(
            found.problems == [
                .missingPage("Missing"), .unreadablePage("Broken", reason: "line 1"), .malformedPage("Odd"),
                .malformedPage("Odder"),
            ])
        #expect(bundle([:]).problems == [.missingPage("Root")])
    }

    @Test("LIM-99: at most 64 pages are read")
    func limit() {
        var visits = 0
        let found = SettingsBundle(
            PageTree { name throws(SettingsBundleProblem) in
                visits += 1
                return page(child("\(name)x"))
            })
        #expect(visits == 64 && found.problems == [.tooManyPages(limit: 64)])
    }

    @Test("SET-34: two defaults of one key that mean one value of its property are no fault")
    func spellings() {
        let schema = SettingsSchema([
            SettingDeclaration(
                "on", .boolean, .toggle, toggleValues: ToggleValues(on: "on", off: "off"), initial: .boolean(false)),
            SettingDeclaration("level", .double, .preference, initial: .double(0)),
        ])
        var found = bundle([
            "Root": page(
                title("on", true), title("on", "YES"), title("on", 1), title("on", "on"), title("level", 1),
                title("level", 1.0), title("level", "1"))
        ])
        #expect(found.defaults(of: schema) == [.boolean(true), .double(1)] && found.problems.isEmpty)
        var other = bundle(["Root": page(title("on", true), title("on", "NO"), title("none", true), title("none", 1))])
        _ = other.defaults(of: schema)
        #expect(
            other.problems == [
                .differentDefaults(key: "on", SettingsPageLocation(page: "Root", index: 1)),
                .differentDefaults(key: "none", SettingsPageLocation(page: "Root", index: 3)),
                .noProperty(key: "none", SettingsPageLocation(page: "Root", index: 2)),
            ])
    }

    @Test(
        "SET-34, PAG-4: a default is its property's if that takes it; two of one key, and a key without property, are told"
    )
    func defaults() {
        let schema = SettingsSchema([
            SettingDeclaration("volume", .integer, .slider, bounds: .integer(0...100), initial: .integer(50)),
            SettingDeclaration("logging", .boolean, .toggle, initial: .boolean(false)),
            SettingDeclaration("name", .string, initial: .string("a")),
        ])
        var found = bundle([
            "Root": page(
                title("volume", 500), title("logging", "YES"), title("name", "b"), title("name", "c"), title("other"))
        ])
        #expect(found.defaults(of: schema) == [.integer(50), .boolean(true), .string("b")])
        #expect(
            found.problems.map(\.description) == [
                "the settings page 'Root', entry 4: the key 'name' has another default before",
                "the settings page 'Root', entry 5: no property has the key 'other'",
                "the settings page 'Root', entry 1: the default is not taken: volume: 500 is over the maximum 100",
            ])
    }
}
