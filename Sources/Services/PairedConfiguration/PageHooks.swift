// Hooks of an app's settings pages while it runs: presses of buttons, checks of typed values, choices, hidden keys and
// mails of the moment. InAppSettingsKit has them in its delegate. The daemon asks when a person is at a page, and waits
// for some seconds; a page of an app that does not run, or does not answer, is shown without them.

import PairedSession
import Synchronization
import TandemPages
import TandemPropertyList
public import TandemSettings

/// The parts of an app in its settings pages, by the keys of their entries (Protocol/Pages.md PAG-24 to PAG-28 and
/// PAG-33).
///
///     override var pageHooks: PageHooks {
///         var hooks = PageHooks()
///         hooks.onPress(of: "test") { Siren.sound() ? .done("It sounds.") : .refused("There is no siren.") }
///         hooks.check("colour") { $0.text == "#000000" ? .failed("Black is no light.") : .ok }
///         return hooks
///     }
///
/// Closures run in tasks of their own, on any thread, several at once; one that needs the main actor goes there itself.
/// The answer to a page is awaited for one second, and every other for five: what comes later is dropped, though what
/// the app has done stays done. Of questions whose closures have not returned an app has 32, and of those about a page
/// 8; further ones fail.
public struct PageHooks: Sendable {
    /// The outcome of a press.
    public enum Press: Sendable, Equatable {
        /// The app has done it; the text is shown to the person.
        case done(String? = nil)
        /// The app does not do it now; the text says why.
        case refused(String)
    }

    /// The outcome of a check. InAppSettingsKit's `IASKValidationResult`.
    public enum Check: Sendable, Equatable {
        /// The value is stored.
        case ok
        /// This value is stored in its place, if the property takes it. `IASKValidationResultOkWithReplacement`.
        case replaced(SettingValue)
        /// Nothing of the whole page is stored. The text stands beside the field, and the replacement in it.
        case failed(String, replacement: SettingValue? = nil)
        /// As ``failed(_:replacement:)``, and the field shakes where that can be shown.
        case failedWithShake(String, replacement: SettingValue? = nil)
    }

    /// The parts of a mail that a page offers to write.
    public struct Mail: Sendable, Equatable {
        /// Addresses.
        public var to: [String]
        /// Addresses of those who get a copy.
        public var cc: [String]
        /// Addresses of those whom the others do not see.
        public var bcc: [String]
        /// Translated as the texts of the page are, if its translations have it.
        public var subject: String
        /// Likewise. Plain text.
        public var body: String

        /// Makes a mail of its parts.
        public init(
            to: [String] = [], cc: [String] = [], bcc: [String] = [], subject: String = "", body: String = ""
        ) {
            (self.to, self.cc, self.bcc) = (to, cc, bcc)
            (self.subject, self.body) = (subject, body)
        }
    }

    /// The app's decision about a mail.
    public enum MailDecision: Sendable, Equatable {
        /// The page offers the mail with these parts.
        case compose(Mail)
        /// The page offers no mail; the text says why.
        case refused(String)
    }

    /// The person who presses or edits.
    public enum Person: Sendable, Equatable {
        /// A user of this device, by the uid.
        case user(UInt32)
        /// A person on a paired primary, by that device's name. A name proves nothing, and two devices may have one.
        case primary(String)
    }

    /// The person on whose behalf a closure of a press, a check or a picked date runs: within it, and nowhere else. nil
    /// also if the daemon is an older one, which names nobody.
    ///
    ///     hooks.onPress(of: "erase", access: .counterpart) {
    ///         guard case .user = PageHooks.person else { return .refused("Only on this device.") }
    ///         return .done("Erased.")
    ///     }
    public static var person: Person? { current }

    @TaskLocal fileprivate static var current: Person?
    fileprivate var presses: [String: @Sendable () async -> Press] = [:]
    /// The keys of the buttons that the paired primary may press, too.
    private(set) var openButtons: Set<String> = []
    fileprivate var checks: [String: @Sendable (SettingValue) async -> Check] = [:]
    fileprivate var choices: [String: @Sendable () async -> [SettingChoice]] = [:]
    fileprivate var hidden: (@Sendable () async -> Set<String>)?
    fileprivate var mails: [String: @Sendable (Mail) async -> MailDecision] = [:]
    fileprivate var dates: [String: DateHooks] = [:]

    fileprivate struct DateHooks {
        let make: (@Sendable (SettingValue) async -> PropertyListDate?)?
        let store: (@Sendable (PropertyListDate) async -> SettingValue?)?
        let show: (@Sendable (PropertyListDate) async -> String)?
    }

