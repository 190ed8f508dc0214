// Atomic replacement fails at every step in turn: the file is then the old one or the new one, whole, and nothing is
// left lying about.

import Glibc
import TandemReactor
import TandemTestSupport
import Testing

@testable import TandemFiles

@Suite struct AtomicReplacementTests {
    private let temporary = TemporaryDirectory()

    @Test(arguments: AtomicReplacement.Step.allCases)
    func aFailureAtAnyStepLeavesAWholeFile(step: AtomicReplacement.Step) throws {
        let directory = try OwnedDirectory(path: temporary.path("state"))
        let old = [UInt8](repeating: 1, count: 100_000)
        let new = [UInt8](repeating: 2, count: 200_000)
        try directory.replace("file", with: old)
        var replacement = try directory.replacement("file")
        let failure = FileError.system(path: replacement.entry.path, SystemError(call: "test", errno: EIO))
        replacement.willTake = { (next) throws(FileError) in if next == step { throw failure } }
        #expect(throws: failure) { try replacement.run(new, .privateFile) }
        let isNew = step == .synchroniseDirectory
        #expect(contents(of: replacement.entry.path) == (isNew ? new : old))
        #expect(TemporaryDirectory.names(in: directory.path) == ["file"], "no draft is left")
        try directory.replace("file", with: [3])
        #expect(try directory.read("file", limit: 10) == [3])
    }

    @Test(
        "CTL-76: a test of a directory takes each step of a write before the rename, and leaves nothing",
        arguments: [AtomicReplacement.Step.clear, .create, .write, .attributes, .synchronise])
    func rehearsal(step: AtomicReplacement.Step) throws {
        let directory = try OwnedDirectory(path: temporary.path("state"))
        var replacement = try directory.replacement("file")
        let failure = FileError.full(path: replacement.draft.path)
        replacement.willTake = { (next) throws(FileError) in if next == step { throw failure } }
        #expect(throws: failure) { try replacement.rehearse([1], .privateFile) }
        #expect(TemporaryDirectory.names(in: directory.path).isEmpty)
        try directory.checkWritable()
        #expect(TemporaryDirectory.names(in: directory.path).isEmpty)
    }

    @Test(arguments: AtomicReplacement.Step.allCases)
    func aCrashAtAnyStepLeavesAWholeFileAndTheNextReplacementWorks(step: AtomicReplacement.Step) throws {
        let directory = try OwnedDirectory(path: temporary.path("state"))
        try directory.replace("file", with: [1])
        var seen: [[UInt8]] = []
        var replacement = try directory.replacement("file")
        let path = replacement.entry.path
        replacement.willTake = { (next) throws(FileError) in if next == step { seen.append(contents(of: path)) } }
        try replacement.run([2, 2], .privateFile)
        #expect(seen == [step == .synchroniseDirectory ? [2, 2] : [1]], "what a crash here would leave")
        // A crash leaves a draft beside the file, which is no obstacle.
        write([9, 9, 9], to: replacement.draft.path)
        try directory.replace("file", with: [3])
        #expect(try directory.read("file", limit: 10) == [3])
    }

    @Test func aLinkInTheDraftsPlaceIsNotFollowed() throws {
        let directory = try OwnedDirectory(path: temporary.path("state"))
        temporary.write([7], to: "victim")
        #expect(symlink(temporary.path("victim"), directory.path + "/.file.new") == 0)
        try directory.replace("file", with: [1, 2])
        #expect(contents(of: temporary.path("victim")) == [7])
        #expect(try directory.read("file", limit: 10) == [1, 2])
    }

    @Test func aLinkInTheFilesPlaceIsReplacedAndNeverRead() throws {
        let directory = try OwnedDirectory(path: temporary.path("state"))
        temporary.write([7], to: "victim")
        #expect(symlink(temporary.path("victim"), directory.path + "/file") == 0)
        #expect(throws: FileError.symbolicLink(path: directory.path + "/file")) {
            try directory.read("file", limit: 10)
        }
        try directory.replace("file", with: [1])
        #expect(contents(of: temporary.path("victim")) == [7] && contents(of: directory.path + "/file") == [1])
    }

    @Test func aFullDiskIsToldAndTheOldFileStays() throws {
        guard let disk = SmallDisk() else { return }
        let directory = try OwnedDirectory(path: disk.path + "/state")
        try directory.replace("file", with: [1])
        let path = directory.path + "/.file.new"
        #expect(throws: FileError.full(path: path)) {
            try directory.replace("file", with: Array(repeating: 2, count: 1 << 20))
        }
        #expect(try directory.read("file", limit: 10) == [1])
        #expect(TemporaryDirectory.names(in: directory.path) == ["file"])
    }
}
