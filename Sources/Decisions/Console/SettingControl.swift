// Control of one row: a browser's own one where it gives back each text that it shows, and one for text elsewhere.

import TandemPages
import TandemSettings

/// The part of a row between its title and its notes.
struct SettingControl {
    let row: PageView.Row
    /// The text of the value, or what was typed in its place.
    let text: String
    /// Whether it is a field of the form.
    let isEditable: Bool
    let fields: PageFields

    private var languages: [String: String] { fields.languages }

    /// A value of the app has no language, also where it is the same text as one of the page.
    private func languages(ifTitle isTitle: Bool) -> [String: String] { isTitle ? languages : [:] }

    private var output: Markup {
        .tag("output", .init("id", row.field), of: [.spoken(row.shown, languages(ifTitle: row.isShownByTitle))])
    }

    var title: [Markup] { image(row.image) + [.spoken(row.name, languages)] }

    private func image(_ name: String?) -> [Markup] { name.flatMap { fields.images[$0] }.map { [.image($0)] } ?? [] }

    /// Whether the title is within the control.
    var hasOwnTitle: Bool {
        switch row.kind {
        case .button, .link, .mail, .page: true
        case .custom(let page): page != nil
        default: false
        }
    }

    var markup: Markup {
        if row.isSecret, row.isLabelled { return secret }
        if !isEditable, let words { return locked(words.text, words.language) }
        switch row.kind {
        case .toggle: return toggle
        case .slider(let slider): return range(slider)
        case .text(let traits), .secureText(let traits): return hasLineEnds ? area(traits) : field(traits)
        case .multilineText(let traits): return area(traits)
        case .choice(let choices) where choices.allowsOthers: return suggesting(choices)
        case .choice(let choices):
            return menu(choices.options.map { ($0.title, $0.input, languages(ifTitle: $0.isTitleOfPage)[$0.title]) })
        case .radio(let choices): return radio(choices)
        case .date(let traits): return Markup([date(traits)] + zone + dateText)
        case .titleValue:
            return Markup([output] + zone)
        case .button:
            if let key = row.press { return .ofOtherForm(SettingsInput.pressed, FieldKey.encode(key), title) }
            return Markup([
                .tag(
                    "button", .init("type", "button"), .init("aria-disabled", "true"),
                    .init("aria-describedby", "\(row.id)-why \(row.id)-notes"), of: title),
                .tag("p", .init("id", "\(row.id)-why"), text: "This button works in the app alone."),
            ])
        case .link(let url): return link(.address(url), to: url)
        case .mail(let mail): return link(.address(mail.address), to: mail.to.joined(separator: ", "))
        case .page(let name): return .tag("a", .link("href", .settings(fields.instance, page: name)), of: title)
        case .list(let list):
            let items = list.items.map { Markup.spoken($0.title, languages(ifTitle: $0.isTitleOfPage)) }
            return .tag("ul", of: items.map { .tag("li", of: [$0]) })
        case .custom(let page):
            let value = row.shown.isEmpty ? [] : [output] + zone
            guard let page else { return Markup(value + [.tag("p", text: "The app has a view of its own for it.")]) }
            return Markup([.tag("a", .link("href", .settings(fields.instance, page: page)), of: title)] + value)
        case .unsupported(let reason): return .tag("p", text: reason)
        }
    }

    // MARK: fields

    /// Whether a choice's text is that of the value: a browser sends back the one that is marked.
    private func isShown(_ choice: String) -> Bool { ExactText(choice) == ExactText(text) }

    private var fieldName: String {
        fields.further.contains(row.index)
            ? SettingsInput.name(SettingsInput.value, ofFurther: row)
            : SettingsInput.value + FieldKey.encode(row.key ?? "")
    }
    /// A field without a name is not sent.
    private var name: Markup.Attribute { .optional("name", isEditable ? fieldName : nil) }
    /// Tab reaches a read-only field and skips a disabled one.
    private var readOnly: Markup.Attribute { .flag("readonly", if: !isEditable) }
    private var described: Markup.Attribute {
        .init("aria-describedby", (row.zone == nil ? "" : "\(row.id)-zone ") + "\(row.id)-notes")
    }
    private var invalid: Markup.Attribute { .init("aria-invalid", row.error == nil ? "false" : "true") }
    private var hasLineEnds: Bool { Self.hasLineEnds(text) }

