// Form that nobody has judged, because the daemon did not answer for its page: the answer has what was typed in hidden
// fields and sends it again. Secrets stay out of every page (CON-13), and what HTML would change is named (CON-12).

/// A form of settings that can be sent again.
struct UnsentForm {
    let input: SettingsInput
    let route: ConsoleRoute
    let cookie: String

    var markup: [Markup] {
        let unsent = input.unsent
        if unsent.isTooLong {
            let text = "Nothing was changed. The form is too long for this page: go back to it in the browser."
            return [.tag("p", text: text)]
        }
        let changed = unsent.changed.joined(separator: ", ")
        let text = "Fields with control characters are not kept: \(changed). Type them again afterwards."
        let note = changed.isEmpty ? Markup([]) : Markup.tag("p", foreign: text)
        let lost = unsent.hasSecrets ? " Secrets are not kept: type them again afterwards." : ""
        let isWhole = changed.isEmpty && !unsent.hasSecrets
        let sent = isWhole ? "what you typed" : "the fields that this page could keep"
        return [
            .tag("p", text: "Nothing was changed. 'Try again' sends \(sent).\(lost)"),
            .form(
                to: route, cookie: cookie, .init("id", "unsent"),
                of: [note] + unsent.fields.sorted { $0.key < $1.key }.map { Markup.hidden($0.key, $0.value) }
                    + [.tag("button", .init("type", "submit"), text: "Try again")]),
        ]
    }
}
