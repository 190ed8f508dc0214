// What a subcommand accepts, as data: the parser, the help and the checks all read the same table.

/// One long option.
struct Option: Sendable {
    /// The name without its dashes.
    let name: String
    /// The value's name in help; nil for a switch, which takes no value.
    let value: String?
    let summary: String
    var isRequired = false
    /// Whether it may be given more than once.
    var isRepeated = false

    static func valued(_ name: String, _ value: String, _ summary: String) -> Option {
        Option(name: name, value: value, summary: summary)
    }

    static func flag(_ name: String, _ summary: String) -> Option {
        Option(name: name, value: nil, summary: summary)
    }

    var required: Option { Option(name: name, value: value, summary: summary, isRequired: true) }
    var repeated: Option { Option(name: name, value: value, summary: summary, isRepeated: true) }

    /// `--name VALUE`, as help and errors show it.
    var usage: String { "--" + name + (value.map { " " + $0 } ?? "") }
}

/// An argument that is not an option.
struct Operand: Sendable {
    let name: String
    let isRequired: Bool

    static func required(_ name: String) -> Operand { Operand(name: name, isRequired: true) }
    static func optional(_ name: String) -> Operand { Operand(name: name, isRequired: false) }

    var usage: String { isRequired ? name : "[\(name)]" }
}

extension Option {
    /// The options that several subcommands share, so that they mean the same everywhere.
    static let json = Option.flag("json", "print JSON, for programs")
    static let device = Option.valued(
        "device", "primary|secondary|PATH", "which running daemon to ask (default: the only one)")
    static let application = Option.valued("app", "APP", "application identifier")
    static let help = Option.flag("help", "show this help")
}
