// A script of this repository as another party of a test: started, waited for, its words kept.

import Glibc

/// A Python script under Scripts, run to its end.
package enum ForeignCommand {
    /// Its exit code, and what it said on both of its outputs.
    package static func python(
        _ script: String, _ arguments: [String], source: String = #filePath
    ) -> (status: Int32, output: String) {
        let root = source.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        let words = ["python3", "-B", "\(root)/Scripts/\(script)"] + arguments
        let line = words.map { "'" + $0 + "'" }.joined(separator: " ")
        guard let pipe = popen("\(line) 2>&1 </dev/null", "r") else { return (-1, "cannot start \(line)") }
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { output += buffer[..<count] }
        return (pclose(pipe), String(decoding: output, as: UTF8.self))
    }
}