    private static func hasLineEnds(_ text: String) -> Bool { text.utf8.contains { $0 == 10 || $0 == 13 } }

    private func input(_ type: String, _ more: Markup.Attribute...) -> Markup {
        .single(
            "input",
            [
                .init("type", type), .init("id", row.field), name, .init("value", type == "password" ? "" : text),
                readOnly, described, invalid,
            ] + more)
    }

    /// The value in words, of a control that HTML cannot make read-only; nil for every other one.
    private var words: (text: String, language: String?)? {
        var (own, language) = (text, String?.none)
        switch row.kind {
        case .toggle, .slider: break
        case .choice(let choices), .radio(let choices):
            guard let option = choices.options.first(where: { isShown($0.input) }) else { break }
            (own, language) = (option.title, languages(ifTitle: option.isTitleOfPage)[option.title])
        case .text, .secureText, .multilineText, .date, .titleValue, .button, .link, .mail, .page, .list, .custom,
            .unsupported:
            return nil
        }
        return own.isEmpty ? ("none", nil) : (own, language)
    }

    /// A value that cannot be edited, in a field that can only be read (CON-23).
    private func locked(_ words: String, _ language: String?) -> Markup {
        let title = Markup.Attribute.optional("aria-labelledby", row.isLabelled ? nil : "\(row.id)-title")
        let lang = Markup.Attribute.optional("lang", language)
        let field =
            Self.hasLineEnds(words)
            ? Markup.tag(
                "textarea", .init("id", row.field), .init("rows", "4"), .init("dir", "auto"), .flag("readonly"), title,
                lang, described, invalid, text: words)
            : Markup.single(
                "input", .init("type", "text"), .init("id", row.field), .init("value", words), .init("dir", "auto"),
                .flag("readonly"), title, lang, described, invalid)
        guard case .slider(let slider) = row.kind else { return field }
        return Markup([field, bounds(of: slider)])
    }

    /// A box has two states; a value that may be neither is a menu.
    private var toggle: Markup {
        guard !row.allowsNothing, ["on", "off"].contains(text) else {
            return menu((row.allowsNothing ? [("none", "", nil)] : []) + [("yes", "on", nil), ("no", "off", nil)])
        }
        // A box that is not ticked sends nothing, and of two fields of a name the last counts.
        let off = Markup.hidden(fieldName, "off")
        let box = Markup.single(
            "input", .init("type", "checkbox"), .init("id", row.field), name, .init("value", "on"),
            .flag("checked", if: text == "on"), described, invalid)
        return Markup([off, box])
    }

    private func bounds(of slider: PageView.Slider) -> Markup {
        .tag("span", .init("class", "bounds"), text: " (\(slider.range))")
    }

    /// A browser's range input always has a number, and only one within its bounds. A typed text gets one text field
    /// and no slider, so that it is clear which field counts (CON-24).
    private func range(_ slider: PageView.Slider) -> Markup {
        let bounds = bounds(of: slider)
        guard text == row.input, let number = Double(text), text.utf8.allSatisfy("-.0123456789e".utf8.contains),
            slider.minimum <= number, number <= slider.maximum,
            max(abs(slider.minimum), abs(slider.maximum)) <= 0x1p53
        else { return Markup([input("text", .init("inputmode", "decimal")), bounds]) }
        let ends = [slider.minimum, slider.maximum].map { SettingValue.double($0).text }
        let control = input(
            "range", .init("min", ends[0]), .init("max", ends[1]), .init("step", slider.step == 1 ? "1" : "any"))
        let low = slider.icon.map { [sign($0.signs?.low ?? ends[0])] } ?? image(slider.minimumImage)
        let high = slider.icon.map { [sign($0.signs?.high ?? ends[1])] } ?? image(slider.maximumImage)
        let isPlain = low.isEmpty && high.isEmpty
        return Markup([
            isPlain ? control : .tag("div", .init("class", "range"), of: low + [control] + high), typed, bounds,
        ])
    }

