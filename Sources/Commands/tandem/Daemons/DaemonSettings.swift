// Values of a daemon's options from their sources: command line, environment, file, default, the first that has one
// wins. A source with a mistake is refused whole. Nothing of it is ever stored: the sources are read at the start, and
// the file again at SIGHUP.

import TandemBase
import TandemControl
import TandemFiles
import TandemOperations
import TandemPropertyList
import TandemPropertyListXML
import TandemSettings

enum OptionSource: Sendable, Equatable {
    case commandLine
    case environment
    case file(String)

    /// The option as this source spells it.
    func spelling(of option: DaemonOption) -> String {
        switch self {
        case .commandLine: "--" + option.optionName
        case .environment: option.variable
        case .file: option.setting.name
        }
    }
}

/// A mistake in a source of options: where, what, and what to do.
struct OptionMistake: Sendable, Equatable {
    let source: OptionSource
    /// The key, option or variable as the source has it; empty if `text` names it, or if the whole file is meant.
    let key: String
    /// Stable, for programs.
    let name: String
    let text: String
    /// Whether a later start may find it gone, although nobody has corrected anything.
    private(set) var mayPass = false

    /// The name where the source has not been read: there is no mistake of an option in it.
    static let unreadable = "unreadable"

    var line: String {
        // A mistake of the whole file names it.
        guard !key.isEmpty else { return text }
        let place = "\(Printable.text(key, limit: 128)): \(text)"
        if case .file(let path) = source { return "\(path): \(place)" }
        return place
    }
}

/// All mistakes of one source; never empty.
struct OptionMistakes: Error, Equatable {
    let source: OptionSource
    let list: [OptionMistake]

    /// Mistakes in the file are one line each; mistakes in options or variables make the call itself wrong. A file that
    /// is missing, or that a system error keeps from being read, may be readable a moment later: its exit code lets a
    /// supervisor start the daemon again (CTL-52).
    var failure: CommandFailure {
        let lines = list.map(\.line)
        guard case .file = source else { return .usage(lines.joined(separator: "; ")) }
        let mayPass = list.contains { $0.mayPass }
        return mayPass ? .refused(lines.joined(separator: "; ")) : .misconfigured(lines)
    }
}

struct DaemonSettings: Sendable {
    private static let schema = SettingsSchema(DaemonOption.all.map(\.setting))

    private var layers = SettingLayers(Self.schema)
    /// The file of options; nil for none.
    let file: String?

    /// Reads all sources.
    init(_ arguments: Arguments, _ environment: Environment) throws(OptionMistakes) {
        if let path = arguments.value("config") {
            file = path
        } else {
            file = try Self.variable("\(DaemonOption.prefix)_CONFIG", environment)
        }
        let line = try Self.commandLine(arguments)
        _ = layers.replace(.commandLine, with: line, origin: .commandLine)
        let variables = try Self.environment(environment)
        _ = layers.replace(.environment, with: variables, origin: .environment)
        if let file { _ = layers.replace(.file, with: try Self.read(file), origin: .file) }
    }

    /// Reads the file again: replaces its values, and returns the changes of effective values.
    mutating func reread() throws(OptionMistakes) -> [SettingChange] {
        guard let file else { return [] }
        return layers.replace(.file, with: try Self.read(file), origin: .file).changes
    }

    /// The mistakes for which a daemon refuses the file; none if it takes it.
    static func mistakes(inFile path: String) -> [OptionMistake] {
        do throws(OptionMistakes) {
            _ = try read(path)
            return []
        } catch {
            return error.list
        }
    }

    // MARK: values

    private func value(_ option: DaemonOption) -> SettingValue? {
        Self.schema.index(of: option.setting.name).map { layers.value(at: $0) }
    }

    /// The text of an option; nil for none.
    func text(_ option: DaemonOption) -> String? {
        if case .string(let text) = value(option) { text } else { nil }
    }

    func texts(_ option: DaemonOption) -> [String] {
        if case .strings(let texts) = value(option) { texts } else { [] }
    }

    func isOn(_ option: DaemonOption) -> Bool { value(option) == .boolean(true) }

    var log: LogLevel { text(.log).flatMap { LogLevel(name: $0) } ?? .info }

    /// The options that have other values than these settings, and take effect at the next start only.
    func restartKeys(since started: DaemonSettings) -> [String] {
        DaemonOption.all.filter { $0.setting.needsRestart && value($0) != started.value($0) }.map(\.setting.name)
    }

    /// The source of an option's value, as the log says it.
    func origin(of name: String) -> String {
        switch Self.schema.index(of: name).map({ layers.layer(at: $0) }) {
        case .commandLine: SettingOrigin.commandLine.rawValue
        case .environment: SettingOrigin.environment.rawValue
        case .file: SettingOrigin.file.rawValue
        default: "default"
        }
    }

    // MARK: sources

