// The key file named by --key, read once.

import Glibc

enum CommandLineKey {
    /// The file's text; nil without the option or if the file cannot be read.
    static let text: String? = Launch.arguments.key.flatMap(read)

    private static func read(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(validating: bytes.prefix(count), as: UTF8.self)
    }
}
