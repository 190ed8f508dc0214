// Changes of files as a watch reports them: whole files only, each by its name, and the end of the directory.

import Glibc
import TandemFiles
import TandemReactor
import TandemTestSupport
import Testing

@Suite struct DirectoryWatchTests {
    /// The events that an action in the directory causes, until there is one of those wanted.
    private static func events(
        in place: TemporaryDirectory, until last: DirectoryWatch.Event, _ act: (OwnedDirectory) throws -> Void
    ) throws -> [DirectoryWatch.Event] {
        let loop = try EventLoop()
        let directory = try OwnedDirectory(existing: place.path)
        var events: [DirectoryWatch.Event] = []
        let watch = try DirectoryWatch(path: place.path, loop: loop) { events.append($0) }
        try act(directory)
        loop.run { events.last == last }
        watch.cancel()
        try? directory.replace("after.plist", with: [1])
        loop.runOnce()
        return events
    }

    @Test("a file that is replaced, written or removed is reported by its name, and nothing after the end of the watch")
    func aFileIsReportedByItsName() throws {
        let place = TemporaryDirectory()
        try OwnedDirectory(existing: place.path).replace("gone.plist", with: [1])
        let events = try Self.events(in: place, until: .changed(["gone.plist"])) { directory in
            try directory.remove("gone.plist")
        }
        #expect(events == [.changed(["gone.plist"])])
        let replaced = try Self.events(in: place, until: .changed(["config.plist"])) { directory in
            try directory.replace("config.plist", with: [1, 2, 3])
        }
        #expect(replaced == [.changed(["config.plist"])])
        let written = try Self.events(in: place, until: .changed(["config.plist"])) { _ in
            place.write([4], to: "config.plist")
        }
        #expect(written == [.changed(["config.plist"])])
    }

    @Test("a directory that is removed is reported, and one that is missing cannot be watched")
    func aRemovedDirectory() throws {
        let place = TemporaryDirectory()
        let inner = try OwnedDirectory(path: place.path + "/inner")
        let loop = try EventLoop()
        var events: [DirectoryWatch.Event] = []
        let watch = try DirectoryWatch(path: inner.path, loop: loop) { events.append($0) }
        #expect(rename(inner.path, place.path + "/other") == 0)
        loop.run { events.contains(.lost) }
        watch.cancel()
        #expect(throws: FileError.missing(path: inner.path)) {
            _ = try DirectoryWatch(path: inner.path, loop: loop) { _ in }
        }
    }
}