    private static func commandLine(_ arguments: Arguments) throws(OptionMistakes) -> SettingsPayload {
        var entries: PropertyListDictionary = [:]
        for option in DaemonOption.all {
            let given = arguments.all(option.optionName)
            guard let last = given.last else { continue }
            entries[option.setting.name] =
                switch option.setting.type {
                case .boolean: .boolean(last != Option.negation)
                case .strings: .array(given.map { .string($0) })
                default: .string(last)
                }
        }
        return try read(.commandLine) { $0.read(entries) }
    }

    private static func environment(_ environment: Environment) throws(OptionMistakes) -> SettingsPayload {
        var variables: [String: String] = [:]
        var mistakes: [OptionMistake] = []
        for option in DaemonOption.all {
            do throws(OptionMistakes) { variables[option.variable] = try variable(option.variable, environment) } catch
            {
                mistakes += error.list
            }
        }
        guard mistakes.isEmpty else { throw OptionMistakes(source: .environment, list: mistakes) }
        return try read(.environment) { reading in
            do throws(SettingNameCollision) {
                try reading.readEnvironment(prefix: DaemonOption.prefix) { variables[$0] }
            } catch {
                preconditionFailure("two options have one variable: \(error)")
            }
        }
    }

    /// The value of a variable; one that is no text is a mistake as any other.
    private static func variable(_ name: String, _ environment: Environment) throws(OptionMistakes) -> String? {
        do throws(CommandFailure) {
            return try environment.value(name)
        } catch {
            let mistake = OptionMistake(source: .environment, key: "", name: OptionMistake.unreadable, text: error.text)
            throw OptionMistakes(source: .environment, list: [mistake])
        }
    }

    /// Reads the whole file, which has to be this user's or root's (CTL-51).
    private static func read(_ path: String) throws(OptionMistakes) -> SettingsPayload {
        let source = OptionSource.file(path)
        do {
            let bytes = try FileReading.read(
                path: path, limit: PropertyListXMLReader.maximumLength, trust: .ownOrRootsAndUnwritable)
            let entries = try PropertyListXMLReader.readAny(bytes)
            return try read(source) { $0.read(entries) }
        } catch let mistakes as OptionMistakes {
            throw mistakes
        } catch {
            let fault = error as? FileError
            let mistake = OptionMistake(
                source: source, key: "", name: OptionMistake.unreadable,
                text: fault.map { "\($0)" } ?? "\(path): \(error)", mayPass: fault?.mayPass ?? false)
            throw OptionMistakes(source: source, list: [mistake])
        }
    }

    /// The values that a source has, once each of them is sound.
    private static func read(
        _ source: OptionSource, _ fill: (inout LayerReading) -> Void
    ) throws(OptionMistakes) -> SettingsPayload {
        var reading = LayerReading(schema, SettingConversion(dates: .standard))
        fill(&reading)
        let payload = reading.payload
        let skipped = reading.report.skipped.map { mistake($0, in: source) }
        let unsound = zip(DaemonOption.all, payload.values).compactMap { option, value -> OptionMistake? in
            guard let fault = value.flatMap(option.fault) else { return nil }
            return OptionMistake(source: source, key: source.spelling(of: option), name: "out-of-bounds", text: fault)
        }
        guard skipped.isEmpty && unsound.isEmpty else {
            throw OptionMistakes(source: source, list: skipped + unsound)
        }
        return payload
    }

    private static func mistake(_ entry: LoadReport.Skipped, in source: OptionSource) -> OptionMistake {
        let option = DaemonOption.all.first { option in
            [entry.key, SettingSpelling.camelCase(ofSnakeCase: entry.key)].contains(option.setting.name)
                || source.spelling(of: option) == entry.key
        }
        let key = option.map { source == .commandLine ? source.spelling(of: $0) : entry.key } ?? entry.key
        let remedy = option?.remedy ?? ""
        let nearest =
            NearestWord.question(entry.key, among: DaemonOption.all.map(\.setting.name))
            ?? "remove it ('tandem config keys' lists the options)"
        let (name, text) =
            switch entry.reason {
            case .noProperty: ("no-such-key", "no option has this name; \(nearest)")
            case .notConvertible(let kind, let type):
                ("wrong-type", "\(kind) is not read as \(type.rawValue); \(remedy)")
            case .invalid(let error) where error.rule.name == "choice":
                ("out-of-bounds", "\(error.value) is none of \(option?.words ?? ""); \(remedy)")
            case .invalid(let error): ("out-of-bounds", "\(error); \(remedy)")
            case .hidden(let other):
                ("given-twice", "\(OutsideText.quoted(other)) is the same option; remove one of them")
            case .missingValue: ("missing-value", "the value is missing; \(remedy)")
            case .unexpectedValue: ("unexpected-value", "no value is taken here; \(remedy)")
            }
        return OptionMistake(source: source, key: key, name: name, text: text)
    }
}
