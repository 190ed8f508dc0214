// A directory with everything in it is removed, whatever names an app gave, and nothing outside of it.

import Glibc
import TandemFiles
import TandemReactor
import TandemTestSupport
import Testing

@Suite struct TreeRemovalTests {
    private let temporary = TemporaryDirectory()
    private let parent: OwnedDirectory

    init() throws { parent = try OwnedDirectory(path: temporary.path("parent")) }

    @Test func everythingInItGoesAndWhatALinkNamesStays() throws {
        let outside = try OwnedDirectory(path: temporary.path("outside"))
        try outside.replace("kept", with: [1])
        let tree = try parent.directory(named: "tree")
        let deep = try tree.directory(named: "a").directory(named: "b")
        for directory in [tree, deep] { try directory.replace("file", with: [1]) }
        for name in [".hidden", "with space", "new\nline"] { #expect(mkdir("\(deep.path)/\(name)", 0o700) == 0) }
        #expect(symlink(outside.path, "\(tree.path)/link") == 0)
        #expect(symlink("nowhere", "\(tree.path)/broken") == 0)
        for _ in 0..<2 { try parent.removeDirectory("tree", depth: 8) }
        #expect(try parent.names().isEmpty && outside.names() == ["kept"])
    }

    @Test func aLinkInItsPlaceGoesAndIsNotFollowed() throws {
        let outside = try OwnedDirectory(path: temporary.path("outside"))
        try outside.replace("kept", with: [1])
        #expect(symlink(outside.path, "\(parent.path)/tree") == 0)
        try parent.removeDirectory("tree", depth: 8)
        #expect(throws: FileError.unsafeName("../outside")) { try parent.removeDirectory("../outside", depth: 8) }
        #expect(try outside.names() == ["kept"] && parent.names().isEmpty)
    }

    @Test func whatCannotGoStopsNothingElseAndIsToldAtTheEnd() throws {
        let tree = try parent.directory(named: "tree")
        for number in 0..<20 {
            let inner = try tree.directory(named: "d\(number)")
            try inner.replace("file", with: [1])
            if number == 7 {
                try inner.directory(named: "deeper").directory(named: "deepest").replace("file", with: [1])
            }
        }
        #expect(throws: FileError.self) { try parent.removeDirectory("tree", depth: 3) }
        #expect(try tree.names() == ["d7"])
        #expect(try tree.directory(named: "d7").names() == ["deeper"])
    }

    @Test func oneTreeGoesAfterTheOtherSoThatFewDescriptorsAreHeld() throws {
        let trees = try ["first", "second"].map { try parent.directory(named: $0) }
        for tree in trees { for number in 0..<600 { try tree.replace("\(number)", with: []) } }
        let scheduler = ManualScheduler()
        let worker = FileWorker(for: scheduler)
        var done: [String] = []
        for name in ["first", "second"] {
            worker.remove({ () throws(FileError) in try TreeRemoval([name], in: parent, depth: 8) }) { failure in
                #expect(failure == nil)
                done.append(name)
            }
        }
        var turns = 0
        while done.count < 2, turns < 100 {
            turns += 1
            scheduler.run()
            worker.waitUntilIdle()
            if done.isEmpty { #expect(try trees[1].names().count == 600) }
        }
        #expect(done == ["first", "second"] && turns > 4)
        #expect(try parent.names().isEmpty)
        worker.close()
    }

    @Test func aLargeDirectoryGoesInSteps() throws {
        let tree = try parent.directory(named: "tree")
        for number in 0..<250 { #expect(mkdir("\(tree.path)/\(number)", 0o700) == 0) }
        let removal = try TreeRemoval(["tree", "missing"], in: parent, depth: 8)
        var steps = 0
        while !removal.step(100) {
            steps += 1
            #expect(try tree.names().count >= 250 - 100 * steps)
        }
        #expect(steps >= 2 && removal.failure == nil)
        #expect(try parent.names().isEmpty)
    }

    /// A name that is not read yet costs no memory, and no step when it is gone before its turn.
    @Test func namesAreReadWhenTheirTurnComesAndNotBefore() throws {
        let tree = try parent.directory(named: "tree")
        for number in 0..<10_000 { write([], to: "\(tree.path)/\(number)") }
        let removal = try TreeRemoval(["tree"], in: parent, depth: 8)
        #expect(!removal.step(256))
        for name in try tree.names() { #expect(unlink("\(tree.path)/\(name)") == 0) }
        var steps = 1
        while !removal.step(256) { steps += 1 }
        // The C library reads 32 KiB at once: some 1,300 of such names.
        #expect(steps < 10 && removal.failure == nil)
        #expect(try parent.names().isEmpty)
    }

    @Test func whatAnAppAddsMeanwhileGoesTooButNotWithoutEnd() throws {
        let tree = try parent.directory(named: "tree")
        write([], to: "\(tree.path)/0")
        let removal = try TreeRemoval(["tree"], in: parent, depth: 8)
        var added = 0
        while !removal.step(1), added < 100 {
            added += 1
            if access(tree.path, F_OK) == 0 { write([], to: "\(tree.path)/\(added)") }
        }
        #expect((4..<50).contains(added) && removal.failure != nil)
        let again = try TreeRemoval(["tree"], in: parent, depth: 8)
        #expect(again.step(.max) && again.failure == nil)
        #expect(try parent.names().isEmpty)
    }

    @Test func namesThatAreNoTextGoToo() throws {
        let tree = try parent.directory(named: "tree")
        let odd = Array("\(tree.path)/".utf8CString.dropLast()) + [-1, -2]
        #expect(mkdir(odd + [0], 0o700) == 0)
        #expect(mkdir(odd + Array("/".utf8CString.dropLast()) + [-3, 0], 0o700) == 0)
        try parent.removeDirectory("tree", depth: 8)
        #expect(try parent.names().isEmpty)
    }

    @Test func allButTheKeptNamesGo() throws {
        let directory = try OwnedDirectory(path: temporary.path("in"))
        for name in ["a", "b"] { try directory.directory(named: name).replace("file", with: [1]) }
        write([], to: "\(directory.path)/.hidden")
        #expect(try directory.others(than: ["a"]).count == 1 && directory.others(than: ["a", "b", "c"]).isEmpty)
        let removal = try TreeRemoval(allIn: directory, but: ["a"], depth: 1)
        #expect(removal.step(.max) && removal.failure == nil)
        #expect(try directory.names() == ["a"] && directory.others(than: ["a"]).isEmpty)
        #expect(access("\(directory.path)/.hidden", F_OK) == 0)
    }

    /// An app can put any number of them there; what one removal leaves is for the next one.
    @Test func ofMoreNamesThanAreToldAtOnceTheRestGoesTheNextTime() throws {
        let directory = try OwnedDirectory(path: temporary.path("in"))
        for number in 0..<10_010 { write([], to: "\(directory.path)/\(number)") }
        for left in [11, 1] {
            let removal = try TreeRemoval(allIn: directory, but: [], depth: 1)
            write([], to: "\(directory.path)/new\(left)")
            #expect(removal.step(.max) && removal.failure == nil)
            #expect(try directory.names().count == left)
        }
    }

    @Test func aTreeDeeperThanAnyAppNeedsIsAnErrorAndNoCrash() throws {
        var directory = try parent.directory(named: "tree")
        for _ in 0..<8 { directory = try directory.directory(named: "d") }
        #expect(throws: FileError.self) { try parent.removeDirectory("tree", depth: 8) }
        try parent.removeDirectory("tree", depth: 9)
        #expect(try parent.names().isEmpty)
    }
}

extension OwnedDirectory {
    /// The directory of this name and what is in it, in one step.
    fileprivate func removeDirectory(_ name: String, depth: Int) throws(FileError) {
        let removal = try TreeRemoval([name], in: self, depth: depth)
        _ = removal.step(.max)
        if let failure = removal.failure { throw failure }
    }
}
