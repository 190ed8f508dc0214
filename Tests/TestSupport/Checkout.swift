// Files of the checkout that the tests were built from: pages and vectors of Protocol, which tests read as an
// implementer reads them, scripts, corpora.

/// The checkout; a file that cannot be read is empty, which the tests notice.
package enum Checkout {
    private static let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()

    /// The path of a file, which is named from the root.
    package static func path(_ file: String) -> String { "\(root)/\(file)" }

    package static func text(of file: String) -> String {
        String(decoding: TemporaryDirectory.read(path(file)) ?? [], as: UTF8.self)
    }

    static func lines(of file: String) -> [Substring] { text(of: file).split(separator: "\n") }
}
