// Absolute form of a path, taken where a program names the path. The library opens paths later and on other threads,
// and a relative path leads elsewhere as soon as the process has changed its working directory.

internal import TandemReactor

/// The absolute form of paths. A path that is absolute or empty stays as it is; links and `..` are not resolved.
package enum AbsolutePath {
    /// The working directory at the first use: the environment is the process's from its start, and all its variables
    /// that name paths must mean one directory.
    private static let directoryOfVariables = Linux.workingDirectory

    /// The path that a caller names now.
    package static func of(_ path: String) -> String { joined(path, to: Linux.workingDirectory) }

    /// The path that an environment variable names.
    package static func ofVariable(_ path: String) -> String { joined(path, to: directoryOfVariables) }

    /// The path as seen from a directory. Without one the path stays as it is: nothing can be made in a working
    /// directory that is removed.
    package static func joined(_ path: String, to directory: String?) -> String {
        // By bytes: Swift joins a slash and a combining mark behind it into one Character.
        let slash = UInt8(ascii: "/")
        guard let directory, let first = path.utf8.first, first != slash else { return path }
        var rest = path.utf8[...]
        while rest.starts(with: "./".utf8) { rest = rest.dropFirst(2).drop { $0 == slash } }
        return directory + (directory.utf8.last == slash ? "" : "/") + String(decoding: rest, as: UTF8.self)
    }
}
