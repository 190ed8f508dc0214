// Options and operands of a subcommand as data, and the parser over them; help reads the same table.

import TandemControl

struct Option: Sendable {
    /// The name without its dashes.
    let name: String
    /// The value's name in help; nil for a switch, which takes no value.
    let value: String?
    let summary: String
    private(set) var isRequired = false
    /// Whether it may be given more than once.
    private(set) var isDuplicate = false
    /// Whether a switch can be taken back by `--no-NAME`.
    private(set) var isNegatable = false

    /// The value of a switch that is taken back.
    static let negation = "no"

    static func valued(_ name: String, _ value: String, _ summary: String) -> Option {
        Option(name: name, value: value, summary: summary)
    }

    static func flag(_ name: String, _ summary: String) -> Option {
        Option(name: name, value: nil, summary: summary)
    }

    var required: Option { with(\.isRequired) }
    var repeated: Option { with(\.isDuplicate) }
    var negatable: Option { with(\.isNegatable) }

    private func with(_ trait: WritableKeyPath<Option, Bool>) -> Option {
        var option = self
        option[keyPath: trait] = true
        return option
    }

    func isNegated(by name: String) -> Bool { isNegatable && name == "no-" + self.name }

    /// `--name VALUE`, as help and errors show it.
    var usage: String { (isNegatable ? "--[no-]" : "--") + name + (value.map { " " + $0 } ?? "") }
}

/// An argument that is not an option.
struct Operand: Sendable {
    let name: String
    let isRequired: Bool
    /// Whether it stands for any number of arguments; the last operand only.
    private(set) var isDuplicate = false
    /// The option that may name it instead.
    private(set) var option: Option?

    static func required(_ name: String) -> Operand { Operand(name: name, isRequired: true) }
    static func optional(_ name: String) -> Operand { Operand(name: name, isRequired: false) }
    static func several(_ name: String) -> Operand { Operand(name: name, isRequired: false, isDuplicate: true) }

    /// The app that a command is about; `--app` names it to every command.
    static let application = Operand(
        name: "APP", isRequired: true, option: .valued("app", "APP", "the same as the operand APP"))

    var usage: String { isRequired ? name : isDuplicate ? "[\(name)...]" : "[\(name)]" }
}

extension Option {
    /// The options that several subcommands share, so that they mean the same everywhere.
    static let json = Option.flag("json", "print JSON, for programs")
    static let device = Option.valued(
        "device", "primary|secondary|PATH", "which running daemon to ask (default: the only one)")
    static let application = Option.valued("app", "APP", "application identifier")
    /// The side of a pairing whose app a configuration or a key is for.
    static let side = Option.valued("role", "primary|secondary", "for which side's app")
    /// The other device's side of a pairing.
    static let peerRole = Option.valued("role", "primary|secondary", "the other device's part in the pairing")
    static let out = Option.valued("out", "FILE", "where to write; an existing file is never overwritten")
    /// Agrees to what a command ends (CTL-29).
    static let yes = Option.flag("yes", "do it without asking")
    static let help = Option.flag("help", "show this help")
}

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
        for (index, operand) in subcommand.operands.enumerated() {
            guard let name = operand.option?.name, let value = parsed.value(name) else { continue }
            if parsed.operands.count >= subcommand.operands.count {
                throw .usage("\(operand.name) and --\(name) are the same; give one of them")
            }
            parsed.insert(operand: value, at: index)
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
        let known = subcommand.namedOptions
        guard let option = known.first(where: { $0.name == name || $0.isNegated(by: name) }) else {
            let names = (known + [.help]).map { "--" + $0.name }
            let question = NearestWord.suffix("--" + name, among: names)
            throw .usage("unknown option '--\(name)'\(question)")
        }
        if parsed.has(option.name), !option.isDuplicate { throw .usage("--\(name) is given twice") }
        let inline = parts.count == 2 ? parts.last : nil
        let value = try value(of: option, inline: inline, from: &rest)
        parsed.add(option.isNegated(by: name) ? Option.negation : value, to: option.name)
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
        let isOpen = subcommand.operands.last?.isDuplicate ?? false
        if parsed.operands.count > subcommand.operands.count, !isOpen {
            throw .usage("'\(parsed.operands[subcommand.operands.count])' is one argument too many")
        }
    }
}
