// The pages and vectors of Protocol, which tests read as an implementer reads them.

import Glibc

/// The files of Protocol, in the checkout that the tests were built from.
enum ProtocolText {
    static func path(of file: String, source: String = #filePath) -> String {
        let root = source.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        return "\(root)/Protocol/\(file)"
    }

    /// The lines of a page; none if it cannot be read, which the tests notice.
    static func lines(of page: String) -> [Substring] {
        String(decoding: contents(of: path(of: page)), as: UTF8.self).split(separator: "\n")
    }

    static func contents(of path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return bytes
    }
}
