// A file from an app of this device: order, sizes and how far ahead.

import TandemDelivery
import TandemPropertyList
import TandemWire
import Testing

@Suite final class FileUploadTests {
    private var taking = FileUpload(size: 10 * 65_536)

    private func isWritten(_ offset: Int64, _ count: Int) -> Bool {
        taking.takes(chunkAt: offset, count: count)
    }

    @Test("FIL-3: chunks in order are written, and the last one completes the file")
    func inOrder() {
        taking = FileUpload(size: 150_000)
        var offset: Int64 = 0
        for count in [65_536, 65_536, 18_928] {
            #expect(isWritten(offset, count))
            #expect(!taking.isComplete)
            taking.wrote(count)
            offset += Int64(count)
            #expect(taking.written == offset)
        }
        #expect(taking.isComplete)
        #expect(FileUpload(size: 0).isComplete)
    }

    @Test("FIL-3, LIM-39: eight chunks may be ahead of what the app was told is written, a ninth may not")
    func ahead() {
        for number in 0..<8 { #expect(isWritten(Int64(number) * 65_536, 65_536)) }
        #expect(!isWritten(8 * 65_536, 65_536))
        let isTold = (1...2).map { _ in
            let isTold = taking.wrote(65_536)
            #expect(isWritten(8 * 65_536, 65_536) == isTold)
            return isTold
        }
        #expect(isTold == [false, true])
    }

    @Test(
        "FIL-3, LIM-28: a chunk out of place, of no or too many bytes, or past the end is a violation",
        arguments: [(1, 10), (-1, 10), (0, 0), (0, 65_537), (0, 101)])
    func violations(_ offset: Int64, _ count: Int) {
        taking = FileUpload(size: count == 65_537 ? 100_000 : 100)
        #expect(!isWritten(offset, count))
        #expect(taking.received == 0)
    }

    @Test("FIL-2, FIL-4: description and manifest survive the way through their bodies")
    func bodies() throws {
        let file = FileDescription(name: "a/b", size: 7, metadata: ["k": .integer(1)])
        let manifest = FileManifest(file, digest: Array(repeating: 3, count: 32))
        #expect(try FileDescription(reading: file.dictionary) == file)
        #expect(try FileManifest(reading: Body.bytes(manifest.dictionary)[...]) == manifest)
        #expect(manifest.delivery(at: "/x")["path"] == .string("/x"))
        #expect(manifest.delivery(at: "/x")["name"] == .string("a/b"))
    }

    @Test(
        "LIM-30: what a file may not be called, and how large it may not be",
        arguments: [
            ["size": .integer(1)], ["name": .string("x")], ["name": .string("x"), "size": .integer(-1)],
            ["name": .string("x"), "size": .integer((1 << 40) + 1)], ["name": .data([1]), "size": .integer(1)],
            ["name": .string(String(repeating: "x", count: 256)), "size": .integer(1)],
            ["name": .string("x"), "size": .integer(1), "metadata": .string("no")],
        ] as [PropertyListDictionary])
    func refused(_ dictionary: PropertyListDictionary) {
        #expect(throws: WireError.self) { try FileDescription(reading: dictionary) }
    }

    @Test("LIM-30: the largest name and size are taken, and no digest of another length")
    func limits() throws {
        let file = FileDescription(name: String(repeating: "x", count: 255), size: 1 << 40)
        #expect(try FileDescription(reading: file.dictionary) == file)
        var manifest = FileManifest(file, digest: Array(repeating: 0, count: 31)).dictionary
        #expect(throws: WireError.self) { try FileManifest(reading: Body.bytes(manifest)[...]) }
        manifest["digest"] = .data(Array(repeating: 0, count: 32))
        #expect(try FileManifest(reading: Body.bytes(manifest)[...]).file == file)
        manifest["metadata"] = .dictionary(["x": .data(Array(repeating: 0, count: 65_536))])
        #expect(throws: WireError.self) { try FileManifest(reading: Body.bytes(manifest)[...]) }
    }
}
