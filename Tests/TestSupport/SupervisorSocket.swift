// A supervisor as a service sees it: a datagram socket that keeps what arrives until the test reads it.

internal import Foundation

/// A bound datagram socket.
package final class SupervisorSocket {
    private let descriptor: CInt

    /// - Parameter name: a path, or `@` and a name that no file has.
    package init(at name: String) {
        let type = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = socket(AF_UNIX, type, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = name.utf8.map { $0 == UInt8(ascii: "@") ? 0 : $0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // A name ends with its last byte, a path with a NUL.
        let length = MemoryLayout<sa_family_t>.size + bytes.count + (name.hasPrefix("@") ? 0 : 1)
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(length)) }
        }
        precondition(result == 0, "bind: errno \(errno)")
    }

    deinit { close(descriptor) }

    /// The next datagram; nil if there is none.
    package func next() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// All datagrams that are there.
    package func all() -> [String] { Array(sequence(state: ()) { _ in self.next() }) }
}
