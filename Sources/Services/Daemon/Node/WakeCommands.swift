// The operator's file that says how to start the host apps for which items wait (CTL-22): each line an application
// identifier and a command. There is no shell: words are split at blanks, nothing is quoted or expanded, and the
// program is named by its absolute path, so that no variable decides what runs.

import TandemBase
import TandemFiles

/// The wake-up commands of one daemon.
package struct WakeCommands: Sendable, Equatable {
    /// Far above one line for each app that a device may have.
    private static let longestFile = 256 * 1024

    private let commands: [ApplicationIdentifier: [String]]

    /// Reads the file, which must be this user's or root's and not writable by others.
    package init(path: String) throws(NodeError) {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try FileReading.read(path: path, limit: Self.longestFile, trust: .ownOrRootsAndUnwritable)
        } catch {
            throw .file(error)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .wake(path: path, line: 1, reason: "not UTF-8")
        }
        try self.init(text: text, path: path)
    }

    init(text: String, path: String) throws(NodeError) {
        var commands: [ApplicationIdentifier: [String]] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "\r" }.map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            if let reason = Self.fault(in: words) { throw .wake(path: path, line: index + 1, reason: reason) }
            guard let app = try? ApplicationIdentifier(first), commands[app] == nil else {
                throw .wake(path: path, line: index + 1, reason: "no application identifier, or one named before")
            }
            commands[app] = Array(words.dropFirst())
        }
        self.commands = commands
    }

    private static func fault(in words: [String]) -> String? {
        guard words.count > 1 else { return "the command is missing" }
        if !words[1].hasPrefix("/") { return "the program must be named by its absolute path" }
        return words.contains { $0.utf8.contains(0) } ? "a NUL byte" : nil
    }

    /// The apps that have a command.
    var applications: [ApplicationIdentifier] { commands.keys.sorted() }

    /// The program and its arguments.
    subscript(app: ApplicationIdentifier) -> [String]? { commands[app] }
}
