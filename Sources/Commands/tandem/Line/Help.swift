// Help pages, rendered from the tables that the parser uses, so that help lists every option.

enum Help {
    /// The page of `tandem --help`.
    static var overview: String {
        let width = Subcommand.all.map(\.name.count).max() ?? 0
        let groups = Subcommand.groups.map { title, members in
            "\(title):\n" + members.map { "  \(padded($0.name, to: width))  \($0.summary)\n" }.joined()
        }
        return """
            tandem: pairs devices, carries messages between their apps, and signed configuration to them.

            usage: tandem COMMAND [OPTIONS] [--] [OPERANDS]

            \(groups.joined(separator: "\n"))
            tandem COMMAND --help explains a command; tandem --version shows the version.
            Exit codes: 0 done, 1 refused, failed or answered by no (the reason is on standard error), 2 wrong call, 3
            no daemon answers or its socket is closed to this user. For 'health' and 'ready' 1 means only the answer no.
            Environment: TANDEM_SOCKET (daemon of client commands), NO_COLOR (no colours).

            """
    }

    /// The page of `tandem COMMAND --help`.
    static func page(of subcommand: Subcommand) -> String {
        let options = subcommand.namedOptions + [.help]
        let operands = subcommand.operands.map(\.usage).joined(separator: " ")
        let required = subcommand.options.filter(\.isRequired).map { " " + $0.usage }.joined()
        let width = options.map(\.usage.count).max() ?? 0
        var text = "\(subcommand.summary)\n\nusage: tandem \(subcommand.name)\(required) [OPTIONS]"
        text += (operands.isEmpty ? "" : " " + operands) + "\n\noptions:\n"
        for option in options { text += "  \(padded(option.usage, to: width))  \(line(of: option))\n" }
        if options.contains(where: { $0.usage.hasSuffix(" TIME") }) {
            text += "\nTIME is a number with its unit: 500ms, 30s, 15m, 24h or 7d.\n"
        }
        if !subcommand.notes.isEmpty { text += "\n\(subcommand.notes)\n" }
        let examples = subcommand.examples.map { "  tandem \($0)\n" }.joined()
        return text + "\nexample\(subcommand.examples.count == 1 ? "" : "s"):\n\(examples)"
    }

    /// The pages of a family such as `keys`; nil if no subcommand begins so.
    static func family(_ first: String) -> String? {
        let members = Subcommand.all.filter { $0.path.first == first }
        return members.isEmpty ? nil : members.map(page).joined(separator: "\n")
    }

    private static func line(of option: Option) -> String {
        option.summary + (option.isRequired ? " (required)" : "") + (option.isDuplicate ? " (may be repeated)" : "")
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