    /// No hooks: the daemon asks nothing.
    public init() {}

    /// Takes the presses of a button. InAppSettingsKit's `settingsViewController:buttonTappedForSpecifier:`.
    /// - Parameters:
    ///   - key: the `Key` of the button's entry; it need not be a property.
    ///   - access: ``SettingAccess/counterpart`` opens the button to a person on the paired primary, as it opens a
    ///     property. Otherwise it is pressed on this device alone.
    ///   - action: called once for each press.
    public mutating func onPress(
        of key: String, access: SettingAccess = .user, _ action: @escaping @Sendable () async -> Press
    ) {
        presses[key] = action
        if access == .counterpart { openButtons.insert(key) } else { openButtons.remove(key) }
    }

    /// Checks what a person wants to set, on this device or on the paired primary, after the rules of the declaration,
    /// which count in any case, and for replacements, too. Of a list it gets all items. InAppSettingsKit's
    /// `settingsViewController:validateSpecifier:`, and for a list `childPaneIsValidForSpecifier:`.
    /// - Parameters:
    ///   - name: the name of the property.
    ///   - check: called for each edit with a value of it; an edit to nil is not checked.
    public mutating func check(_ name: String, _ check: @escaping @Sendable (SettingValue) async -> Check) {
        checks[name] = check
    }

    /// Offers choices of the moment in the place of the page's, with these labels and in this order. The declaration
    /// still judges what is chosen, so the entry needs no `Values`, or all that can ever be offered. InAppSettingsKit's
    /// `valuesForSpecifier:` and `titlesForSpecifier:`.
    /// - Parameters:
    ///   - name: the name of the property.
    ///   - choices: called for each page that is made, whichever it is.
    public mutating func choices(of name: String, _ choices: @escaping @Sendable () async -> [SettingChoice]) {
        self.choices[name] = choices
    }

    /// Hides rows and sections by their keys, from the first display on. InAppSettingsKit's `hiddenKeys`. Where
    /// values alone decide, `TandemVisibleWhen` in the page says it also while the app does not run.
    /// - Parameter keys: called for each page that is made.
    public mutating func hiddenKeys(_ keys: @escaping @Sendable () async -> Set<String>) { hidden = keys }

    /// Changes the parts of a mail, or refuses it. A page in a browser has a link with the parts of the moment at which
    /// it was made. The paired primary does not see the entry. InAppSettingsKit's
    /// `settingsViewController:shouldPresentMailComposeViewController:forSpecifier:`.
    /// - Parameters:
    ///   - key: the `Key` of an `IASKMailComposeSpecifier`; it need not be a property.
    ///   - decide: called for each page that is made, whichever it is, with the parts that the entry has.
    public mutating func mail(of key: String, _ decide: @escaping @Sendable (Mail) async -> MailDecision) {
        mails[key] = decide
    }

    /// Shows a property in a date picker, whatever it stores: an `IASKDatePickerSpecifier` with its name edits it then.
    /// A property that stores dates needs none of this, and only `shown` counts for it. Hooks are not known when the
    /// app starts: a picker of a type that only the app reads, such as Foundation's `Date`, is reported then as one of
    /// another type, although it works. InAppSettingsKit's
    /// `settingsViewController:dateForSpecifier:`, `setDate:forSpecifier:` and `datePickerTitleForSpecifier:`.
    ///
    ///     hooks.date(of: "wake", from: { Clock.date(of: $0) }, to: { .integer(Clock.minutes(of: $0)) })
    ///
    /// - Parameters:
    ///   - name: the name of the property, which is no secret.
    ///   - make: the date of the value in force, called for each page that is made; nil for a value without one.
    ///   - store: the value that stands for a date that a person has picked; nil for a date that has none. The
    ///     declaration and the app's check judge it. Without both of them the entry is not supported.
    ///   - show: the text of the date for people.
    public mutating func date(
        of name: String, from make: (@Sendable (SettingValue) async -> PropertyListDate?)? = nil,
        to store: (@Sendable (PropertyListDate) async -> SettingValue?)? = nil,
        shown show: (@Sendable (PropertyListDate) async -> String)? = nil
    ) {
        dates[name] = DateHooks(make: make, store: store, show: show)
    }

