// Entries of pages: words and faults of the fifteen types, and declarations beside those of the vectors.

import TandemPages
import TandemPropertyList
import TandemSettings
import Testing

@Suite struct SpecifierTests {
    private func page(_ specifiers: PropertyListDictionary...) -> PageTree {
        pageTree(["Root": specifiers.map { Specifier($0) }])
    }

    @Test("PAG-1, PAG-2: a device is a phone unless it is configured, and the reader's languages are the locale's")
    func device() {
        #expect(DeviceKind(configured: "toaster") == .phone && DeviceKind(configured: "watch").suffix == "watch")
        let locale = ["LC_ALL": "", "LC_MESSAGES": "de_CH.UTF-8", "LANG": "fr"]
        #expect(PageFileOrder.preferredLanguages { locale[$0] } == ["de-CH", "de_CH", "de"])
        #expect(PageFileOrder.preferredLanguages { _ in "pt-BR" } == ["pt-BR", "pt_BR", "pt"])
        #expect(PageFileOrder.preferredLanguages { _ in "fr.UTF-8" } == ["fr"])
        #expect(PageFileOrder.preferredLanguages { _ in "C.UTF-8" }.isEmpty)
    }

    @Test("PAG-3: booleans in any spelling, words in any case, defaults of the words, and subtitles by value")
    func words() {
        let field = Specifier(
            .textField,
            ["KeyboardType": "emailaddress", "AutocorrectionType": "no", "IASKTextContentType": "EmailAddress"])
        #expect(field.textTraits.keyboard == .emailAddress && field.textTraits.correction == .no)
        #expect(field.textTraits.capitalization == .none && field.textTraits.contentType == "EmailAddress")
        let spellings: [PropertyListValue] = [true, "YES", 1, "true"]
        for spelling in spellings { #expect(Specifier(.textField, ["IsSecure": spelling]).flag(.isSecure) == true) }
        #expect(Specifier(.datePicker, [:]).dateTraits == DateTraits())
        let date = Specifier(
            .datePicker, ["DatePickerMode": "Time", "MinuteInterval": 15, "DatePickerStyle": "Compact"])
        #expect(date.dateTraits == DateTraits(mode: .time, minuteInterval: 15))
        #expect(Specifier(.datePicker, ["MinuteInterval": 7]).dateTraits.minuteInterval == 1)
        let subtitle = Specifier(.toggle, ["IASKSubtitle": ["YES": "is on", "__default__": "other"]]).subtitle
        #expect(subtitle?.text(for: "YES") == "is on" && subtitle?.text(for: "NO") == "other")
        #expect(Specifier(.button, [:]).alignment == .center)
        #expect(Specifier(.button, ["IASKCellImage": "a"]).alignment == .left)
        #expect(Specifier(.button, ["IASKTextAlignment": "IASKUITextAlignmentRight"]).alignment == .right)
        #expect(Specifier(.childPane, ["File": "Sound.plist"]).file == "Sound")
    }

    @Test("PAG-3, LIM-154: a name that is longer than any key is cut, and names nothing of the right length")
    func longNames() {
        let marks = "a" + String(repeating: "\u{301}\u{323}", count: 500)
        let entry = Specifier(.childPane, ["Key": .string(marks), "File": .string(marks + ".plist")])
        #expect(entry.key.map { (257...259).contains($0.utf8.count) } == true && entry.file == entry.key)
        #expect(Page(name: marks, stringsTable: marks, specifiers: []).tables == entry.key.map { [$0] })
        let name = String(repeating: "n", count: 256)
        #expect(Specifier(.childPane, ["File": .string(name + ".plist")]).file == name)
        #expect(Specifier(.childPane, ["Key": .string(name)]).key == name)
    }

    @Test("PAG-3, LIM-153: a word of a closed list with other characters is none")
    func wordsOfMarks() {
        let marks = PropertyListValue.string("Time" + String(repeating: "\u{301}\u{323}", count: 500))
        let field = Specifier(
            .textField, ["KeyboardType": marks, "IsSecure": marks, "SupportedUserInterfaceIdioms": [marks]])
        #expect(field.textTraits.keyboard == .alphabet && field.flag(.isSecure) == nil && !field.isFor(.phone))
        #expect(Specifier(.datePicker, ["DatePickerMode": marks]).dateTraits == DateTraits())
    }

    @Test(
        "PAG-3, PAG-4, PAG-22: unknown types and keys are kept and told, other forms count as none, needed keys are missed"
    )
    func faults() {
        let tree = page(
            ["Type": "PSFancySpecifier", "Key": "a"], ["Type": "PSToggleSwitchSpecifier", "Key": 7, "Later": 1],
            ["Type": "PSMultiValueSpecifier", "Key": "m", "Values": [1, 2], "Titles": ["one"]],
            ["Type": "PSChildPaneSpecifier", "IASKSegueIdentifier": "toMap"], ["Key": "b"],
            ["Type": "IASKMailComposeSpecifier", "IASKMailComposeBodyIsHTML": true])
        let told = tree.problems.map { problem -> String in
            if case .specifier(let place, let fault) = problem, let index = place.index { return "\(index) \(fault)" }
            return "\(problem)"
        }
        #expect(
            told == [
                "0 'PSFancySpecifier' is no type of entries", "1 'Key' has a value of another form",
                "1 'Later' has no meaning", "1 'Key' is missing",
                "2 'Titles' has not as many elements as the values",
                "3 'IASKSegueIdentifier' asks for what Linux does not have", "4 'Type' is missing",
                "5 'IASKMailComposeBodyIsHTML' asks for what Linux does not have",
            ])
        #expect(tree["Root"]?.specifiers[1].entries["Later"] == 1)
        #expect(tree["Root"]?.specifiers[0].entries["Key"] == "a")
    }

