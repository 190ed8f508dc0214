// A temporary directory for one test, removed with everything in it. Its path is short, because the path of a socket in
// it has at most 107 bytes.

import Foundation
import Synchronization
import TandemTestSupport
import Testing

final class Workspace: Sendable {
    private let directory = TemporaryDirectory()

    var path: String { directory.path }

    subscript(name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: self[name]))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self[name])
        return self[name]
    }

    func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: self[name])), as: UTF8.self)
    }

    func mode(_ name: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: self[name])[.posixPermissions] as? Int)
    }
}

/// Ports of loopback that nobody listens on.
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
        // A program that starts just now has a copy of this socket until its exec. With this option, which every
        // listener here sets too, the copy keeps no one from the port.
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
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

/// A tmpfs of a given size, gone with the test.
final class SmallDisk {
    private let path: String

    /// - Parameter path: a directory, made if it is not there.
    init(at path: String, size: String) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try #require(mount("tmpfs", path, "tmpfs", 0, "size=\(size),mode=700") == 0, "cannot mount: errno \(errno)")
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    func resize(to size: String) throws {
        try #require(mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "size=\(size)") == 0, "errno \(errno)")
    }

    /// Leaves no free block.
    func fill() throws {
        let descriptor = open("\(path)/ballast", O_WRONLY | O_CREAT, 0o600)
        defer { close(descriptor) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(descriptor, block, block.count) > 0 {}
        #expect(errno == ENOSPC)
    }

    func free() throws { try FileManager.default.removeItem(atPath: "\(path)/ballast") }
}
