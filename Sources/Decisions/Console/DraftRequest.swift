// Request for the draft of an item: its page, and the form with Done that comes back.

import TandemOperations
import TandemPages
import TandemPropertyList

/// One item of one list, for one browser.
struct DraftRequest {
    let instance: AppInstance
    let list: String
    /// The index of the item; nil for a new one.
    let item: Int?
    let languages: [String]
    let cookie: String

    private var route: ConsoleRoute { .item(instance, list: list, index: item) }

    /// The page of the draft as it begins.
    func show(_ replies: [ConsoleReply]) -> ConsoleStep {
        read(replies) { settings, list in
            guard let draft = list.draft(at: item) else { return gone(404, list) }
            return page(settings, list, draft, item)
        }
    }

    /// Done: the list with the item is stored, or the page says why not.
    /// - Parameter again: judges the form once more; nil the second time.
    func done(_ replies: [ConsoleReply], _ form: SettingsInput, _ again: (() -> ConsoleStep)?) -> ConsoleStep {
        read(replies, UnsentForm(input: form, route: route, cookie: cookie)) { settings, list in
            let (values, shown, further, digest) = form.draft
            // Somebody may have moved, changed or deleted the item since the page was made.
            var index: Int?
            if let item {
                index = ItemDigest.find(digest ?? "", near: item, in: list, cookie: cookie)
                if index == nil { return lost(settings, list, values, further) }
            }
            guard let first = list.draft(at: index) else { return gone(409, list) }
            var draft = first
            let view = settings.view(first, languages)
            var input = draft.take(values, shown: shown, of: view, further: further)
            guard item != nil || digest == ItemDigest.make(.array(list.items), of: list, cookie: cookie) else {
                return page(settings, list, first, nil, refused: input, FormRefusal(409, Self.changed))
            }
            guard input.errors.isEmpty, let items = list.done(draft) else {
                input.add(draft.errors)
                let text = input.errors.isEmpty ? EditableList.noItem : nil
                return page(settings, list, first, index, refused: input, FormRefusal(422, text))
            }
            return Console.store(items, in: list, of: settings, cookie, again) { [draft, input] refusal in
                var (input, further) = (input, String?.none)
                if let check = refusal.checks.first(where: { $0.key == list.key }) {
                    let typed = view.rows.filter { input.typed[$0.index] != nil }.compactMap(\.key)
                    let corrected = draft.corrected(by: check, of: items, typed: Set(typed))
                    input.refuse(corrected.fields, in: settings.view(corrected.draft, languages))
                    let isSaid = !input.errors.isEmpty
                    further = corrected.further.map { isSaid ? $0 : "\(check.text) \($0)" }
                }
                let shown = input.errors.isEmpty && further == nil ? refusal : FormRefusal(422, further)
                return page(settings, list, first, index, refused: input, shown)
            }
        }
    }

    private func read(
        _ replies: [ConsoleReply], _ unsent: UnsentForm? = nil,
        _ next: (AppSettings, EditableList) -> ConsoleStep
    ) -> ConsoleStep {
        do throws(ControlError) {
            let settings = try AppSettings(instance, replies)
            return settings.list(list, languages).map { next(settings, $0) } ?? gone(404)
        } catch { return .answer(Console.failure(error, cookie, unsent)) }
    }

    /// The form of a new item may have been sent twice.
    private static let changed =
        "The list was changed meanwhile, perhaps by this form: look at it first. Done adds the item now."

    /// The draft of an item that was changed or is gone. The typed texts begin a new item where the list takes one: at
    /// the old place they could replace what nobody has seen.
    private func lost(
        _ settings: AppSettings, _ list: EditableList, _ values: [String: String], _ further: [PageInput.Further]
    ) -> ConsoleStep {
        guard let first = list.draft(at: nil) else { return gone(409, list) }
        var draft = first
        let input = draft.take(values, of: settings.view(first, languages), further: further)
        return page(settings, list, first, nil, refused: input, FormRefusal(409, Self.lost))
    }

    private static let lost =
        "The item was changed or deleted meanwhile. Done adds what you typed as a new item; Cancel leads to the list."

    private func gone(_ status: Int, _ list: EditableList? = nil) -> ConsoleStep {
        let text = "The list has no such item that can be edited, or it was changed meanwhile. Nothing was changed."
        let way = Markup.tag(
            "p",
            of: [
                .tag(
                    "a", .link("href", instance.route(list?.page.name ?? PageTree.root), fragment: list?.row.id),
                    text: list == nil ? "To the app's first page" : "To the list")
            ])
        return .answer(Console.failure(status, "No such item", text, cookie, [way]))
    }

    private func page(
        _ settings: AppSettings, _ list: EditableList, _ draft: ListDraft, _ item: Int?, refused: PageInput? = nil,
        _ refusal: FormRefusal? = nil
    ) -> ConsoleStep {
        let view = settings.view(draft, languages, errors: refused?.texts ?? [:])
        let page = ItemPage(
            list: list, view: view, instance: instance, name: settings.name(languages),
            languages: settings.languages(of: view.name, languages),
            listLanguages: settings.languages(of: list.page.name, languages),
            titles: settings.titleLanguages(languages), index: item,
            digest: ItemDigest.make(item.map { list.items[$0] } ?? .array(list.items), of: list, cookie: cookie),
            cookie: cookie, refused: refused, refusal: refusal)
        return .answer(page.answer)
    }
}
