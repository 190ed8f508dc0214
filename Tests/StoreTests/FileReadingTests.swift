// Reading small files whole: limits at their edges, private files, and everything that is not a regular file.

import Glibc
import TandemFiles
import TandemTestSupport
import Testing

@Suite struct FileReadingTests {
    private let temporary = TemporaryDirectory()

    @Test(arguments: [0, 1, 9, 10]) func aFileUpToTheLimitIsRead(size: Int) throws {
        let bytes = Array(repeating: UInt8(3), count: size)
        temporary.write(bytes, to: "file")
        #expect(try FileReading.read(path: temporary.path("file"), limit: 10) == bytes)
    }

    @Test func aFileAboveTheLimitIsRefused() {
        temporary.write(Array(repeating: 3, count: 11), to: "file")
        let path = temporary.path("file")
        #expect(throws: FileError.tooLarge(path: path, limit: 10)) { try FileReading.read(path: path, limit: 10) }
    }

    @Test func aFileThatDeniesItsSizeIsStillBounded() {
        #expect(throws: FileError.tooLarge(path: "/proc/self/smaps", limit: 100)) {
            try FileReading.read(path: "/proc/self/smaps", limit: 100)
        }
    }

    @Test(arguments: [0o640, 0o604, 0o644, 0o620, 0o777] as [UInt32]) func aLooseKeyIsRefused(mode: UInt32) {
        temporary.write([1], to: "key")
        let path = temporary.path("key")
        #expect(chmod(path, mode) == 0)
        let refusal = FileError.loosePermissions(path: path, mode: mode)
        #expect(throws: refusal) { try FileReading.read(path: path, limit: 10, trust: .ownAndPrivate) }
        #expect(refusal.description.contains("chmod 600 \(path)"))
        #expect(throws: Never.self) { try FileReading.read(path: path, limit: 10) }
    }

    @Test(arguments: [0o600, 0o400] as [UInt32]) func aPrivateKeyIsRead(mode: UInt32) throws {
        temporary.write([1], to: "key")
        #expect(chmod(temporary.path("key"), mode) == 0)
        #expect(try FileReading.read(path: temporary.path("key"), limit: 10, trust: .ownAndPrivate) == [1])
    }

    @Test("CTL-70: where the daemon has chosen the path, the text names no other path and no other user")
    func fixedPaths() {
        let owner = FileError.otherOwner(path: "/s/apps/a", owner: 7, expected: 8)
        #expect(owner.textOfFixedPath == "/s/apps/a belongs to user 7, not to user 8; run: chown -R 8 /s/apps/a")
        #expect(FileError.symbolicLink(path: "/s/inbox").textOfFixedPath == "/s/inbox is a symbolic link; remove it")
        #expect(FileError.full(path: "/s").textOfFixedPath == FileError.full(path: "/s").description)
    }

    @Test func anotherUsersKeyIsRefused() {
        guard geteuid() == 0 else { return print("skipped: giving a file to another user needs root") }
        temporary.write([1], to: "key")
        let path = temporary.path("key")
        #expect(chown(path, 12_345, 12_345) == 0)
        #expect(throws: FileError.otherOwner(path: path, owner: 12_345, expected: 0)) {
            try FileReading.read(path: path, limit: 10, trust: .ownAndPrivate)
        }
    }

    @Test func whatIsNoRegularFileIsRefusedWithoutWaiting() {
        let (pipe, link, missing) = (temporary.path("pipe"), temporary.path("link"), temporary.path("missing"))
        #expect(mkfifo(pipe, 0o600) == 0 && symlink("/etc/passwd", link) == 0)
        #expect(throws: FileError.notARegularFile(path: pipe)) { try FileReading.read(path: pipe, limit: 10) }
        #expect(throws: FileError.symbolicLink(path: link)) { try FileReading.read(path: link, limit: 10) }
        #expect(throws: FileError.missing(path: missing)) { try FileReading.read(path: missing, limit: 10) }
        #expect(throws: FileError.notARegularFile(path: temporary.path)) {
            try FileReading.read(path: temporary.path, limit: 10)
        }
        #expect(throws: FileError.notARegularFile(path: "/dev/zero")) {
            try FileReading.read(path: "/dev/zero", limit: 10)
        }
    }
}
