// A watch tells which names changed. The loop is turned by what happens, never by time.

import TandemFiles
import TandemReactor
import TandemTestSupport
import Testing

@Suite struct DirectoryWatchTests {
    private let temporary = TemporaryDirectory()

    @Test func aReplacedFileIsToldByItsNameAndTheDraftIsNot() throws {
        let directory = try OwnedDirectory(path: temporary.path("app"))
        let loop = try EventLoop()
        var changes: [DirectoryWatch.Change] = []
        let watch = try DirectoryWatch(directory, on: loop) { change in
            changes.append(change)
            loop.stop()
        }
        loop.submit {
            try? directory.replace("active.plist", with: [1])
            try? directory.replace("active.plist", with: [2])
            try? directory.replace("other", with: [3])
        }
        loop.run()
        #expect(changes == [.names(["active.plist", "other"])])
        watch.stop()
    }

    @Test func afterStopNothingIsTold() throws {
        let directory = try OwnedDirectory(path: temporary.path("app"))
        let loop = try EventLoop()
        var count = 0
        let watch = try DirectoryWatch(directory, on: loop) { _ in count += 1 }
        try directory.replace("file", with: [1])
        watch.stop()
        watch.stop()
        loop.submit { loop.submit { loop.stop() } }
        loop.run()
        #expect(count == 0)
    }
}
