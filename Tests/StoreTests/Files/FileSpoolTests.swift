// Files on their way: written in parts over several lives, hashed, kept by who they belong to, and removed.

import Glibc
import TandemBase
import TandemCrypto
import TandemFiles
import TandemTestSupport
import Testing

@Suite struct FileSpoolTests {
    private let temporary = TemporaryDirectory()

    private func spool() throws -> FileSpool {
        FileSpool(hashed: "partial", in: try OwnedDirectory(path: temporary.path("state")))
    }

    private func key(_ item: UInt8 = 1, pairing: UInt8 = 9, app: String = "org.example.app") throws -> SpoolKey {
        SpoolKey(
            pairing: try #require(UniqueIdentifier(bytes: Array(repeating: pairing, count: 16))),
            app: try ApplicationIdentifier(app),
            item: try #require(UniqueIdentifier(bytes: Array(repeating: item, count: 16))))
    }

    @Test("FIL-8: a file that grew in several lives has the digest of all its bytes")
    func lives() throws {
        let spool = try spool()
        let bytes = (0..<700_001).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for part in [0..<10, 10..<300_000, 300_000..<700_001] {
            let file = try spool.open(key())
            #expect(file.found == Int64(part.lowerBound))
            try file.readOn()
            #expect(file.size == file.found)
            try file.append(bytes[part])
            #expect(file.size == Int64(part.upperBound))
        }
        let last = try spool.open(key())
        try last.readOn()
        #expect(try last.finish() == SHA256.digest(bytes))
        let parts = try #require(try spool.read(key()))
        #expect(parts.size == 700_001)
        #expect(try parts.read(at: 299_990, count: 20) == Array(bytes[299_990..<300_010]))
        #expect(try parts.read(at: 700_000, count: 20) == [bytes[700_000]])
        #expect(try parts.read(at: 700_001, count: 20) == [])
    }

    @Test("FIL-11: a file that starts over is as if it had never been written")
    func startOver() throws {
        let file = try spool().open(key())
        try file.append([1, 2, 3])
        try file.startOver()
        try file.append([4])
        #expect(file.size == 1)
        #expect(try file.finish() == SHA256.digest([4]))
    }

    @Test("FIL-4: what nobody knows is removed at the start, and what is known stays")
    func orphans() throws {
        let spool = try spool()
        let keys = try [key(1), key(2), key(1, pairing: 8), key(1, app: "org.example.other")]
        for key in keys { try spool.open(key).append([1]) }
        let kept = try spool.removeAll(but: [keys[1], keys[3]])
        #expect(kept == [keys[1]: 1, keys[3]: 1])
        #expect(try spool.sizes(of: [keys[1].pairing]) == kept)
        #expect(try keys.map { try spool.read($0) != nil } == [false, true, false, true])
        #expect(try spool.removal(of: keys[1].pairing)?.step(100) == true)
        #expect(try keys.allSatisfy { try spool.read($0) == nil })
        try spool.remove(keys[1])
        #expect(try spool.removal(of: keys[1].pairing)?.step(100) == true)
    }

    @Test("FIL-14: a file that cannot be removed now is told, and keeps no other")
    func removalThatFails() throws {
        let spool = try spool()
        let keys = try [key(1), key(2), key(3)]
        for key in keys { try spool.open(key).append([1]) }
        let path = temporary.path("state/partial/\(keys[1].pairing)/\(keys[1].app)/\(keys[1].item)")
        #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0, "a directory cannot be unlinked")
        #expect(try spool.removeAll(but: [keys[2]]) == [keys[1]: 0, keys[2]: 1])
        #expect(try spool.read(keys[0]) == nil)
    }

    @Test("a symbolic link in a file's place is refused, and what it names stays as it is")
    func link() throws {
        let spool = try spool()
        try spool.open(key()).append([1])
        let path = "\(temporary.path("state"))/partial/\(try key().pairing)/org.example.app/\(try key().item)"
        let victim = temporary.path("victim")
        write([7], to: victim)
        try replaceWithLink(path, to: victim)
        #expect(throws: FileError.self) { try spool.open(key()) }
        #expect(throws: FileError.self) { try spool.read(key()) }
        #expect(try FileReading.read(path: victim, limit: 10) == [7])
    }

    @Test(
        "FIL-16: every change of a file that is read is noticed", arguments: ["append", "rewrite", "replace", "none"])
    func changes(_ change: String) throws {
        let path = temporary.path("source")
        write(Array(repeating: 1, count: 1000), to: path)
        let parts = try #require(try FileSource(path: path).open())
        #expect(try parts.isUnchanged())
        switch change {
        case "append": write(Array(repeating: 1, count: 1001), to: path)
        case "rewrite": write(Array(repeating: 2, count: 1000), to: path)
        case "replace":
            write(Array(repeating: 1, count: 1000), to: path + ".new")
            try rename(path + ".new", path)
        default: break
        }
        #expect(try parts.isUnchanged() == (change == "none"))
    }
}

extension FileSpool {
    /// A spool whose files are hashed as the daemon's are.
    convenience init(hashed name: String, in directory: OwnedDirectory) {
        self.init(name, in: directory) { FileHash() }
    }
}

private final class FileHash: FileDigest {
    private let stream = SHA256Stream()

    func add(_ bytes: UnsafeRawBufferPointer) { stream.add(bytes) }

    func finish() -> [UInt8] { stream.finish() }
}
