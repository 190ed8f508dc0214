// A client that keeps no rule: it connects, writes any bytes and sees whether the daemon has closed. For hostile peers.

import Foundation
import Testing

/// A blocking socket of a hostile peer.
final class RawSocket {
    private let descriptor: Int32

    /// Connects to `HOST:PORT` on loopback or `unix:PATH`.
    init(_ address: String) throws {
        if address.hasPrefix("unix:") {
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var target = sockaddr_un()
            target.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &target.sun_path) { $0.copyBytes(from: address.dropFirst(5).utf8) }
            try #require(connect(&target))
        } else {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            let port = try #require(UInt16(address.split(separator: ":").last ?? ""))
            var target = sockaddr_in()
            target.sin_family = sa_family_t(AF_INET)
            target.sin_port = port.bigEndian
            target.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            try #require(connect(&target))
        }
    }

    deinit { close(descriptor) }

    private func connect<Address>(_ target: inout Address) -> Bool {
        let size = socklen_t(MemoryLayout<Address>.size)
        return withUnsafePointer(to: &target) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Foundation.connect(descriptor, $0, size) == 0 }
        }
    }

    /// Writes the bytes; false if the daemon does not take them any more.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Reads and drops as many bytes as are there, at most so many.
    func read(_ count: Int) {
        var buffer = [UInt8](repeating: 0, count: count)
        _ = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    }

    /// Whether the daemon has ended the connection; reads nothing.
    var hasHungUp: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP | POLLERR) != 0
    }

    /// Whether the daemon has ended the connection; what it said before is read and dropped.
    var isClosed: Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 { continue }
            return count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        }
    }
}
