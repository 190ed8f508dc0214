// A file that is written over several lives of a process: what is there is read again in parts, and hashed with the
// rest.

import TandemBase
import TandemCrypto
import TandemFiles
import TandemTestSupport
import Testing

@Suite struct GrowingFileTests {
    private let temporary = TemporaryDirectory()

    @Test func whatAnEarlierLifeWroteIsReadAgainInParts() throws {
        let spool = FileSpool(hashed: "partial", in: try OwnedDirectory(path: temporary.path("device")))
        let key = SpoolKey(
            pairing: .random(), app: try ApplicationIdentifier("org.example.app"), item: .random())
        let part = (0..<1_048_576).map { (index: Int) -> UInt8 in UInt8(truncatingIfNeeded: (index &* 31) >> 4) }
        let first = try spool.open(key)
        #expect(first.found == 0)
        for _ in 0..<17 { try first.append(part[...]) }
        let second = try spool.open(key)
        #expect(second.found == 17 << 20 && second.size == 0)
        var sizes: [Int64] = []
        while second.size < second.found {
            try second.readOn()
            sizes.append(second.size)
        }
        #expect(sizes == [8 << 20, 16 << 20, 17 << 20], "others have their turn between")
        try second.append(part[...])
        let whole = (0..<18).flatMap { _ in part }
        #expect(try second.finish() == SHA256.digest(whole))
    }

    @Test func aFileThatBecameShorterIsTheShorterOne() throws {
        let device = try OwnedDirectory(path: temporary.path("device"))
        let spool = FileSpool(hashed: "partial", in: device)
        let key = SpoolKey(
            pairing: .random(), app: try ApplicationIdentifier("org.example.app"), item: .random())
        try spool.open(key).append([1, 2, 3])
        let (longer, shorter) = (try spool.open(key), try spool.open(key))
        try shorter.startOver()
        try longer.readOn()
        #expect(longer.found == 0 && longer.size == 0)
    }
}
