// The inputs that a fuzzer found worth keeping (Tests/Fuzz/*.corpus): one in each line, in hexadecimal digits, so that
// thousands of small files are one file with readable differences.

import Glibc
import TandemBase

/// A kept corpus.
package enum FuzzCorpus {
    /// The inputs of a target; none if the file cannot be read, which the tests notice.
    package static func inputs(_ target: String, source: String = #filePath) -> [[UInt8]] {
        let root = source.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        guard let file = fopen("\(root)/Tests/Fuzz/\(target).corpus", "r") else { return [] }
        defer { fclose(file) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { text += buffer[..<count] }
        return text.split(separator: UInt8(ascii: "\n")).compactMap {
            Hexadecimal.decode(String(decoding: $0, as: UTF8.self))
        }
    }
}
