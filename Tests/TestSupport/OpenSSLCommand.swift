// The `openssl` command as a second implementation: it writes what we read, and verifies what we sign. Each use has a
// directory of its own.

import Glibc

package final class OpenSSLCommand {
    private let directory = TemporaryDirectory()

    package init() {}

    /// Runs `openssl` with these arguments in the directory; whether it ended with 0.
    @discardableResult package func run(_ arguments: String) -> Bool {
        system("cd \(directory.path) && openssl \(arguments) >output 2>&1 </dev/null") == 0
    }

    package func path(_ name: String) -> String { directory.path(name) }

    package func write(_ bytes: [UInt8], to name: String) { directory.write(bytes, to: name) }

    package func read(_ name: String) -> [UInt8] { TemporaryDirectory.read(path(name)) ?? [] }

    package func readText(_ name: String) -> String { String(decoding: read(name), as: UTF8.self) }
}
