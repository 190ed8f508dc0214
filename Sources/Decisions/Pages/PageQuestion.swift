// Questions of a daemon to a running app about its pages, and the app's answers (Protocol/Pages.md PAG-24 to PAG-28).
// One type writes and reads each of them, so that library and daemon agree. An answer of another form is none: the
// declared rules and the stored pages decide then.

import TandemBase
package import TandemPropertyList
package import TandemSettings
import TandemWire

package enum PageQuestion: Sendable, Equatable {
    /// The kinds, by the words of `register` (Session SES-80).
    package enum Kind: String, Sendable, CaseIterable {
        case page, press, validate
    }

    /// The app's decisions about its pages at this moment.
    case page
    /// A person has pressed the button with this key.
    case press(String)
    /// The stored forms that a person wants to set; the declared rules take them.
    case validate(PropertyListDictionary)

    /// Bytes of an answer (LIM-129).
    package static let answerLimit = 65_536
    /// Bytes of what an answer repeats by reference (LIM-129).
    private static let repeatedLimit = 262_144
    /// Questions of one asker to one app that wait while another one is open (LIM-129).
    package static let waitingLimit = 8

    private static let (word, key, values, answer) = (
        "tandem.question", "tandem.key", "tandem.values", "tandem.answer"
    )

    package var kind: Kind {
        switch self {
        case .page: .page
        case .press: .press
        case .validate: .validate
        }
    }

    /// The time from the question to its answer (LIM-129). A page is not kept waiting for long.
    package var timeLimit: Duration { kind == .page ? .seconds(1) : .seconds(5) }

    /// Whether a session message is a question, well-formed or not: then it is never shown to the app itself.
    package static func isClaimed(by message: PropertyListDictionary) -> Bool { message[word] != nil }

    /// The body of the frame.
    /// - Parameter person: the person on whose behalf the app is asked; nil for nobody in particular.
    package func message(by person: PagePerson? = nil) -> PropertyListDictionary {
        var message: PropertyListDictionary = [:]
        person?.name(in: &message)
        message[Self.word] = .string(kind.rawValue)
        switch self {
        case .page: break
        case .press(let key): message[Self.key] = .string(key)
        case .validate(let values): message[Self.values] = .dictionary(values)
        }
        return message
    }

    /// Reads a question; nil for one of another form.
    package init?(_ message: PropertyListDictionary) {
        switch message[Self.word]?.stringValue.flatMap({ Kind(word: $0) }) {
        case .page: self = .page
        case .press:
            guard let key = message[Self.key]?.stringValue else { return nil }
            self = .press(key)
        case .validate:
            guard let values = message[Self.values]?.dictionaryValue else { return nil }
            self = .validate(values)
        case nil: return nil
        }
    }

    package static func reply(_ body: PropertyListDictionary) -> PropertyListDictionary {
        [answer: .dictionary(body)]
    }

    /// The body of a reply with an answer that the daemon takes (LIM-129): of one that is too long a shorter one.
    package static func reply(fitting body: PropertyListDictionary) -> PropertyListDictionary {
        if fits(body) { return reply(body) }
        var short = shortened(body)
        let shorter = [
            withholding(body, over: 1024), short, withholding(short, over: 1024), withholding(short, over: 0),
        ]
        if let rest = shorter.first(where: fits) { return reply(rest) }
        // Even their names are too long. The lists that the library itself withholds stay locked.
        short["values"] = body["values"]?.dictionaryValue.map { values in
            .dictionary(values.compactMapValues { $1.dictionaryValue?["withheld"] == true ? $1 : nil })
        }
        return reply(short)
    }

    private static func fits(_ body: PropertyListDictionary) -> Bool {
        (try? PropertyListWriter.write(reply(body))).map { answer(in: $0) != nil } ?? false
    }

    /// An answer that says of the app's own values of more bytes only that they are there (PAG-34).
    private static func withholding(_ body: PropertyListDictionary, over longest: Int) -> PropertyListDictionary {
        guard let values = body["values"]?.dictionaryValue else { return body }
        var body = body
        body["values"] = .dictionary(
            values.compactMapValues { _, form in
                guard var own = form.dictionaryValue, let value = own["value"],
                    (try? PropertyListWriter.write(value).count) ?? .max > longest
                else { return form }
                (own["value"], own["withheld"]) = (nil, true)
                return .dictionary(own)
            })
        return body
    }

    /// An answer with its texts cut and without choices, mails and dates, for which the page's own stand. Of a check
    /// the refusals remain: each of them refuses the whole edit, and so does a replacement that cannot be sent.
    private static func shortened(_ body: PropertyListDictionary) -> PropertyListDictionary {
        body.compactMapValues { key, value in
            switch key {
            case "text": .string(cut(value.stringValue ?? ""))
            case "choices", "mails", "dates": nil
            case "results": .dictionary(refusals(in: value.dictionaryValue ?? [:]))
            default: value
            }
        }
    }

    /// Refusals of an answer that did not fit, and bytes of a text of it: with the longest keys they take less than
    /// half its room (LIM-129).
    private static let (shortenedRefusals, shortenedText) = (48, 200)

    private static func refusals(in results: PropertyListDictionary) -> PropertyListDictionary {
        let refusals = results.compactMapValues { _, form in
            switch form.dictionaryValue.flatMap({ PageValidation($0) }) {
            case .failed(let text, _, let shakes):
                .dictionary(PageValidation.failed(cut(text), replacement: nil, shakes: shakes).dictionary)
            case .replaced:
                .dictionary(PageValidation.failed("The app's value is too long.", replacement: nil).dictionary)
            case .ok, nil: nil
            }
        }
        return PropertyListDictionary(
            uniqueKeysWithValues: refusals.prefix(shortenedRefusals).map { ($0.key, $0.value) })
    }

    private static func cut(_ text: String) -> String {
        String(decoding: text.utf8.prefix(shortenedText), as: UTF8.self)
    }

    /// The answer in the bytes of a reply; nil if they are too many, or none. A reply that refers to its parts again
    /// and again is none either: it would make megabytes of a frame.
    package static func answer(in bytes: [UInt8]) -> PropertyListDictionary? {
        let limits = PropertyListLimits(depth: 64, objects: 16_384, values: 65_536, repeatedBytes: repeatedLimit)
        guard bytes.count <= answerLimit,
            let reply = try? PropertyListReader.readDictionary(bytes, limits: limits)
        else { return nil }
        return reply[answer]?.dictionaryValue
    }
}

