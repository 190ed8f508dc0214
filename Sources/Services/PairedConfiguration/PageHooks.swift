// Hooks of an app's settings pages while it runs: presses of buttons, checks of typed values, choices and hidden keys
// of the moment. InAppSettingsKit has them in its delegate. The daemon asks when a person is at a page, and waits for
// some seconds; a page of an app that does not run, or does not answer, is shown without them.

import PairedSession
import Synchronization
import TandemPages
import TandemPropertyList
public import TandemSettings

/// The parts of an app in its settings pages, by the keys of their entries (Protocol/Pages.md PAG-24 to PAG-28).
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
/// the app has done stays done.
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

    fileprivate var presses: [String: @Sendable () async -> Press] = [:]
    fileprivate var checks: [String: @Sendable (SettingValue) async -> Check] = [:]
    fileprivate var choices: [String: @Sendable () async -> [SettingChoice]] = [:]
    fileprivate var hidden: (@Sendable () async -> Set<String>)?

    /// No hooks: the daemon asks nothing.
    public init() {}

    /// Takes the presses of a button. InAppSettingsKit's `settingsViewController:buttonTappedForSpecifier:`.
    /// - Parameters:
    ///   - key: the `Key` of the button's entry; it need not be a property.
    ///   - action: called once for each press.
    public mutating func onPress(
        of key: String, access: SettingAccess = .user, _ action: @escaping @Sendable () async -> Press
    ) {
        presses[key] = action
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

    /// Offers choices of the moment in the place of the page's. The declaration still judges what is chosen, so the
    /// entry needs no `Values`, or all that can ever be offered. InAppSettingsKit's `valuesForSpecifier:` and
    /// `titlesForSpecifier:`.
    /// The keys of the buttons that the paired primary may press, too.
    private(set) var openButtons: Set<String> = []
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
    ///   - access: ``SettingAccess/counterpart`` opens the button to a person on the paired primary, as it opens a
    ///     property. Otherwise it is pressed on this device alone.

    /// The kinds of questions that the app registers.
    var questions: [String] {
        if access == .counterpart { openButtons.insert(key) } else { openButtons.remove(key) }
        var kinds: [PageQuestion.Kind] = []
        if !presses.isEmpty || !choices.isEmpty || hidden != nil { kinds.append(.page) }
        if !presses.isEmpty { kinds.append(.press) }
        if !checks.isEmpty { kinds.append(.validate) }
        return kinds.map(\.rawValue)
    }
}

/// Answers the daemon's questions by the hooks of an app; any thread.
final class PageHookRunner: Sendable {
    /// Hooks at work at once (LIM-129): those that never return must not pile up.
    private static let limit = 32

    private let hooks: PageHooks
    private let schema: SettingsSchema
    private let underWay = Mutex(0)

    init(_ hooks: PageHooks, _ schema: SettingsSchema) { (self.hooks, self.schema) = (hooks, schema) }

    /// Takes a question; false if the message is none. One that does not read is let go, which answers it.
    func take(_ message: ReceivedMessage) -> Bool {
        guard let body = message.dictionary, PageQuestion.isClaimed(by: body) else { return false }
        guard let question = PageQuestion(body) else { return true }
        let hasRoom = underWay.withLock { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
        guard hasRoom else {
            message.fail("\(Self.limit) hooks of the app's pages have not returned")
            return true
        }
        message.claim()
        // It ends with the app's hook; the limit above bounds how many do not.
        Task { [self] in
            let answer = await answer(question)
            underWay.withLock { $0 -= 1 }
            do throws(SessionError) { try message.reply(PageQuestion.reply(fitting: answer)) } catch {
                message.fail(error.reason)
            }
        }
        return true
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
            var page = RunningPage(buttons: Set(hooks.presses.keys))
            if let hidden = hooks.hidden { page.hidden = await hidden() }
            for (name, choices) in hooks.choices {
                guard let declaration = declaration(name) else { continue }
                page.choices[name] = await choices().compactMap { choice in
                    declaration.stored(choice.value).map { RunningPage.Choice(label: choice.label, value: $0) }
                }
            }
            return page
        }
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
            guard let check = hooks.checks[name], let declaration = declaration(name),
                let value = declaration.value(stored: stored)
            else { continue }
            let result: PageValidation =
                switch await check(value) {
                case .ok: .ok
                case .replaced(let other):
                    declaration.stored(other).map { .replaced($0) }
                        ?? .failed("The app's replacement is no value of the property.", replacement: nil)
                case .failed(let text, let other): .failed(text, replacement: other.flatMap { declaration.stored($0) })
                case .failedWithShake(let text, let other):
                    .failedWithShake(text, replacement: other.flatMap { declaration.stored($0) })
                }
            results[name] = .dictionary(result.dictionary)
        }
        return results
    }

    private func declaration(_ name: String) -> SettingDeclaration? {
        schema.place(of: name).map { schema.declarations[$0] }
    }
}
