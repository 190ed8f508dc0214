// The `openssl` command line as a second implementation: what it writes we read, what we sign it verifies. Each use has
// a directory of its own that goes away with it.

import Glibc
import Testing

final class OpenSSLCommand {
    private let directory: String

    init() {
        var template = Array("/tmp/tandem-openssl.XXXXXX".utf8CString)
        directory = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) } ?? "/tmp"
        }
    }

    deinit { _ = system("rm -rf \(directory)") }

    /// Runs `openssl` with these arguments in the directory; whether it ended with 0.
    @discardableResult func run(_ arguments: String) -> Bool {
        system("cd \(directory) && openssl \(arguments) >output 2>&1 </dev/null") == 0
    }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    func write(_ bytes: [UInt8], to name: String) {
        guard let file = fopen("\(directory)/\(name)", "w") else {
            Issue.record("cannot write \(name)")
            return
        }
        defer { fclose(file) }
        #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    }

    func read(_ name: String) -> [UInt8] {
        guard let file = fopen("\(directory)/\(name)", "r") else { return [] }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65536)
        bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
        return bytes
    }

    func readText(_ name: String) -> String { String(decoding: read(name), as: UTF8.self) }
}
