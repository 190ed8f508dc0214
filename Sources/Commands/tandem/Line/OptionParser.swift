// Arguments to values: long options as `--name value` or `--name=value`, switches, operands in between, and `--` after
// which everything is an operand. There are no abbreviations and no bundled letters: a script that works today must not
// change its meaning when an option is added tomorrow.

/// Parses the arguments of one subcommand.
struct OptionParser {
    let subcommand: Subcommand

    /// The parsed arguments, with every required option and operand present.
    func parse(_ arguments: [String]) throws(CommandFailure) -> Arguments {
        var parsed = Arguments()
        // Before anything else, because every other message would repeat the secret.
        if arguments.contains(where: { $0.contains("tandem:join/") }) {
            throw .usage(
                "a join link is a secret and never an argument; give it on standard input or in a private file")
        }
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                for operand in rest { parsed.add(operand: operand) }
                rest = []
            } else if argument.hasPrefix("--") {
                try take(option: argument.dropFirst(2), from: &rest, into: &parsed)
            } else if argument.hasPrefix("-"), argument != "-" {
                throw .usage("unknown option '\(argument)'; an operand with a leading dash goes after --")
            } else {
                parsed.add(operand: argument)
            }
        }
        try check(parsed)
        return parsed
    }

    /// Whether the arguments ask for help, wherever else they may be wrong.
    static func asksForHelp(_ arguments: some Sequence<String>) -> Bool {
        arguments.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
    }

    private func take(option text: Substring, from rest: inout ArraySlice<String>, into parsed: inout Arguments)
        throws(CommandFailure)
    {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = parts.first ?? ""
        guard let option = subcommand.options.first(where: { $0.name == name }) else {
            throw .usage("unknown option '--\(name)'")
        }
        if parsed.has(name), !option.isRepeated { throw .usage("--\(name) is given twice") }
        let inline = parts.count == 2 ? parts.last : nil
        parsed.add(try value(of: option, inline: inline, from: &rest), to: name)
    }

    private func value(of option: Option, inline: String?, from rest: inout ArraySlice<String>)
        throws(CommandFailure) -> String
    {
        guard option.value != nil else {
            if inline != nil { throw .usage("--\(option.name) takes no value") }
            return ""
        }
        if let inline { return inline }
        guard let next = rest.first, !next.hasPrefix("--") else {
            throw .usage("\(option.usage): the value is missing")
        }
        rest.removeFirst()
        return next
    }

    private func check(_ parsed: Arguments) throws(CommandFailure) {
        for option in subcommand.options where option.isRequired && !parsed.has(option.name) {
            throw .usage("\(option.usage) is missing")
        }
        let needed = subcommand.operands.filter(\.isRequired)
        if parsed.operands.count < needed.count { throw .usage("\(needed[parsed.operands.count].name) is missing") }
        if parsed.operands.count > subcommand.operands.count {
            throw .usage("'\(parsed.operands[subcommand.operands.count])' is one argument too many")
        }
    }
}
