// A temporary directory for one test, removed with everything in it. Its path is short, because the path of a socket in
// it has at most 107 bytes.

import Foundation
import TandemTestSupport
import Testing

final class Workspace: Sendable {
    private let directory = TemporaryDirectory()

    var path: String { directory.path }

    /// The path of a file in it.
    subscript(name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: self[name]))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self[name])
        return self[name]
    }

    func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: self[name])), as: UTF8.self)
    }

    func mode(_ name: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: self[name])[.posixPermissions] as? Int)
    }
}
