// Handing a file to its app: once, under a safe name, whatever stands in the way.

import Glibc
import TandemBase
import TandemFiles
import TandemTestSupport
import Testing

@Suite struct AppInboxTests {
    private let temporary = TemporaryDirectory()
    private let key: SpoolKey
    private let spool: FileSpool
    private let app: OwnedDirectory
    private var inbox: AppInbox { AppInbox(of: app, owner: nil) }

    private func run(_ removal: TreeRemoval?) throws {
        while removal?.step(1) == false {}
        if let failure = removal?.failure { throw failure }
    }

    init() throws {
        key = SpoolKey(
            pairing: UniqueIdentifier(high: 1, low: 2), app: try ApplicationIdentifier("a"),
            item: UniqueIdentifier(high: 3, low: 4))
        spool = FileSpool(hashed: "partial", in: try OwnedDirectory(path: temporary.path("state")))
        app = try OwnedDirectory(path: temporary.path("app"))
        try spool.open(key).append([1, 2])
    }

    @Test("FIL-11: a file moves to its app once, and is found there again", arguments: ["x.txt", "Übersicht 日本.pdf"])
    func once(_ name: String) throws {
        let path = try #require(try inbox.move(key, named: name, from: spool))
        #expect(path == "\(temporary.path("app"))/inbox/\(key.pairing)/\(key.item)/\(name)")
        #expect(try FileReading.read(path: path, limit: 9) == [1, 2])
        #expect(try spool.read(key) == nil)
        #expect(try inbox.move(key, named: name, from: spool) == path)
        try run(inbox.removal(of: key))
        #expect(try inbox.move(key, named: name, from: spool) == nil)
    }

    @Test(
        "FIL-12: a name that could leave the directory is refused here too", arguments: ["", ".", "..", "a/b", "a\0"])
    func names(_ name: String) {
        #expect(throws: FileError.unsafeName(name)) { try inbox.move(key, named: name, from: spool) }
    }

    @Test("FIL-11: a directory on another file system than the spool gets no file, and the error says so")
    func otherFileSystem() throws {
        guard let disk = SmallDisk() else { return }
        let app = "\(disk.path)/app"
        try #require(mkdir(app, 0o700) == 0)
        let inbox = AppInbox(of: try OwnedDirectory(path: app), owner: nil)
        let path = "\(app)/inbox/\(key.pairing)/\(key.item)/a"
        #expect(throws: FileError.otherFileSystem(path: path)) { try inbox.move(key, named: "a", from: spool) }
        #expect(try spool.read(key) != nil)
    }

    @Test("FIL-12: what the app put in the file's place is neither followed nor overwritten")
    func links() throws {
        let directory = "\(temporary.path("app"))/inbox/\(key.pairing)/\(key.item)"
        _ = try inbox.move(key, named: "first", from: spool)
        let victim = temporary.path("victim")
        write([7], to: victim)
        try spool.open(key).append([5])
        try makeLink(directory + "/second", to: victim)
        #expect(try inbox.move(key, named: "second", from: spool) == nil)
        #expect(try FileReading.read(path: victim, limit: 9) == [7])
        #expect(try spool.read(key) != nil)
        try replaceWithLink("\(temporary.path("app"))/inbox/\(key.pairing)", to: temporary.path("state"))
        #expect(throws: FileError.self) { try inbox.move(key, named: "third", from: spool) }
        try? run(inbox.removal(of: key))
        #expect(try spool.read(key) != nil)
    }

    @Test("FIL-15: what belongs to no item is removed at the start")
    func orphans() throws {
        let path = try #require(try inbox.move(key, named: "x", from: spool))
        try run(inbox.removal(of: key.pairing.description, but: [key.item.description]))
        try run(inbox.removal(butOf: [key.pairing.description]))
        #expect(try inbox.move(key, named: "x", from: spool) == path)
        try run(inbox.removal(of: key.pairing.description, but: []))
        #expect(try inbox.move(key, named: "x", from: spool) == nil)
        try run(inbox.removal(butOf: ["another"]))
        #expect(try OwnedDirectory(existing: "\(temporary.path("app"))/inbox").names().isEmpty)
    }

    @Test("FIL-11, FIL-15: a file that comes while others are removed stays")
    func comesMeanwhile() throws {
        let files = try app.directory(named: "inbox").directory(named: "\(key.pairing)")
        for _ in 0..<300 { _ = try files.directory(named: "\(UniqueIdentifier.random())") }
        let removal = try #require(try inbox.removal(of: key.pairing.description, but: []))
        // Before its first step: some file systems show a name that is made later to nobody who reads already.
        let path = try #require(try inbox.move(key, named: "x", from: spool))
        try run(removal)
        #expect(try FileReading.read(path: path, limit: 9) == [1, 2])
        #expect(try files.names() == [key.item.description])
    }

    @Test("FIL-15: directories that the app made among its files go too")
    func directories() throws {
        let path = try #require(try inbox.move(key, named: "x", from: spool))
        let item = try OwnedDirectory(existing: path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" })
        try item.directory(named: "a").directory(named: "b").replace("file", with: [1])
        try run(inbox.removal(of: key))
        #expect(try inbox.move(key, named: "x", from: spool) == nil)
    }
}