/// An app's decisions about its pages at one moment: the answer to ``PageQuestion/page``.
package struct RunningPage: Sendable, Equatable {
    package struct Choice: Sendable, Equatable {
        package let label: String
        /// Its stored form.
        package let value: PropertyListValue

        package init(label: String, value: PropertyListValue) { (self.label, self.value) = (label, value) }
    }

    /// A running app's decision about a mail that an entry offers.
    package enum MailDecision: Sendable, Equatable {
        /// These parts stand in the place of the entry's.
        case compose(PageView.Mail)
        /// The mail is not written now, and why.
        case refused(String)
    }

    /// A date picker's row, as the app has it (PAG-32).
    package struct PickedDate: Sendable, Equatable {
        /// Made of the value in force; nil for none.
        package let date: PropertyListDate?
        /// For people; nil: as any date is shown.
        package let shown: String?

        package init(date: PropertyListDate?, shown: String? = nil) { (self.date, self.shown) = (date, shown) }
    }

    /// A value that the app itself has set, where neither a signed one nor an edit is in force (PAG-34).
    package struct OwnValue: Sendable, Equatable {
        /// The word of its layer.
        package enum Layer: String, Sendable {
            case preference, environment, file
            case commandLine = "command-line"
        }

        package let layer: Layer
        /// The stored form; nil for none, and for one that is withheld.
        package let value: PropertyListValue?
        /// Whether only the layer is told: of a list with secrets, and of a value for which the answer has no room.
        package let isWithheld: Bool

        package init(_ layer: Layer, _ value: PropertyListValue?, isWithheld: Bool = false) {
            (self.layer, self.value, self.isWithheld) = (layer, isWithheld ? nil : value, isWithheld)
        }
    }

    /// The keys of rows and sections that are not shown.
    package let hidden: Set<String>
    /// By key, in the place of the page's.
    package let choices: [String: [Choice]]
    /// The keys of the buttons that can be pressed.
    package let buttons: Set<String>
    /// By the key of the entry.
    package let mails: [String: MailDecision]
    /// By the name of the property.
    package let dates: [String: PickedDate]
    /// By the name of the property.
    package let values: [String: OwnValue]

    package init(
        hidden: Set<String> = [], choices: [String: [Choice]] = [:], buttons: Set<String> = [],
        mails: [String: MailDecision] = [:], dates: [String: PickedDate] = [:], values: [String: OwnValue] = [:]
    ) {
        (self.hidden, self.choices, self.buttons) = (hidden, choices, buttons)
        (self.mails, self.dates, self.values) = (mails, dates, values)
    }

    package var body: PropertyListDictionary {
        PropertyListDictionary(present: [
            "hidden": .array(hidden.sorted().map { .string($0) }),
            "choices": Self.form(of: choices) { list in
                .array(list.map { ["label": .string($0.label), "value": $0.value] })
            },
            "buttons": .array(buttons.sorted().map { .string($0) }),
            "mails": mails.isEmpty ? nil : Self.form(of: mails) { .dictionary($0.body) },
            "dates": dates.isEmpty ? nil : Self.form(of: dates) { .dictionary($0.body) },
            "values": values.isEmpty ? nil : Self.form(of: values) { .dictionary($0.body) },
        ])
    }

    private static func form<Value>(
        of values: [String: Value], _ form: (Value) -> PropertyListValue
    ) -> PropertyListValue {
        .dictionary(PropertyListDictionary(uniqueKeysWithValues: values.map { ($0.key, form($0.value)) }))
    }

    /// Reads an answer; nil for one of another form.
    package init?(_ body: PropertyListDictionary) {
        guard let hidden = Self.keys(body["hidden"]), let buttons = Self.keys(body["buttons"]),
            let choices = Self.map(body["choices"], { $0.list(Self.choice) }),
            let mails = Self.map(body["mails"], { $0.dictionaryValue.flatMap { MailDecision($0) } }),
            let dates = Self.map(body["dates"], { $0.dictionaryValue.flatMap { PickedDate($0) } }),
            let values = Self.map(body["values"], { $0.dictionaryValue.flatMap(OwnValue.read) })
        else { return nil }
        self.init(
            hidden: hidden, choices: choices, buttons: buttons, mails: mails, dates: dates,
            values: values.compactMapValues(\.self))
    }

    /// A dictionary's values, none where there is no dictionary; nil if one of them does not read.
    private static func map<Value>(
        _ value: PropertyListValue?, _ read: (PropertyListValue) -> Value?
    ) -> [String: Value]? {
        guard let fields = (value ?? .dictionary([:])).dictionaryValue else { return nil }
        var map: [String: Value] = [:]
        for (key, value) in fields {
            guard let value = read(value) else { return nil }
            map[key] = value
        }
        return map
    }

    /// The part that the paired device may know (PAG-30); mails are the own device's.
    /// - Parameters:
    ///   - document: what the app has opened to it.
    ///   - secrets: the keys of which no value is shown.
    package func opened(by document: SchemaDocument, secrets: Set<String>) -> RunningPage {
        let entries = PageTree(document).pages.flatMap(\.specifiers)
        let secrets = secrets.union(entries.compactMap { $0.isSecure ? $0.key : nil })
        let properties = Set(document.schema.declarations.map(\.name))
        let known = properties.union(entries.compactMap(\.key)).union(document.buttons)
        let open = properties.subtracting(secrets)
        return RunningPage(
            hidden: hidden.intersection(known), choices: choices.filter { open.contains($0.key) },
            buttons: buttons.intersection(document.buttons), dates: dates.filter { open.contains($0.key) },
            values: values.filter { ($0.value.isWithheld ? properties : open).contains($0.key) })
    }

    /// Keys; a text that is too long for one names nothing.
    private static func keys(_ value: PropertyListValue?) -> Set<String>? {
        let texts = (value ?? .array([])).arrayValue
        guard let texts, texts.allSatisfy({ $0.stringValue != nil }) else { return nil }
        return Set(texts.compactMap(\.keyValue))
    }

    private static func choice(_ entry: PropertyListValue) -> Choice? {
        guard let label = entry.dictionaryValue?["label"]?.stringValue, let value = entry.dictionaryValue?["value"]
        else { return nil }
        return Choice(label: label, value: value)
    }
}