    @Test("PAG-9, SCH-2: of two choices with one title each has a label, and values of no common type declare nothing")
    func labels() throws {
        let entries: PropertyListDictionary = [
            "Key": "k", "Values": [1, 2], "Titles": ["One", "One"], "DefaultValue": 2,
        ]
        let choice = try #require(Specifier(.multiValue, entries).declaration())
        #expect(choice.choices.map(\.label) == ["One", "One (2)"] && choice.initialValue == .integer(2))
        #expect(Specifier(.multiValue, ["Key": "k", "Values": [1, "a"]]).declaration() == nil)
    }

    @Test("SET-45, PAG-13: a stored toggle is on by its own values first, then by its meaning, else by its default")
    func toggle() throws {
        let toggle = Specifier(
            .toggle, ["Key": "t", "TrueValue": "on", "FalseValue": "off", "DefaultValue": "off"])
        let schema = SettingsSchema([try #require(toggle.declaration())])
        let tree = page(toggle.entries)
        let states: [(PropertyListValue?, Bool)] = [("on", true), ("off", false), (1, true), (nil, false)]
        for (stored, isOn) in states {
            let values = stored.map { ["t": PageValue(value: $0, layer: "user")] } ?? [:]
            let row = PageView.make(tree, schema, PageRequest(values: values))?.rows.first
            #expect(row?.kind == .toggle(isOn: isOn))
        }
    }

    @Test("PAG-9: a preference takes the first entry's editor in its own type; another rule is told")
    func refine() throws {
        var bundle = SettingsBundle(
            page(
                ["Type": "PSSliderSpecifier", "Key": "volume", "MinimumValue": 0, "MaximumValue": 10],
                ["Type": "PSToggleSwitchSpecifier", "Key": "name"],
                ["Type": "PSMultiValueSpecifier", "Key": "mode", "Values": ["a", "b"], "Titles": ["A", "B"]],
                ["Type": "PSToggleSwitchSpecifier", "Key": "off", "TrueValue": false, "FalseValue": true]))
        let refined = bundle.refine([
            SettingDeclaration("volume", .integer, .preference, initial: .integer(5)),
            SettingDeclaration("name", .string, initial: .string("")),
            SettingDeclaration("mode", .string, .preference, initial: .string("a")),
            SettingDeclaration("off", .boolean, .toggle, initial: .boolean(false)),
        ])
        #expect(refined[0].editor == .slider && refined[0].bounds == .integer(0...10))
        #expect(refined[1].editor == .edit)
        #expect(
            bundle.problems == [
                .differentRule(key: "name", SettingsPageLocation(page: "Root", index: 1)),
                .differentRule(key: "off", SettingsPageLocation(page: "Root", index: 3)),
            ])
        #expect(refined[2].editor == .choice && refined[2].choices.map(\.label) == ["A", "B"])
    }

    @Test("PAG-9: bounds that a float cannot hold are reported and not taken")
    func boundsOfFloats() {
        for (least, most) in [(0.0, 1e300), (-1e300, 1), (1e39, 1e40)] {
            var bundle = SettingsBundle(
                page([
                    "Type": "PSSliderSpecifier", "Key": "k", "MinimumValue": .real(least), "MaximumValue": .real(most),
                ]))
            let refined = bundle.refine([SettingDeclaration("k", .float, .preference, initial: .float(1))])
            #expect(refined.first?.bounds == nil && refined.first?.editor == .preference)
            let place = SettingsPageLocation(page: "Root", index: 0)
            #expect(bundle.problems == [.differentRule(key: "k", place)])
        }
    }

    @Test("PAG-4, PAG-9: a slider with reversed bounds is one fault, and its editor is taken by every number")
    func reversedBounds() {
        let place = SettingsPageLocation(page: "Root", index: 0)
        let properties: [(SettingType, SettingValue)] = [
            (.integer, .integer(1)), (.float, .float(1)), (.double, .double(1)), (.string, .string("")),
        ]
        for (type, initial) in properties {
            for isInteger in [false, true] {
                let slider: PropertyListDictionary = [
                    "Type": "PSSliderSpecifier", "Key": "k", "MinimumValue": 0.4, "MaximumValue": 0.3,
                    "TandemInteger": .boolean(isInteger),
                ]
                var bundle = SettingsBundle(page(slider))
                let refined = bundle.refine([SettingDeclaration("k", type, .preference, initial: initial)])
                let isText = type == .string
                #expect(refined.first?.editor == (isText ? .preference : .slider) && refined.first?.bounds == nil)
                let reversed = SettingsBundleProblem.specifier(place, .reversedBounds)
                #expect(bundle.problems == [reversed] + (isText ? [.differentRule(key: "k", place)] : []), "\(type)")
            }
        }
    }

    @Test("PAG-9: a further place of a key with another type or other bounds than the property's is told once")
    func furtherPlaces() {
        func slider(_ maximum: PropertyListValue) -> Specifier {
            Specifier(.slider, ["Key": "volume", "MinimumValue": 0, "MaximumValue": maximum])
        }
        let (toggle, title) = (Specifier(.toggle, ["Key": "volume"]), Specifier(.titleValue, ["Key": "volume"]))
        let declaration = SettingDeclaration("volume", .double, .preference, initial: .double(5))
        let cases: [([Specifier], Int?)] = [
            ([slider(10), title], nil), ([slider(11)], 1), ([toggle], 1), ([title, slider(11), toggle], 2),
        ]
        for (further, index) in cases {
            var bundle = SettingsBundle(pageTree(["Root": [slider(10)] + further]))
            #expect(bundle.refine([declaration]).first?.bounds == .double(0...10))
            let entry = index.map { SettingsPageLocation(page: "Root", index: $0) }
            #expect(bundle.problems == [entry].compactMap(\.self).map { .differentRule(key: "volume", $0) })
        }
    }

    @Test("PAG-9: an entry that cannot edit the property's type is reported; of date pickers one of a coded property")
    func typesOfEntries() throws {
        let kinds: [Specifier.Kind] = [.datePicker, .listGroup, .textField, .titleValue, .button, .custom]
        for type: (SettingType, SettingValue, [Specifier.Kind]) in [
            (.coded, .coded(CodedSetting(tag: "Date", version: 1, bytes: [])), [.datePicker, .listGroup, .textField]),
            (.date, .date(PropertyListDate(millisecondsSinceReferenceDate: 0)), [.listGroup, .textField]),
            (.array, .array([]), []), (.integer, .integer(0), [.listGroup]),
        ] {
            for kind in kinds {
                var bundle = SettingsBundle(pageTree(["Root": [Specifier(kind, ["Key": "k"])]]))
                _ = bundle.refine([SettingDeclaration("k", type.0, .preference, initial: type.1)])
                let place = SettingsPageLocation(page: "Root", index: 0)
                #expect(bundle.problems.contains(.differentRule(key: "k", place)) == type.2.contains(kind), "\(kind)")
            }
        }
    }

    @Test("PAG-9, PAG-13: a property that any page shows as a secret is one, however it is declared")
    func secure() throws {
        let root = [
            Specifier(.textField, ["Key": "pin"]), Specifier(.textField, ["Key": "pin", "IsSecure": true]),
            Specifier(.textField, ["Key": "name", "IsSecure": false]),
            Specifier(.listGroup, ["Key": "list", "IsSecure": true]),
            Specifier(.custom, ["Key": "view", "File": "Own"]),
        ]
        let own = [Specifier(.textField, ["Key": "code", "IsSecure": true])]
        var bundle = SettingsBundle(pageTree(["Root": root, "Own": own]))
        let refined = bundle.refine(
            ["pin", "name", "list", "code"].map { name in
                SettingDeclaration(
                    name, name == "list" ? .array : .string, initial: name == "list" ? .array([]) : .string("1234"))
            })
        #expect(refined.map(\.isSecret) == [true, false, false, true])
    }

    @Test("LIM-119, LIM-121, PAG-4: 2,048 entries and 256 faults are taken, and the rest is told once")
    func limits() {
        let tree = pageTree(["Root": [Specifier](repeating: Specifier(.group, ["X": 1]), count: 10_000)])
        #expect(tree["Root"]?.specifiers.count == 2048 && tree.problems.count == 256)
        #expect(tree.problems.first == .tooManySpecifiers(page: "Root", limit: 2048))
    }
}