    /// The kinds of questions that an app with these properties registers.
    fileprivate func questions(about schema: SettingsSchema) -> [String] {
        var kinds: [PageQuestion.Kind] = []
        // Of a property only the app knows what its own code, files and environment have set.
        let hasPage =
            !schema.declarations.isEmpty || hidden != nil || !presses.isEmpty || !choices.isEmpty || !mails.isEmpty
            || !dates.isEmpty
        if hasPage { kinds.append(.page) }
        if !presses.isEmpty { kinds.append(.press) }
        if !checks.isEmpty || dates.values.contains(where: { $0.store != nil }) { kinds.append(.validate) }
        return kinds.map(\.rawValue)
    }
}

/// Answers the daemon's questions by the hooks of an app; any thread.
final class PageHookRunner: Sendable {
    /// Hooks at work (LIM-129): those that never return must not pile up. Those of pages have a share alone: every look
    /// at a page runs some, and presses and checks must find a place beside them.
    private struct Places {
        private static let (limit, pageLimit) = (32, 8)

        private var (all, ofPages) = (0, 0)

        /// Takes a place.
        /// - Returns: nil, or the limit that leaves none.
        mutating func take(_ kind: PageQuestion.Kind) -> Int? {
            guard all < Self.limit else { return Self.limit }
            guard kind != .page || ofPages < Self.pageLimit else { return Self.pageLimit }
            count(kind, 1)
            return nil
        }

        mutating func leave(_ kind: PageQuestion.Kind) { count(kind, -1) }

        private mutating func count(_ kind: PageQuestion.Kind, _ change: Int) {
            all += change
            if kind == .page { ofPages += change }
        }
    }

    private let hooks: PageHooks
    private let store: SettingsStore
    private let schema: SettingsSchema
    /// The mails of the app's pages, by the keys of their entries.
    private let mails: [String: PageHooks.Mail]
    /// Keys whose values no page shows, and the lists whose items have such keys.
    private let secrets: (keys: Set<String>, lists: Set<String>)
    private let places = Mutex(Places())

    init(_ hooks: PageHooks, _ store: SettingsStore, _ tree: PageTree) {
        (self.hooks, self.store, schema) = (hooks, store, store.schema)
        let entries = tree.pages.flatMap(\.specifiers)
        let mails = entries.filter { $0.kind == .mailCompose }
        self.mails = Dictionary(mails.compactMap { mail in mail.key.map { ($0, PageHooks.Mail(mail)) } }) { first, _ in
            first
        }
        let lists = Set(ListSecrets.all(in: tree).keys)
        secrets = (Set(entries.filter(\.isSecure).compactMap(\.key)).subtracting(lists), lists)
    }

    /// The kinds of questions that the app registers.
    var questions: [String] { hooks.questions(about: schema) }

    /// Takes a question; false if the message is none. One that does not read is let go, which answers it.
    func take(_ message: ReceivedMessage) -> Bool {
        guard let body = message.dictionary, PageQuestion.isClaimed(by: body) else { return false }
        guard let question = PageQuestion(body) else { return true }
        if let limit = places.withLock({ $0.take(question.kind) }) {
            message.fail("\(limit) hooks of the app's pages have not returned")
            return true
        }
        message.claim()
        let person = PagePerson(body).map { PageHooks.Person($0) }
        // It ends with the app's hook; the limit above bounds how many do not.
        Task { [self] in
            let answer = await answer(question, for: person)
            places.withLock { $0.leave(question.kind) }
            do throws(SessionError) { try message.reply(PageQuestion.reply(fitting: answer)) } catch {
                message.fail(error.reason)
            }
        }
        return true
    }

    private func answer(_ question: PageQuestion, for person: PageHooks.Person?) async -> PropertyListDictionary {
        await PageHooks.$current.withValue(person) { await answer(question) }
    }

    private func answer(_ question: PageQuestion) async -> PropertyListDictionary {
        switch question {
        case .page: await page.body
        case .press(let key): await press(key).body
        case .validate(let values): ["results": .dictionary(await results(of: values))]
        }
    }

