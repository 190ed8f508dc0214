// User at the other end of a connection of this machine: the socket's own word for a Unix socket, the kernel's table of
// TCP connections for loopback. The token decides who uses the console; this keeps its cookie from other users, since
// browsers send the cookies of one port to every port of a host.

import Glibc
import TandemConsole
import TandemReactor

/// Looks up users of connections.
enum PeerUser {
    /// Bytes of the kernel's table that are read.
    private static let tableLimit = 4 << 20

    /// Whether the connection is the user's own or root's, or nobody can tell whose.
    static func isAllowed(atOtherEndOf socket: Int32, user: UInt32) -> Bool {
        guard let near = end(socket, getsockname), let far = end(socket, getpeername) else { return false }
        guard let far, let near else {
            let found = try? Linux.peerCredentials(socket).user
            return found == user || found == 0
        }
        let table = far.isWide ? "/proc/net/tcp6" : "/proc/net/tcp"
        guard let found = ConnectionTable.owner(of: far.text, to: near.text, in: contents(table)) else { return true }
        return found == user || found == 0
    }

    private typealias Lookup = (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32

    /// One end as the kernel's table spells it; nil within for a Unix socket, nil for none.
    private static func end(_ socket: Int32, _ lookup: Lookup) -> (text: String, isWide: Bool)?? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let outcome = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { lookup(socket, $0, &length) }
        }
        guard outcome == 0 else { return nil }
        return withUnsafeBytes(of: storage) { bytes -> (text: String, isWide: Bool)?? in
            let port = hexadecimal(
                UInt32(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))), 4)
            let word = { hexadecimal(bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self), 8) }
            switch Int32(storage.ss_family) {
            case AF_INET: return .some(("\(word(4)):\(port)", false))
            case AF_INET6: return .some((([8, 12, 16, 20].map(word).joined()) + ":\(port)", true))
            case AF_UNIX: return .some(nil)
            default: return nil
            }
        }
    }

    private static func hexadecimal(_ number: UInt32, _ digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    private static func contents(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var (bytes, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while bytes.count < tableLimit {
            let count = read(file, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
