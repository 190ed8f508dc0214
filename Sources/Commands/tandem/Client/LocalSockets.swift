// The places where local sockets are when nobody says otherwise, and whether a daemon serves one. A socket file alone
// proves nothing: a crash leaves it behind.

import Glibc
import TandemBase
import TandemTransport

/// Where daemons listen for their host apps when nobody says otherwise.
enum LocalSockets {
    /// The places to look, in order.
    static func candidates(for role: DeviceRole, _ environment: Environment) -> [String] {
        let own = environment.value("XDG_RUNTIME_DIR").map { "\($0)/tandem/\(role.rawValue).sock" }
        return [own, "/run/tandem/\(role.rawValue).sock"].compactMap { $0 }
    }

    /// Where a daemon of this user listens when nobody says otherwise; nil if there is no such place.
    static func own(for role: DeviceRole, _ environment: Environment) -> String? {
        if let directory = environment.value("XDG_RUNTIME_DIR") { return "\(directory)/tandem/\(role.rawValue).sock" }
        return geteuid() == 0 ? "/run/tandem/\(role.rawValue).sock" : nil
    }

    /// Whether somebody accepts connections there; a socket file alone may be what a crash left behind.
    static func isServed(_ path: String) -> Bool {
        var address = sockaddr_un()
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count <= SocketAddress.longestPath else { return false }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
        }
    }
}
