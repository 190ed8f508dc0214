// Peak memory of reading a hostile list, in a separate process: eight times the size of the list, and a little for the
// process itself. The test measures the process and not the reader's own counts.

import Glibc
import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct ReadingMemoryTests {
    /// The most memory that the process has had since the last `forgetPeak`, in bytes.
    private static var peak: Int? {
        guard let file = fopen("/proc/self/status", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            var kilobytes = 0
            if withUnsafeMutablePointer(to: &kilobytes, { withVaList([$0]) { vsscanf(line, "VmHWM: %ld", $0) } }) == 1 {
                return kilobytes * 1024
            }
        }
        return nil
    }

    private static func forgetPeak() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }

    /// Each in a fresh process, whose heap has nothing free to hide what is needed. Not under a sanitizer, whose shadow
    /// of what is used counts, too.
    @Test(
        .enabled(if: getenv("TSAN_OPTIONS") == nil && getenv("ASAN_OPTIONS") == nil),
        arguments: stride(from: 0, to: HostileInputTests.heavy.count, by: Repetition.times(5, long: 1)).map(\.self))
    func `LIM-12: reading costs at most eight times a list's size in memory, and a MiB`(index: Int) async {
        await #expect(processExitsWith: .exitCode(42)) { [index = index as Int] in
            let bytes = HostileInputTests.heavy[index].bytes
            // The code itself is memory, too, once it has run.
            for small in HostileInputTests.small { _ = try? PropertyListReader.read(small) }
            for small in HostileInputTests.small { _ = try? PropertyListView(small) }
            for read in [{ _ = try? PropertyListReader.read(bytes) }, { _ = try? PropertyListView(bytes) }] {
                Self.forgetPeak()
                let before = try #require(Self.peak)
                read()
                let needed = try #require(Self.peak) - before
                if needed > 8 * bytes.count + 1 << 20 { exit(1) }
            }
            exit(42)
        }
    }
}
