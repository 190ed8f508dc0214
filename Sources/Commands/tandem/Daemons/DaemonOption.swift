// Options of the daemons: the one declaration of each, from which come the parser and the help of the command line, the
// variables, the keys of the file, their validation, and the table in Protocol/Control.md.

import TandemBase
import TandemSettings
import TandemTransport

/// An option of `tandem primary` and `tandem secondary` (CTL-50).
struct DaemonOption: Sendable {
    /// The form of the option's texts, beyond their type.
    enum Form: Sendable {
        /// The type says all.
        case plain
        /// So many bytes without NUL.
        case text(bytes: ClosedRange<Int>)
        case socketPath
        case address
    }

    let setting: SettingDeclaration
    /// The value's name in help; nil for a switch.
    let placeholder: String?
    /// The default, in words.
    let usual: String
    let form: Form

    private init(
        _ name: String, _ type: SettingType, _ placeholder: String?, _ summary: String, usual: String = "none",
        form: Form = .plain, words: [String] = [], atRuntime: Bool = false
    ) {
        let initial: SettingValue =
            switch type {
            case .boolean: .boolean(false)
            case .strings: .strings([])
            default: words.contains(usual) ? .string(usual) : .nothing
            }
        setting = SettingDeclaration(
            name: name, type: type, editor: words.isEmpty ? .edit : .choice, summary: summary,
            choices: words.map { SettingChoice(label: $0, value: .string($0)) }, needsRestart: !atRuntime,
            allowsNothing: initial == .nothing, initialValue: initial)
        self.placeholder = placeholder
        self.usual = usual
        self.form = form
    }

    static let state = DaemonOption(
        "state", .string, "DIR", "where the device's keys and queues live (deleting it is the uninstall)",
        usual: "STATE_DIRECTORY, /var/lib/tandem/ROLE for root, XDG_STATE_HOME/tandem/ROLE", form: .path)
    static let local = DaemonOption(
        "local", .string, "PATH", "Unix socket for host apps and commands",
        usual: "XDG_RUNTIME_DIR/tandem/ROLE.sock, /run/tandem/ROLE.sock for root", form: .socketPath)
    static let localOther = DaemonOption(
        "localOther", .string, "PATH", "Unix socket for host apps of the device's other side",
        form: .socketPath)
    static let localGroup = DaemonOption(
        "localGroup", .string, "GROUP", "let this group use the local sockets too", form: .text(bytes: 1...256))
    static let listen = DaemonOption(
        "listen", .strings, "ADDRESS", "accept device links: HOST:PORT, HOST or unix:PATH",
        usual: "a primary's 127.0.0.1:\(DaemonOptions.port), and 0.0.0.0 with advertise", form: .address)
    static let advertise = DaemonOption(
        "advertise", .string, "ADDRESS", "what join links name, when listening on a wildcard", form: .address)
    static let name = DaemonOption(
        "name", .string, "NAME", "the device's name for people", usual: "the host's name",
        form: .text(bytes: 1...64))
    static let wake = DaemonOption(
        "wake", .string, "FILE", "how to start host apps for which items wait", form: .path, atRuntime: true)
    static let allowInvalidSignatures = DaemonOption(
        "allowInvalidSignatures", .boolean, nil, "the daemon's half of accepting invalidly signed configuration",
        usual: "no")
    static let log = DaemonOption(
        "log", .string, "LEVEL", "the lowest level of events to log", usual: "info",
        words: LogLevel.allCases.reversed().map(\.name), atRuntime: true)

    static let all = [
        state, local, localOther, localGroup, listen, advertise, name, wake, allowInvalidSignatures, log,
    ]

    /// The most addresses of `listen` (LIM-106).
    static let mostAddresses = 16

    /// The option without its dashes.
    var optionName: String { SettingSpelling.optionCase(of: setting.name) }
    var variable: String { Self.prefix + "_" + SettingSpelling.environmentCase(of: setting.name) }

    static let prefix = "TANDEM"

    /// The option as the command line's parser and help have it.
    var option: Option {
        let values = words.isEmpty ? "" : ": " + words
        let text = setting.summary + values + (usual == "none" ? "" : " (default: \(usual))")
        guard let placeholder else { return Option.flag(optionName, text).negatable }
        let option = Option.valued(optionName, placeholder, text)
        return setting.type == .strings ? option.repeated : option
    }

    /// The values that a choice has, in words.
    var words: String { setting.choices.map(\.label).joined(separator: ", ") }

    /// The fault of a value that has the option's type; nil for a sound one.
    func fault(of value: SettingValue) -> String? {
        switch value {
        case .string(let text): return form.fault(of: text)
        case .strings(let texts) where texts.count > Self.mostAddresses:
            return "\(texts.count) values are over the maximum \(Self.mostAddresses); remove some"
        case .strings(let texts): return texts.lazy.compactMap(form.fault).first
        default: return nil
        }
    }

    /// The form to write, as an instruction.
    var remedy: String {
        switch setting.type {
        case .boolean: "write <true/> or <false/>"
        case .strings: "write an array of strings"
        default: words.isEmpty ? "write a string" : "write one of \(words)"
        }
    }
}

extension DaemonOption.Form {
    /// The most bytes of a path that the kernel takes.
    static let path = Self.text(bytes: 1...4095)

    fileprivate func fault(of text: String) -> String? {
        switch self {
        case .plain: return nil
        case .text(let bytes):
            let isSound = bytes.contains(text.utf8.count) && !text.utf8.contains(0)
            return isSound ? nil : "it must have \(bytes.lowerBound) to \(bytes.upperBound) bytes and no NUL"
        case .socketPath:
            do { _ = try SocketAddress.unix(checking: text) } catch { return "\(error)" }
        case .address:
            do { _ = try DaemonOptions.address(text) } catch { return "\(error)" }
        }
        return nil
    }

    /// The bounds, in words; nil where the type says all.
    fileprivate var bounds: String? {
        switch self {
        case .plain: nil
        case .text(let bytes): "\(bytes.lowerBound) to \(bytes.upperBound) bytes"
        case .socketPath: "1 to \(SocketAddress.longestPath) bytes"
        case .address: "HOST:PORT, HOST or unix:PATH"
        }
    }
}

// MARK: - The table of all options, as Protocol/Control.md has it.
extension DaemonOption {
    static var table: [String] {
        let head = ["key", "type", "values", "default", "at run time", "meaning"]
        let rows = all.map { option in
            [
                "`\(option.setting.name)`", option.typeName, option.values, option.usual,
                option.setting.needsRestart ? "no" : "yes", option.setting.summary,
            ]
        }
        return ([head, head.map { _ in "---" }] + rows).map { "| \($0.joined(separator: " | ")) |" }
    }

    private var values: String { setting.type == .boolean ? "true, false" : form.bounds ?? words }

    private var typeName: String {
        setting.type == .strings ? "strings, at most \(Self.mostAddresses)" : setting.type.rawValue
    }
}