extension RunningPage.MailDecision {
    private static let (refused, subject, text) = ("refused", "subject", "body")

    fileprivate var body: PropertyListDictionary {
        switch self {
        case .refused(let reason): return [Self.refused: .string(reason)]
        case .compose(let mail):
            func list(_ addresses: [String]) -> PropertyListValue { .array(addresses.map { .string($0) }) }
            return [
                "to": list(mail.to), "cc": list(mail.copy), "bcc": list(mail.blindCopy),
                Self.subject: .string(mail.subject), Self.text: .string(mail.body),
            ]
        }
    }

    /// Reads a decision; nil for one of another form.
    fileprivate init?(_ body: PropertyListDictionary) {
        if let reason = body[Self.refused] {
            guard let reason = reason.stringValue else { return nil }
            self = .refused(reason)
            return
        }
        guard let to = body["to"].texts, let copy = body["cc"].texts, let blindCopy = body["bcc"].texts,
            let subject = (body[Self.subject] ?? "").stringValue, let text = (body[Self.text] ?? "").stringValue
        else { return nil }
        self = .compose(PageView.Mail(to: to, copy: copy, blindCopy: blindCopy, subject: subject, body: text))
    }
}

extension RunningPage.PickedDate {
    fileprivate var body: PropertyListDictionary {
        PropertyListDictionary(present: ["date": date.map { .date($0) }, "shown": shown.map { .string($0) }])
    }