    private var page: RunningPage {
        get async {
            let hidden = await hooks.hidden?() ?? []
            var choices: [String: [RunningPage.Choice]] = [:]
            for (name, hook) in hooks.choices {
                guard let declaration = schema[name] else { continue }
                choices[name] = await hook().compactMap { choice in
                    declaration.stored(choice.value).map { RunningPage.Choice(label: choice.label, value: $0) }
                }
            }
            var decisions: [String: RunningPage.MailDecision] = [:]
            for (key, decide) in hooks.mails {
                guard let mail = mails[key] else { continue }
                decisions[key] =
                    switch await decide(mail) {
                    case .compose(let mail): .compose(mail.ofPage)
                    case .refused(let reason): .refused(reason)
                    }
            }
            var dates: [String: RunningPage.PickedDate] = [:]
            for (name, hook) in hooks.dates { dates[name] = await picked(name, hook) }
            var values: [String: RunningPage.OwnValue] = [:]
            for (declaration, value, layer) in store.inForce where !declaration.isSecret {
                let name = declaration.name
                guard let word = RunningPage.OwnValue.Layer(layer), !secrets.keys.contains(name) else { continue }
                values[name] = RunningPage.OwnValue(
                    word, declaration.stored(value), isWithheld: secrets.lists.contains(name))
            }
            return RunningPage(
                hidden: hidden, choices: choices, buttons: Set(hooks.presses.keys), mails: decisions, dates: dates,
                values: values)
        }
    }

    private func picked(_ name: String, _ hook: PageHooks.DateHooks) async -> RunningPage.PickedDate? {
        guard let declaration = schema[name], !declaration.isSecret, let value = store.snapshot[name] else {
            return nil
        }
        let date: PropertyListDate?
        if declaration.type == .date {
            date = if case .date(let date) = value { date } else { nil }
        } else {
            guard let make = hook.make, hook.store != nil else { return nil }
            date = await make(value)
        }
        guard let date, let show = hook.show else { return RunningPage.PickedDate(date: date) }
        return RunningPage.PickedDate(date: date, shown: await show(date))
    }

    private func press(_ key: String) async -> PressAnswer {
        guard let action = hooks.presses[key] else { return .refused("The app has no such button.") }
        switch await action() {
        case .done(let text): return .done(text)
        case .refused(let text): return .refused(text)
        }
    }

    /// Of a value that the app does not check, and of one that its property cannot read, there is no result.
    private func results(of values: PropertyListDictionary) async -> PropertyListDictionary {
        var results: PropertyListDictionary = [:]
        for (name, stored) in values {
            guard let declaration = schema[name] else { continue }
            if let value = declaration.value(stored: stored) {
                results[name] = await checked(value, declaration).map { .dictionary($0.dictionary) }
            } else if let date = stored.dateValue, let store = hooks.dates[name]?.store {
                let value = await store(date)
                results[name] = .dictionary(await taken(value, declaration).dictionary)
            }
        }
        return results
    }

    /// The result of the app's check; nil without one.
    private func checked(_ value: SettingValue, _ declaration: SettingDeclaration) async -> PageValidation? {
        guard let check = hooks.checks[declaration.name] else { return nil }
        switch await check(value) {
        case .ok: return .ok
        case .replaced(let other):
            return declaration.stored(other).map { .replaced($0) }
                ?? .failed("The app's replacement is no value of the property.", replacement: nil)
        case .failed(let text, let other):
            return .failed(text, replacement: other.flatMap { declaration.stored($0) })
        case .failedWithShake(let text, let other):
            return .failed(text, replacement: other.flatMap { declaration.stored($0) }, shakes: true)
        }
    }

    /// The value that the app has made of a picked date, if its check takes that.
    private func taken(_ value: SettingValue?, _ declaration: SettingDeclaration) async -> PageValidation {
        guard let value, let stored = declaration.stored(value) else {
            return .failed("The app has no value for this date.", replacement: nil)
        }
        switch await checked(value, declaration) {
        case nil, .ok: return .replaced(stored)
        case let other?: return other
        }
    }
}

extension PageHooks.Person {
    fileprivate init(_ person: PagePerson) {
        switch person {
        case .user(let uid): self = .user(uid)
        case .primary(let name): self = .primary(name)
        }
    }
}

extension RunningPage.OwnValue.Layer {
    /// nil for a layer that the daemon knows itself.
    fileprivate init?(_ layer: SettingLayer) {
        switch layer {
        case .storedPreference: self = .preference
        case .commandLine: self = .commandLine
        case .environment: self = .environment
        case .file: self = .file
        case .signedOverride, .userEdit, .declaredDefault: return nil
        }
    }
}

extension PageHooks.Mail {
    /// The parts that an entry has.
    fileprivate init(_ specifier: Specifier) {
        let mail = PageView.Mail(specifier)
        self.init(to: mail.to, cc: mail.copy, bcc: mail.blindCopy, subject: mail.subject, body: mail.body)
    }

    fileprivate var ofPage: PageView.Mail {
        PageView.Mail(to: to, copy: cc, blindCopy: bcc, subject: subject, body: body)
    }
}
