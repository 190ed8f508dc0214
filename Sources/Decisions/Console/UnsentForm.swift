// Form that nobody has judged, because the daemon did not answer for its page: the answer has what was typed in hidden
// fields and sends it again. Secrets stay out of every page (CON-13).

/// A form of settings that can be sent again.
struct UnsentForm {
    let input: SettingsInput
    let route: ConsoleRoute
    let cookie: String

    var markup: [Markup] {
        let (fields, hasSecrets) = input.unsent
        let lost = hasSecrets ? " Secrets are not kept: type them again afterwards." : ""
        return [
            .tag("p", text: "Nothing was changed. 'Try again' sends what you typed.\(lost)"),
            .tag(
                "form", .init("method", "post"), .link("action", route), .init("id", "unsent"),
                of: [FormToken.hidden(for: route, cookie: cookie)]
                    + fields.sorted { $0.key < $1.key }.map { Markup.hidden($0.key, $0.value) }
                    + [.tag("button", .init("type", "submit"), text: "Try again")]),
        ]
    }
}
