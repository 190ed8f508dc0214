// Ports of loopback for daemons and proxies of the tests. Not those that the system chooses for whoever asks: between the
// choice and its use an outgoing connection of another test could take the port.

import Foundation
import Synchronization
import Testing

/// Ports that nobody listens on.
enum FreePort {
    /// Below those that the system gives to outgoing connections: none of them can take it meanwhile.
    private static let range: ClosedRange<UInt16> = 12_000...32_000
    private static let given = Mutex<Set<UInt16>>([])

    /// A port that is free, and that nobody else in this process is given.
    static func find() throws -> UInt16 {
        for _ in 0..<1000 {
            let port = UInt16.random(in: range)
            if given.withLock({ $0.insert(port).inserted }), isFree(port) { return port }
        }
        throw POSIXError(.EADDRINUSE)
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