    /// The number of a slider as a field, for an exact one (CON-24).
    private var typed: Markup {
        .single(
            "input", .init("type", "text"), .init("id", "\(row.field)-number"),
            .init("name", SettingsInput.number + FieldKey.encode(row.key ?? "")), .init("value", text),
            .init("inputmode", "decimal"), .init("aria-label", "\(row.name): number"), described, invalid)
    }

    /// The sign at one end. It is hidden from screen readers, which read the bounds of the range.
    private func sign(_ text: String) -> Markup { .tag("span", .init("aria-hidden", "true"), text: text) }

    private var secret: Markup {
        let traits: TextTraits? =
            switch row.kind {
            case .secureText(let traits), .multilineText(let traits): traits
            default: nil
            }
        return input(
            "password", .init("autocomplete", "new-password"), .optional("inputmode", traits?.inputMode),
            .optional("placeholder", traits?.placeholder))
    }

    private func field(_ traits: TextTraits) -> Markup {
        input(
            "text", .init("dir", "auto"), .optional("inputmode", traits.inputMode),
            .optional("autocomplete", traits.autocomplete), .optional("placeholder", traits.placeholder),
            .init("autocapitalize", traits.autocapitalize),
            .init("spellcheck", traits.correction == .no ? "false" : "true"))
    }

    private func area(_ traits: TextTraits) -> Markup {
        .tag(
            "textarea", .init("id", row.field), name, .init("rows", "4"), .init("dir", "auto"),
            .optional("placeholder", traits.placeholder), .optional("inputmode", traits.inputMode),
            .init("autocapitalize", traits.autocapitalize),
            .init("spellcheck", traits.correction == .no ? "false" : "true"), readOnly, described, invalid, text: text)
    }

    private func suggesting(_ choices: PageView.Choices) -> Markup {
        guard !hasLineEnds else { return area(TextTraits()) }
        return Markup([
            input("text", .init("dir", "auto"), .init("list", "\(row.id)-list")),
            .tag(
                "datalist", .init("id", "\(row.id)-list"),
                of: choices.options.map { .tag("option", .init("value", $0.input), text: $0.title) }),
        ])
    }

    /// The value that is none of the entries has one, too.
    private func menu(_ entries: [(title: String, text: String, language: String?)]) -> Markup {
        let isListed = entries.contains { isShown($0.text) }
        let present = [(title: text.isEmpty ? "none" : text, text: text, language: String?.none)]
        return .tag(
            "select", .init("id", row.field), name, described, invalid,
            of: ((isListed ? [] : present) + entries).map { entry in
                .tag(
                    "option", .init("value", entry.text), .flag("selected", if: isShown(entry.text)),
                    .optional("lang", entry.language), text: entry.title)
            })
    }

    /// The value that is none of the choices stands behind them.
    private func radio(_ choices: PageView.Choices) -> Markup {
        let isListed = choices.options.contains { isShown($0.input) }
        let present = isListed || text.isEmpty ? [] : [radioButton(text, [.spoken(text, [:])])]
        return .tag(
            "div", .init("class", "radio"), .init("role", "radiogroup"),
            .init("aria-labelledby", "\(row.id)-title"), described, invalid,
            of: choices.options.map {
                radioButton(
                    $0.input, image($0.image) + [.spoken($0.title, languages(ifTitle: $0.isTitleOfPage))])
            } + present)
    }

    private func radioButton(_ input: String, _ title: [Markup]) -> Markup {
        let button = Markup.single(
            "input", .init("type", "radio"), name, .init("value", input), .flag("checked", if: isShown(input)))
        return .tag("label", of: [button] + title)
    }

    /// The zone of a date, which no browser asks for.
    private var zone: [Markup] {
        row.zone.map { [.tag("span", .init("class", "zone"), .init("id", "\(row.id)-zone"), text: " \($0)")] } ?? []
    }

