// Resident memory of this process that is its own, as the kernel counts it.

import Glibc

package enum ResidentMemory {
    /// In bytes: the second number of statm without the third, which are in pages; nil if it cannot be read. The third
    /// are pages of files: a large program maps sixteen of them for each new piece of code that it runs.
    package static var bytes: Int? {
        guard let file = fopen("/proc/self/statm", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, CInt(line.count), file) != nil else { return nil }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let pages = text.split(separator: " ").prefix(3).compactMap { Int($0) }
        guard pages.count == 3 else { return nil }
        return (pages[1] - pages[2]) * Int(getpagesize())
    }
}
