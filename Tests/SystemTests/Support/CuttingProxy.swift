// A stretch of the way between two devices that a test can cut: it passes bytes on, counts them, and closes both ends when
// so many have passed.

import Foundation
import Synchronization

/// Passes TCP connections on; what the dialled side sends is counted.
final class CuttingProxy: Sendable {
    /// A connection and its other half. Both threads use both descriptors, so both are closed when the last one has ended: the
    /// number of a closed one is soon somebody else's.
    private struct Passage {
        let near: Int32
        let far: Int32
        var threads = 2

        func cut() { for descriptor in [near, far] { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    private struct State {
        var passed = 0
        var cuts: [Int] = []
        var passages: [Int32: Passage] = [:]
        var isOver = false
    }

    let port: UInt16
    private let target: UInt16
    private let listener: Int32
    private let state = Mutex(State())

    /// Listens on a port of its own and dials `target` on this machine for each connection.
    init(to target: UInt16) throws {
        self.target = target
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = Self.address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard bound else { throw POSIXError(.EADDRNOTAVAIL) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in accept() }
    }

    deinit { close(listener) }

    /// The bytes that the dialled side has sent so far.
    var passed: Int { state.withLock { $0.passed } }

    /// Cuts every connection each time that one of these counts is reached.
    func cut(at counts: [Int]) { state.withLock { $0.cuts = counts.sorted() } }

    func cutNow() { state.withLock { state in state.passages.values.forEach { $0.cut() } } }

    func end() {
        state.withLock { $0.isOver = true }
        shutdown(listener, Int32(SHUT_RDWR))
        cutNow()
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }

    private func accept() {
        while true {
            let near = Glibc.accept(listener, nil, nil)
            guard near >= 0 else { return }
            guard !state.withLock(\.isOver) else {
                close(near)
                return
            }
            let far = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = Self.address(target)
            let connected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(far, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            guard connected else {
                close(near)
                close(far)
                continue
            }
            state.withLock { $0.passages[near] = Passage(near: near, far: far) }
            for (source, target) in [(near, far), (far, near)] {
                Thread.detachNewThread { [self] in
                    pass(from: source, to: target, isCounted: source == far)
                    leave(near)
                }
            }
        }
    }

    private func pass(from source: Int32, to target: Int32, isCounted: Bool) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(source, &buffer, buffer.count), count > 0 {
            if isCounted, isCut(after: count) { cutNow() }
            guard send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(target, Int32(SHUT_RDWR))
        shutdown(source, Int32(SHUT_RDWR))
    }

    private func leave(_ near: Int32) {
        state.withLock { state in
            state.passages[near]?.threads -= 1
            guard let passage = state.passages[near], passage.threads == 0 else { return }
            state.passages[near] = nil
            close(passage.near)
            close(passage.far)
        }
    }

    private func isCut(after count: Int) -> Bool {
        state.withLock { state in
            state.passed += count
            guard let next = state.cuts.first, state.passed >= next else { return false }
            state.cuts.removeFirst()
            return true
        }
    }
}
