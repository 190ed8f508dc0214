// Faults of a local socket that a command does not wait for.

import TandemOperations
import Testing

@Suite struct SocketObstacleTests {
    private static let path = "/run/tandem/primary.sock"

    @Test(
        "CTL-73: a socket without permission, and what is no daemon's socket, are faults that stay",
        arguments: [
            ("EACCES", SocketPathEntry.socket(owner: "root"), "the socket belongs to root"),
            ("EPERM", .socket(owner: "user 7"), "the socket belongs to user 7"),
            ("EACCES", .unseen, "a directory on the way is closed"), ("ENOTDIR", .unseen, "is not a directory"),
            ("ELOOP", .unseen, "symbolic links form a loop"), ("EPROTOTYPE", .socket(owner: "root"), "of another type"),
            ("ECONNREFUSED", .file, "is a file, not a socket"), ("EACCES", .file, "is a file, not a socket"),
            (nil, .file, "is a file, not a socket"), (nil, .directory, "is a directory, not a socket"),
        ] as [(String?, SocketPathEntry, String)])
    func stays(error: String?, place: SocketPathEntry, text: String) throws {
        let found = try #require(SocketObstacle.text(path: Self.path, error: error, place: place))
        #expect(found.contains(Self.path) && found.contains(text), "\(found)")
    }

    @Test("CTL-73: a user who was just added to the daemon's group is told to log in again")
    func newMember() {
        let text = SocketObstacle.text(path: Self.path, error: "EACCES", place: .socket(owner: "root"))
        #expect(text?.contains("log in again if you were just added to the group") == true)
    }

    @Test(
        "CTL-73: a daemon that is not there yet, or is busy, is no such fault",
        arguments: [
            ("ENOENT", SocketPathEntry.unseen), ("ECONNREFUSED", .socket(owner: "root")),
            ("EAGAIN", .socket(owner: "root")), (nil, .socket(owner: "root")), (nil, .unseen),
        ] as [(String?, SocketPathEntry)])
    func heals(error: String?, place: SocketPathEntry) {
        #expect(SocketObstacle.text(path: Self.path, error: error, place: place) == nil)
    }
}