    /// Reads a row; nil for one of another form.
    fileprivate init?(_ body: PropertyListDictionary) {
        self.init(date: body["date"]?.dateValue, shown: body["shown"]?.stringValue)
        guard (body["date"] == nil) == (date == nil), (body["shown"] == nil) == (shown == nil) else { return nil }
    }
}

extension RunningPage.OwnValue {
    fileprivate var body: PropertyListDictionary {
        PropertyListDictionary(present: [
            "layer": .string(layer.rawValue), "value": value, "withheld": isWithheld ? true : nil,
        ])
    }

    /// Reads a value; nil for one of another form. Of a layer that a later release has there is no value.
    fileprivate static func read(_ body: PropertyListDictionary) -> Self?? {
        guard let layer = body["layer"]?.stringValue, let isWithheld = (body["withheld"] ?? false).booleanValue else {
            return nil
        }
        return .some(Layer(word: layer).map { Self($0, body["value"], isWithheld: isWithheld) })
    }
}

extension PropertyListValue? {
    /// An array of texts, of which an absent one has none; nil for another form.
    fileprivate var texts: [String]? {
        guard let value = self else { return [] }
        let texts = value.arrayValue?.compactMap(\.stringValue)
        return texts?.count == value.arrayValue?.count ? texts : nil
    }
}

/// The answer to ``PageQuestion/press(_:)``.
package enum PressAnswer: Sendable, Equatable {
    /// The app has done it; a text for the person, if there is something to say.
    case done(String?)
    /// The app does not do it now, and why.
    case refused(String)

    package var body: PropertyListDictionary {
        switch self {
        case .done(let text?): ["done": true, "text": .string(text)]
        case .done(nil): ["done": true]
        case .refused(let text): ["done": false, "text": .string(text)]
        }
    }

    /// Reads an answer; nil for one of another form.
    package init?(_ body: PropertyListDictionary) {
        guard let isDone = body["done"]?.booleanValue else { return nil }
        let text = body["text"]?.stringValue
        self = isDone ? .done(text) : .refused(text ?? "")
    }
}

// MARK: - Checks

extension PageValidation {
    private enum Word: String {
        case ok, replaced, failed, shake
    }

    /// The form in the answer to ``PageQuestion/validate(_:)``.
    package var dictionary: PropertyListDictionary {
        func form(
            _ result: Word, _ text: String? = nil, _ value: PropertyListValue? = nil
        ) -> PropertyListDictionary {
            PropertyListDictionary(present: [
                "result": .string(result.rawValue), "text": text.map { .string($0) }, "value": value,
            ])
        }
        return switch self {
        case .ok: form(.ok)
        case .replaced(let value): form(.replaced, nil, value)
        case .failed(let text, let value, let shakes): form(shakes ? .shake : .failed, text, value)
        }
    }

    /// Reads a result; nil for one of another form.
    package init?(_ form: PropertyListDictionary) {
        let (text, value) = (form["text"]?.stringValue ?? "", form["value"])
        switch form["result"]?.stringValue.flatMap({ Word(word: $0) }) {
        case .ok: self = .ok
        case .replaced:
            guard let value else { return nil }
            self = .replaced(value)
        case .failed: self = .failed(text, replacement: value)
        case .shake: self = .failed(text, replacement: value, shakes: true)
        case nil: return nil
        }
    }
}

/// A value that the app's own check does not take.
package struct PageRefusal: Sendable, Equatable {
    package let key: String
    /// The app's reason.
    package let text: String
    /// Whether the field draws attention to itself.
    package let shakes: Bool
    /// The stored form that stands in the field; nil for what was typed, and for a secret.
    package let replacement: PropertyListValue?

    package init(key: String, text: String, shakes: Bool = false, replacement: PropertyListValue? = nil) {
        self.key = key
        self.text = text.isEmpty ? "The app does not take it." : text
        (self.shakes, self.replacement) = (shakes, replacement)
    }

    /// The refusals of a failed `settings-set` (Control CTL-60), in the order of their keys.
    package static func all(in checks: PropertyListDictionary) -> [PageRefusal] {
        checks.map { key, form in
            PageRefusal(
                key: key, text: form.dictionaryValue?["text"]?.stringValue ?? "",
                shakes: form.dictionaryValue?["shake"]?.booleanValue ?? false,
                replacement: form.dictionaryValue?["value"])
        }
    }

    package var dictionary: PropertyListDictionary {
        PropertyListDictionary(present: ["text": .string(text), "shake": shakes ? true : nil, "value": replacement])
    }
}

