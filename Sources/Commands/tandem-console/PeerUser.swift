// User at the other end of a connection of this machine: the socket's own word for a Unix socket, the kernel's about
// the far socket for TCP. The token decides who uses the console; this keeps its cookie from other users, since
// browsers send the cookies of one port to every port of a host.

import Glibc
import TandemConsole
import TandemReactor

/// Looks up users of connections.
enum PeerUser {
    /// The user at the other end as far as the kernel names one, and whether the connection is the user's own or
    /// root's, or comes from another machine. A connection of this machine with no known user is not allowed.
    static func other(_ socket: Int32, user: UInt32) -> (owner: UInt32?, isAllowed: Bool) {
        guard let near = end(socket, getsockname), let far = end(socket, getpeername) else { return (nil, false) }
        guard case (.tcp(let near), .tcp(let far)) = (near, far) else {
            let found = try? Linux.peerCredentials(socket).user
            return (found, found == user || found == 0)
        }
        let question = SocketQuestion(near: near, far: far)
        let answer = kernel(question.message)
        return (question.owner(by: answer), question.isAllowed(user, by: answer))
    }

    private enum End {
        case tcp(SocketEnd)
        case unix
    }
    private typealias Lookup = (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32

    private static func end(_ socket: Int32, _ lookup: Lookup) -> End? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let outcome = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { lookup(socket, $0, &length) }
        }
        guard outcome == 0 else { return nil }
        return withUnsafeBytes(of: storage) { bytes -> End? in
            let port = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
            switch Int32(storage.ss_family) {
            case AF_INET: return .tcp(SocketEnd(address: Array(bytes[4..<8]), port: port))
            case AF_INET6:
                let interface = bytes.loadUnaligned(fromByteOffset: 24, as: UInt32.self)
                return .tcp(SocketEnd(address: Array(bytes[8..<24]), port: port, interface: interface))
            case AF_UNIX: return .unix
            default: return nil
            }
        }
    }

    /// The kernel's answer to a message, which it gives within the call that sends it; empty for none.
    private static func kernel(_ message: [UInt8]) -> [UInt8] {
        let (diagnosis, kind) = (Int32(4), Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue))
        let door = socket(AF_NETLINK, kind, diagnosis)
        guard door >= 0 else { return [] }
        defer { close(door) }
        guard send(door, message, message.count, 0) == message.count else { return [] }
        var answer = [UInt8](repeating: 0, count: 4096)
        let count = recv(door, &answer, answer.count, Int32(MSG_DONTWAIT))
        return Array(answer.prefix(max(0, count)))
    }
}
