// Commands that are not this package's, as another party of a test: started, waited for, their words kept.

import Glibc

/// A command, run to its end.
package enum ForeignCommand {
    /// Runs a Python script under Scripts; its exit code, and what it said on both of its outputs.
    package static func python(_ script: String, _ arguments: [String]) -> (status: Int32, output: String) {
        let words = ["python3", "-B", Checkout.path("Scripts/\(script)")] + arguments
        return shell(words.map { "'" + $0 + "'" }.joined(separator: " "))
    }

    /// Runs a line of the shell, whose last command is the one that is heard.
    package static func shell(_ line: String) -> (status: Int32, output: String) {
        guard let pipe = popen("\(line) 2>&1 </dev/null", "r") else { return (-1, "cannot start \(line)") }
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { output += buffer[..<count] }
        return (pclose(pipe), String(decoding: output, as: UTF8.self))
    }
}