    /// The running app's own text for a date.
    private var dateText: [Markup] {
        row.shown == row.input || row.shown.isEmpty ? [] : [.tag("output", .init("for", row.field), foreign: row.shown)]
    }

    private func date(_ traits: DateTraits) -> Markup {
        let (type, count) =
            switch traits.mode {
            case .date: ("date", 10)
            case .time: ("time", 5)
            case .dateAndTime: ("datetime-local", 16)
            }
        // A browser blanks a date that it cannot show, such as one of the year 12026.
        guard text.isEmpty || text.utf8.count == count else { return input("text") }
        // Minutes between the steps would be a mistake for a browser, which then sends nothing of the form.
        let minute = traits.mode == .date ? nil : text.isEmpty ? 0 : Int(text.suffix(2))
        guard traits.minuteInterval > 1, let minute, minute % traits.minuteInterval == 0 else { return input(type) }
        return input(type, .init("step", "\(traits.minuteInterval * 60)"))
    }

    // MARK: addresses

    /// The link, and where it leads; without an address that is one for browsers the text alone.
    private func link(_ address: Markup.Attribute?, to text: String) -> Markup {
        let linked =
            address.map { .tag("a", $0, .init("rel", "noreferrer"), of: title) }
            ?? Markup.tag("span", .init("class", "title"), of: title)
        return Markup([linked, .tag("p", .init("class", "target"), foreign: text)])
    }
}

extension SliderIcon {
    /// The signs at the two ends; nil: the bounds stand there.
    fileprivate var signs: (low: String, high: String)? {
        switch self {
        case .speed: ("🐢", "🐇")
        case .capacity: ("🪫", "🔋")
        case .numeric: nil
        case .brightness: ("🔅", "🔆")
        case .volume: ("🔈", "🔊")
        }
    }
}

extension TextTraits {
    /// The kind of text that a browser may fill in; nil for a type that browsers do not have. Bundles write the first
    /// letter of a type in either case.
    fileprivate var autocomplete: String? {
        contentType.flatMap { Self.autocompletes[$0.prefix(1).uppercased() + $0.dropFirst()] }
    }

    private static let autocompletes = [
        "Username": "username", "EmailAddress": "email", "TelephoneNumber": "tel", "URL": "url", "Name": "name",
        "NamePrefix": "honorific-prefix", "GivenName": "given-name", "MiddleName": "additional-name",
        "FamilyName": "family-name", "NameSuffix": "honorific-suffix", "Nickname": "nickname",
        "OrganizationName": "organization", "JobTitle": "organization-title", "OneTimeCode": "one-time-code",
        "FullStreetAddress": "street-address", "StreetAddressLine1": "address-line1",
        "StreetAddressLine2": "address-line2", "AddressCity": "address-level2", "AddressState": "address-level1",
        "Sublocality": "address-level3", "PostalCode": "postal-code", "CountryName": "country-name",
        "Password": "current-password", "NewPassword": "new-password", "CreditCardNumber": "cc-number",
    ]

    fileprivate var inputMode: String? {
        switch keyboard {
        case .numberPad: "numeric"
        case .decimalPad: "decimal"
        case .phonePad: "tel"
        case .url: "url"
        case .emailAddress: "email"
        case .alphabet, .numbersAndPunctuation, .namePhonePad, .asciiCapable: nil
        }
    }

    fileprivate var autocapitalize: String {
        capitalization == .allCharacters ? "characters" : capitalization.rawValue.lowercased()
    }
}

extension PageView.Mail {
    fileprivate var address: String {
        let lists = [("cc", copy), ("bcc", blindCopy)].map { ($0, $1.map(PercentText.encode).joined(separator: ",")) }
        let texts = [("subject", subject), ("body", body)].map { ($0, PercentText.encode($1)) }
        let parts = (lists + texts).filter { !$0.1.isEmpty }.map { "\($0)=\($1)" }
        return "mailto:" + to.map(PercentText.encode).joined(separator: ",")
            + (parts.isEmpty ? "" : "?" + parts.joined(separator: "&"))
    }
}
