// TCP proxy between two daemons with the faults of networks: delay, loss, silence, resets, half-open connections, and
// cuts after a number of bytes. It inspects no byte. Threads with blocking calls, because only tests use it.

import Foundation
import Synchronization
import TandemTestSupport
import Testing

/// A proxy on a free port of loopback.
final class NetworkProxy: Sendable {
    /// The proxy's treatment of bytes on their way.
    enum Weather: Sendable, Equatable {
        case fine
        /// Each piece waits this long.
        case delay(milliseconds: UInt32)
        /// One segment of twenty is lost and sent again after 200 to 400 ms, as TCP does; all behind it wait.
        case loss
        /// A line of 1 Mbit/s.
        case narrow
        /// Nothing arrives and neither end gets an error: packets are lost, and sent again later.
        case silence
        /// New connections are reset at once.
        case closed
    }

    private struct Pair {
        let near: Int32
        let far: Int32
        /// The near side hears nothing of the far side's end.
        var isHalfOpen = false
    }

    private struct State {
        var weather = Weather.fine
        var pairs: [Int: Pair] = [:]
        var nextNumber = 0
        var isEnded = false
        /// The bytes that the dialled side has sent.
        var passed = 0
        /// All connections are cut each time that one of these counts is reached, in ascending order.
        var cuts: [Int] = []
    }

    let port: UInt16
    private let listener: Int32
    private let target: UInt16
    private let state = Mutex(State())

    init(to target: UInt16) throws {
        self.target = target
        port = try FreePort.find()
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = Self.loopback(port)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { [listener] in bind(listener, $0, size) == 0 }
        }
        try #require(isBound && listen(listener, 64) == 0)
        Thread.detachNewThread { [self] in acceptAll() }
    }

    /// Ends the proxy and all its connections; its threads end with them.
    func end() {
        state.withLock { $0.isEnded = true }
        reset()
        shutdown(listener, Int32(SHUT_RDWR))
    }

    func set(_ weather: Weather) { state.withLock { $0.weather = weather } }

    /// Resets all connections, on both sides.
    func reset() { forEachPair { Self.abort($0.near, $0.far) } }

    /// The bytes that the dialled side has sent so far.
    var passed: Int { state.withLock(\.passed) }

    /// Cuts every connection each time that the dialled side has sent one of these counts.
    func cut(at counts: [Int]) { state.withLock { $0.cuts = counts.sorted() } }

    /// Ends all connections in an orderly way, on both sides.
    func cutNow() {
        forEachPair { pair in for descriptor in [pair.near, pair.far] { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    private func isCut(after count: Int) -> Bool {
        state.withLock { state in
            state.passed += count
            guard let next = state.cuts.first, state.passed >= next else { return false }
            state.cuts.removeFirst()
            return true
        }
    }

    /// The dialled side is reset; the dialling side hears nothing, for ever.
    func halfOpen() {
        state.withLock { state in for number in state.pairs.keys { state.pairs[number]?.isHalfOpen = true } }
        forEachPair { Self.abort($0.far) }
    }

    private func forEachPair(_ body: (Pair) -> Void) { state.withLock { $0.pairs.values.forEach(body) } }

    private var weather: Weather { state.withLock(\.weather) }

    private func acceptAll() {
        while true {
            let near = accept(listener, nil, nil)
            guard near >= 0 else { break }
            guard weather != .closed, let far = connect() else {
                Self.abort(near)
                close(near)
                continue
            }
            let number = state.withLock { state in
                state.nextNumber += 1
                state.pairs[state.nextNumber] = Pair(near: near, far: far)
                return state.nextNumber
            }
            let done = Atomic2()
            for (from, to) in [(near, far), (far, near)] {
                Thread.detachNewThread { [self] in
                    pump(from, to, number, isCounted: from == far)
                    if done.second() { finish(number) }
                }
            }
        }
        // By this thread, which uses it: the number of a closed one is soon somebody else's.
        close(listener)
    }

    private func finish(_ number: Int) {
        state.withLock { state in
            guard let pair = state.pairs.removeValue(forKey: number) else { return }
            close(pair.near)
            close(pair.far)
        }
    }

    private func pump(_ from: Int32, _ to: Int32, _ number: Int, isCounted: Bool) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var random = SeededGenerator(seed: UInt64(number))
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            if isCounted, isCut(after: count) { cutNow() }
            waitForWeather(count, &random)
            if send(to, buffer, count, Int32(MSG_NOSIGNAL)) != count, !isHalfOpen(number) { break }
        }
        if !isHalfOpen(number) { shutdown(to, Int32(SHUT_WR)) }
    }

    private func isHalfOpen(_ number: Int) -> Bool { state.withLock { $0.pairs[number]?.isHalfOpen == true } }

    private func waitForWeather(_ count: Int, _ random: inout SeededGenerator) {
        switch weather {
        case .delay(let milliseconds): usleep(milliseconds * 1000)
        case .loss:
            for _ in stride(from: 0, to: count, by: 1448) where random.next() % 20 == 0 {
                usleep(.random(in: 200_000...400_000, using: &random))
            }
        case .narrow: usleep(UInt32(count) * 8)
        case .fine, .silence, .closed: break
        }
        while weather == .silence, !state.withLock(\.isEnded) { usleep(10_000) }
    }

    private func connect() -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.loopback(target)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Foundation.connect(descriptor, $0, size) == 0 }
        }
        if isConnected { return descriptor }
        close(descriptor)
        return nil
    }

    /// Makes the other ends see a reset, and wakes who reads here; the threads close the descriptors.
    private static func abort(_ descriptors: Int32...) {
        for descriptor in descriptors {
            var nowhere = sockaddr()
            nowhere.sa_family = sa_family_t(AF_UNSPEC)
            // Connecting a TCP socket to nothing is how Linux resets it.
            _ = Foundation.connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
        }
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return address
    }
}

/// Tells which of two is the second.
private final class Atomic2: Sendable {
    private let count = Mutex(0)

    func second() -> Bool {
        count.withLock { count in
            count += 1
            return count == 2
        }
    }
}
