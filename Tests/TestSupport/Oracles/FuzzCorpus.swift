// The inputs that a fuzzer found worth keeping (Tests/Fuzz/*.corpus): one in each line, in hexadecimal digits, so that
// thousands of small files are one file with readable differences.

import TandemBase

/// A kept corpus.
package enum FuzzCorpus {
    /// The inputs of a target; none if the file cannot be read, which the tests notice.
    package static func inputs(_ target: String) -> [[UInt8]] {
        Checkout.lines(of: "Tests/Fuzz/\(target).corpus").compactMap { Hexadecimal.decode(String($0)) }
    }
}
