// The suite's results in JUnit's XML, which build servers read: each world is a test suite of them, and each case a
// test with all its seeds. Suites are appended one after the other; Scripts/conformance writes what stands around them.

import Glibc
import Synchronization

/// The results of one world.
package struct JUnitReport: Sendable {
    /// Suites of one process may end at once.
    private static let turn = Mutex(())

    private let world: String
    private let tests: [(name: String, failures: [String])]

    /// - Parameter tests: the cases by their descriptions, each with the account of each seed that failed.
    package init(world: String, tests: [(name: String, failures: [String])]) {
        (self.world, self.tests) = (world, tests)
    }

    /// The element `testsuite`.
    package var xml: String {
        let name = Self.escaped(world)
        let failed = tests.count { !$0.failures.isEmpty }
        let head = "<testsuite name=\"\(name)\" tests=\"\(tests.count)\" failures=\"\(failed)\" errors=\"0\">\n"
        let body = tests.map { test -> String in
            let start = "  <testcase classname=\"conformance.\(name)\" name=\"\(Self.escaped(test.name))\""
            guard !test.failures.isEmpty else { return start + "/>\n" }
            let text = Self.escaped(test.failures.joined(separator: "\n"))
            let message = "\(test.failures.count) of its seeds failed"
            return start + ">\n    <failure message=\"\(message)\">\(text)</failure>\n  </testcase>\n"
        }
        return head + body.joined() + "</testsuite>\n"
    }

    /// Appends the element to a file; returns whether that was possible.
    package func append(to path: String) -> Bool {
        Self.turn.withLock { _ in
            guard let file = fopen(path, "a") else { return false }
            let isWritten = fputs(xml, file) >= 0
            return fclose(file) == 0 && isWritten
        }
    }

    /// The text without what XML cannot carry, and with its markup escaped.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\t", "\n": result.unicodeScalars.append(scalar)
            case "\0"..<" ", "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