/// The app's own checks of an edit (PAG-26): refusals, or the values that it sets in the places of others.
package struct CheckedEdit: Sendable, Equatable {
    /// The values that the app has put in the places of others. The declared rules judge them again.
    package private(set) var replacements: PropertyListDictionary = [:]
    /// With one refusal nothing may be set.
    package private(set) var refusals: [PageRefusal] = []

    /// - Parameters:
    ///   - asked: the values of the question.
    ///   - answer: its answer. A value without a result is as it should be.
    ///   - secrets: the keys of which no value is shown.
    /// - Returns: nil for an answer of another form.
    package init?(_ asked: PropertyListDictionary, _ answer: PropertyListDictionary, secrets: Set<String>) {
        guard let results = answer["results"]?.dictionaryValue else { return nil }
        for (key, value) in asked {
            guard let form = results[key] else { continue }
            guard let result = form.dictionaryValue.flatMap({ PageValidation($0) }) else { return nil }
            switch result {
            case .ok: break
            case .replaced(let other):
                if other != value { replacements[key] = other }
            case .failed(let text, let other, let shakes):
                refusals.append(
                    PageRefusal(
                        key: key, text: text, shakes: shakes, replacement: secrets.contains(key) ? nil : other))
            }
        }
    }
}

extension SettingsSchema {
    /// Dates that a person has picked for properties of other types, which the app stores in a form of its own
    /// (PAG-32).
    package func pickedDates(
        in values: PropertyListDictionary, where isOpen: (String) -> Bool = { _ in true }
    ) -> PropertyListDictionary {
        values.compactMapValues { name, value in
            guard value.dateValue != nil, isOpen(name), let declaration = self[name] else { return nil }
            return declaration.value(stored: value) == nil ? value : nil
        }
    }
}

// MARK: - For renderers

/// The app behind a page, as far as its daemon could ask it.
package enum RunningState: Sendable, Equatable {
    /// It runs, and this is its answer.
    case running(RunningPage)
    /// It runs, and has not registered the question: an older library, or an app without properties.
    case withoutHooks
    case notRunning
    /// It runs, and has not answered in time.
    case noAnswer
    /// It was not asked, because of other questions that are under way.
    case busy
    /// It is the app of another device, whose daemon is not asked.
    case elsewhere
    /// The daemon does not know the question.
    case unknown

    /// Reads the answer to `settings-page` (Control CTL-59).
    package init(_ body: PropertyListDictionary) {
        switch body["state"]?.stringValue {
        case "running": self = RunningPage(body).map { .running($0) } ?? .noAnswer
        case "without-hooks": self = .withoutHooks
        case "stopped": self = .notRunning
        case "silent": self = .noAnswer
        default: self = .unknown
        }
    }

    /// Reads the name of the failure of a `settings-page`.
    package init(refusedAs name: String) {
        switch ControlFailureName(word: name) {
        case .notHere: self = .elsewhere
        case .full: self = .busy
        case .unreachable: self = .noAnswer
        default: self = .unknown
        }
    }

    /// As ``RunningPage/opened(by:secrets:)``.
    package func opened(by document: SchemaDocument, secrets: Set<String>) -> RunningState {
        guard case .running(let page) = self else { return self }
        return .running(page.opened(by: document, secrets: secrets))
    }

    package var body: PropertyListDictionary {
        switch self {
        case .running(let page): page.body.merging(["state": "running"])
        case .withoutHooks: ["state": "without-hooks"]
        case .notRunning: ["state": "stopped"]
        case .noAnswer: ["state": "silent"]
        case .busy, .elsewhere, .unknown: [:]
        }
    }

    /// Whether the app runs, and may answer the next question.
    package var mayAnswerLater: Bool { self == .noAnswer || self == .busy }

    /// A sentence for people about what the page lacks; nil if it lacks nothing.
    package var note: String? {
        switch self {
        case .running, .withoutHooks, .unknown: nil
        case .notRunning: "The app does not run: this page is without its buttons, its own values, checks and choices."
        case .noAnswer: "The app does not answer: this page is without its buttons, its own values, checks and choices."
        case .busy: "The app is at work: this page is without its buttons, its own values, checks and choices."
        case .elsewhere: "The app runs on another device: this page is without its buttons, its own values and choices."
        }
    }
}
