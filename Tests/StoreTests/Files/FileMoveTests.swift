// A received file that its app takes to a place of its own, on the same file system or on another one.

import Glibc
import TandemFiles
import TandemTestSupport
import Testing

@Suite struct FileMoveTests {
    private let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    private let source = TemporaryDirectory()

    /// Two file systems on most machines.
    private static let places = ["/dev/shm", "/tmp"].filter { place in place.withCString { access($0, W_OK) == 0 } }

    @Test("FIL-15: a file moves whole, by its name or by a copy, and leaves nothing behind", arguments: places)
    func moves(to place: String) throws {
        let target = TemporaryDirectory(in: place)
        source.write(bytes, to: "received")
        // Of two scalars: a slash and the mark behind it are one Character.
        try FileMove.move(from: source.path("received"), to: target.path("\u{301}kept"))
        let kept = try OwnedDirectory(existing: target.path)
        #expect(try kept.read(named: "\u{301}kept", limit: bytes.count, trust: .any) == bytes)
        #expect(access(source.path("received"), F_OK) != 0)
    }

    @Test("FIL-15: nothing is overwritten, and what cannot move stays", arguments: places)
    func takenPlace(in place: String) throws {
        let target = TemporaryDirectory(in: place)
        source.write(bytes, to: "received")
        target.write([1], to: "kept")
        #expect(throws: FileError.self) {
            try FileMove.move(from: source.path("received"), to: target.path("kept"))
        }
        #expect(throws: FileError.missing(path: target.path("no/kept"))) {
            try FileMove.move(from: source.path("received"), to: target.path("no/kept"))
        }
        #expect(try OwnedDirectory(existing: target.path).read("kept", limit: 10) == [1])
        #expect(access(source.path("received"), F_OK) == 0)
    }

    @Test("FIL-16: a file that has bytes although its size is 0 is refused, and an empty one is taken")
    func withoutSize() throws {
        source.write([], to: "empty")
        #expect(try FileSource(path: source.path("empty")).size == 0)
        let status = "/proc/self/status"
        #expect(throws: FileError.sizeUnknown(path: status)) { try FileSource(path: status) }
    }

    @Test("FIL-16: a path with a NUL is refused, and not cut to the part before it")
    func nul() throws {
        source.write([1], to: "received")
        let cut = source.path("kept\0.jpg")
        #expect(throws: FileError.nulInPath(cut)) { try FileMove.move(from: source.path("received"), to: cut) }
        #expect(source.names == ["received"])
        let secret = source.path("received\0.jpg")
        #expect(throws: FileError.nulInPath(secret)) { try FileSource(path: secret) }
        #expect(throws: FileError.nulInPath(secret)) { try FileSource(path: secret, followsLinks: true) }
        #expect(throws: FileError.nulInPath(secret)) { try FileReading.read(path: secret, limit: 10) }
        let below = source.path("made/no\0w/file")
        #expect(throws: FileError.nulInPath(below)) { try OwnedDirectory(path: below) }
        #expect(source.names == ["received"])
        #expect(!FileError.nulInPath(secret).description.utf8.contains(0))
    }
}
