// Where the devices of one world are: a directory with a state directory and a socket for each, and two addresses of
// the way between them. The primary listens at one, the proxy at the other, which is the one that join links name.

import Glibc
import Synchronization
import TandemTestSupport
import TandemTransport

/// The places of one world; its files are gone when nobody holds it.
final class Site: Sendable {
    private static let count = Atomic<UInt32>(0)

    private let directory = TemporaryDirectory()
    /// Where the primary takes links, and where the secondaries dial.
    let listening: SocketAddress
    let dialled: SocketAddress

    /// - Parameter overTCP: else links go over Unix sockets.
    init(overTCP: Bool) {
        guard overTCP else {
            listening = .unix(path: directory.path("link"))
            dialled = .unix(path: directory.path("way"))
            return
        }
        // All of 127/8 is this machine. An address of one's own needs no free port to be found, which another may take.
        let world = Self.count.wrappingAdd(1, ordering: .relaxed).newValue % 250
        let host = "127.\(world + 1).\(getpid() >> 8 & 255).\(getpid() & 255)"
        listening = .tcp(host: host, port: 47_470)
        dialled = .tcp(host: host, port: 47_471)
    }

    func state(_ place: Place) -> String { directory.path(place.fileName) }
    func socket(_ place: Place) -> String { directory.path(place.fileName + ".sock") }
    func log(_ place: Place) -> String { directory.path(place.fileName + ".log") }
    func file(_ name: String) -> String { directory.path(name) }
}
