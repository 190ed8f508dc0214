// How much a service writes to standard error.

import TandemBase

/// The option `--log`.
enum LogOption {
    static let option = Option.valued("log", "LEVEL", "error, warning, info (default) or debug")

    static func level(_ arguments: Arguments) throws(CommandFailure) -> LogLevel {
        guard let word = arguments.value("log") else { return .info }
        guard let level = LogLevel(name: word) else {
            throw .usage("--log '\(word)' is none of error, warning, info, debug")
        }
        return level
    }
}
