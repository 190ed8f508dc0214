// Listening: who gets in, what happens to the socket's file, and what is refused with which words.

import Glibc
import TandemBase
import TandemReactor
import TandemTestSupport
import Testing

@testable import TandemTransport

@Suite(.timeLimit(.minutes(10))) struct ListenerTests {
    private let loop: EventLoop
    private let directory = TemporaryDirectory()
    private let budget = ConnectionBudget(limit: 100)

    init() throws { loop = try EventLoop() }

    private var path: String { directory.path("a.sock") }

    private func listen(
        at address: SocketAddress? = nil, access: SocketAccess = .owner, budget: ConnectionBudget? = nil,
        log: @escaping LogHandler = { _ in }, onAccept: @escaping (SocketStream) -> Void = { _ in }
    ) throws(ListenError) -> StreamListener {
        try StreamListener(
            at: address ?? .unix(path: path), loop: loop, access: access, budget: budget ?? self.budget, log: log,
            onAccept: onAccept)
    }

    @Test func aLocalPeerIsKnownByTheKernelsCredentials() throws {
        var streams: [SocketStream] = []
        let listener = try listen(onAccept: { streams.append($0) })
        let peer = try RawPeer(connectingTo: path)
        loop.run { !streams.isEmpty }
        #expect(
            streams.map(\.peer.credentials) == [
                PeerCredentials(user: getuid(), process: getpid())
            ])
        withExtendedLifetime(peer) {}
        for stream in streams { stream.close(.closedHere) }
        listener.close()
    }

    @Test func refusedPeersThatNeverReadKeepFewSeats() throws {
        let budget = ConnectionBudget(limit: 200)
        var taken = 0
        let listener = try listen(
            budget: budget,
            onAccept: { stream in
                taken += 1
                stream.start()
                stream.send([1])
                stream.closeAfterFlush(.closedHere)
            })
        var peers: [RawPeer] = []
        for count in 1...400 {
            peers.append(try RawPeer(connectingTo: path))
            loop.run { taken == count }
            loop.runOnce()
        }
        #expect(listener.refusedConnections == 0)
        #expect(budget.inUse <= ConnectionBudget.lingeringLimit)
        withExtendedLifetime(peers) {}
        listener.close()
    }

    @Test func aSocketFileIsForItsOwnerUnlessAGroupIsNamed() throws {
        let listener = try listen()
        let own = try #require(try Linux.lookAt(path: path))
        #expect(own.mode == 0o600)
        listener.close()
        let group = try #require(getgrgid(getgid())).pointee
        let shared = try listen(access: .group(String(cString: group.gr_name)))
        #expect(try Linux.lookAt(path: path)?.mode == 0o660)
        shared.close()
        #expect(throws: ListenError.noSuchGroup("no such group")) { try listen(access: .group("no such group")) }
        #expect(try Linux.lookAt(path: path) == nil, "a listener that failed leaves no file")
    }

    @Test func aStaleSocketIsTakenOver() throws {
        let address = try NetworkAddress(path: path)
        do {
            let dead = try Linux.socket(for: address)
            try Linux.bind(dead.raw, to: address)
            withExtendedLifetime(dead) {}
        }
        let stale = try #require(try Linux.lookAt(path: path))
        var accepted = 0
        let listener = try listen(onAccept: { _ in accepted += 1 })
        #expect(try Linux.lookAt(path: path)?.inode != stale.inode || stale.mode != 0o600)
        let peer = try RawPeer(connectingTo: path)
        loop.run { accepted == 1 }
        withExtendedLifetime(peer) {}
        listener.close()
    }

    @Test func aSocketThatSomebodyAnswersIsLeftAlone() throws {
        let address = try NetworkAddress(path: path)
        let other = try Linux.socket(for: address)
        try Linux.bind(other.raw, to: address)
        try Linux.listen(other.raw, backlog: 1)
        let before = try Linux.lookAt(path: path)
        #expect(throws: ListenError.inUse(.unix(path: path))) { try listen() }
        #expect(try Linux.lookAt(path: path) == before)
    }

    @Test func twoListenersNeverShareAPath() throws {
        let first = try listen()
        #expect(throws: ListenError.inUse(.unix(path: path))) { try listen() }
        first.close()
        let second = try listen()
        second.close()
    }

    @Test func aFileThatIsNoSocketIsNeverRemoved() throws {
        directory.write(Bytes.text("precious"), to: "a.sock")
        #expect(throws: ListenError.notASocket(path: path)) { try listen() }
        #expect(try Linux.lookAt(path: path)?.isSocket == false && directory.names == ["a.sock"])
        #expect(ListenError.notASocket(path: path).description.contains("not a socket"))
    }

    @Test func closingRemovesTheFileOnlyIfItIsStillItsOwn() throws {
        let first = try listen()
        first.close()
        #expect(directory.names == ["a.sock.lock"])
        let second = try listen()
        try Linux.unlink(path: path)
        directory.write([], to: "a.sock")
        second.close()
        #expect(directory.names.contains("a.sock"))
    }

    @Test("CTL-79: a socket file that somebody removes is made again, and nothing that stands there is touched")
    func removedSocketFile() throws {
        var events: [LogEvent] = []
        var accepted = 0
        let listener = try listen(log: { events.append($0) }, onAccept: { _ in accepted += 1 })
        listener.lookAtFile()
        #expect(events.isEmpty)
        try Linux.unlink(path: path)
        listener.lookAtFile()
        let peer = try RawPeer(connectingTo: path)
        loop.run { accepted == 1 }
        #expect(try Linux.lookAt(path: path)?.mode == 0o600)

        try Linux.unlink(path: path)
        directory.write(Bytes.text("precious"), to: "a.sock")
        listener.lookAtFile()
        listener.lookAtFile()
        #expect(events.map(\.level) == [.warning, .error], "one line for a file that stays gone")
        #expect(try Linux.lookAt(path: path)?.isRegular == true)
        try Linux.unlink(path: path)
        listener.lookAtFile()
        let next = try RawPeer(connectingTo: path)
        loop.run { accepted == 2 }
        withExtendedLifetime((peer, next)) {}
        listener.close()
        #expect(directory.names == ["a.sock.lock"])
    }

    @Test func aMissingDirectoryIsAnErrorWithItsPath() {
        let missing = SocketAddress.unix(path: directory.path("missing/a.sock"))
        #expect(throws: ListenError.failed(missing, SystemError(call: "open", errno: ENOENT))) {
            try listen(at: missing)
        }
    }

    @Test func aPortInUseIsNamedAndAFreedOneIsReusedAtOnce() throws {
        let first = try listen(at: .tcp(host: "127.0.0.1", port: 0))
        guard case .tcp(_, let port) = first.address else { return #expect(Bool(false)) }
        #expect(port != 0)
        #expect(throws: ListenError.inUse(first.address)) { try listen(at: first.address) }
        #expect(ListenError.inUse(first.address).description.contains("127.0.0.1:\(port) is in use"))
        first.close()
        let second = try listen(at: first.address)
        second.close()
    }

    @Test func connectionsOverTheBudgetAreClosedAtOnceAndToldOnce() throws {
        let budget = ConnectionBudget(limit: 2)
        var streams: [SocketStream] = []
        var events: [LogEvent] = []
        let listener = try listen(budget: budget, log: { events.append($0) }, onAccept: { streams.append($0) })
        let peers = try (0..<5).map { _ in try RawPeer(connectingTo: path) }
        loop.run { listener.refusedConnections == 3 }
        #expect(streams.count == 2)
        #expect(budget.inUse == 2)
        #expect(try peers.map { try $0.receiveAvailable().isEmpty && $0.isEnded } == [false, false, true, true, true])
        #expect(events.map(\.message.description) == ["connections refused: too many are open"])
        streams[0].close(.closedHere)
        #expect(budget.inUse == 1, "a closed stream gives its share back")
        let late = try RawPeer(connectingTo: path)
        loop.run { streams.count == 3 }
        let surplus = try RawPeer(connectingTo: path)
        loop.run { listener.refusedConnections == 4 }
        #expect(events.count == 1, "LIM-54: one that was taken in between ends nothing")
        withExtendedLifetime((late, surplus)) {}
        for stream in streams { stream.close(.closedHere) }
        listener.close()
    }

    @Test func aFloodOfConnectionsIsTakenInBoundedPortions() throws {
        var accepted = 0
        let listener = try listen(
            budget: ConnectionBudget(limit: 1000),
            onAccept: {
                accepted += 1
                $0.close(.closedHere)
            })
        let peers = try (0..<100).map { _ in try RawPeer(connectingTo: path) }
        let counts = SystemCallCounter.counting { loop.runOnce() }
        #expect(accepted == 64)
        #expect(counts.accepts == 64)
        loop.run { accepted == 100 }
        withExtendedLifetime(peers) {}
        listener.close()
    }

    @Test func runningOutOfDescriptorsIsLoggedOncePausesAndRecovers() async {
        await #expect(processExitsWith: .exitCode(42)) {
            // The runtime opens a descriptor for its first timer of each clock. Later it could take the one that the
            // listener gives up for a moment. These wait for the descriptors and measure no time.
            try await Task.sleep(for: .milliseconds(5), clock: .continuous)
            try await Task.sleep(for: .milliseconds(5), clock: .suspending)
            let loop = try EventLoop()
            let directory = TemporaryDirectory()
            var streams: [SocketStream] = []
            var warnings = 0
            let listener = try StreamListener(
                at: .unix(path: directory.path("a.sock")), loop: loop, budget: ConnectionBudget(limit: 1000),
                log: { if $0.level == .warning { warnings += 1 } }
            ) { streams.append($0) }
            let peers = try (0..<30).map { _ in try RawPeer(connectingTo: directory.path("a.sock")) }
            let probe = try Linux.openReserve()
            // Several copies, which stay: the lowest free descriptors may be below those that are open.
            var highest = probe.raw
            for _ in 0..<16 { highest = max(highest, dup(probe.raw)) }
            try Linux.setDescriptorLimit(UInt64(highest) + 4)
            let counts = SystemCallCounter.counting {
                loop.run { streams.count + Int(listener.refusedConnections) == 30 }
            }
            #expect(streams.count < 30)
            #expect(listener.refusedConnections == UInt64(30 - streams.count), "what waited was told at once")
            #expect(counts.waits < 20 && counts.accepts < 200, "it paused instead of spinning")
            #expect(try peers.count { try $0.receiveAvailable().isEmpty && $0.isEnded } == 30 - streams.count)
            try Linux.setDescriptorLimit(1000)
            let next = try RawPeer(connectingTo: directory.path("a.sock"))
            try Linux.setDescriptorLimit(UInt64(highest) + 4)
            loop.run { streams.count + Int(listener.refusedConnections) == 31 }
            #expect(warnings == 1)
            try Linux.setDescriptorLimit(1000)
            let before = streams.count
            var later = [try RawPeer(connectingTo: directory.path("a.sock"))]
            loop.run { streams.count > before }
            // Some descriptors below the limit may be free: more come until one is refused.
            let refused = listener.refusedConnections
            while listener.refusedConnections == refused {
                try Linux.setDescriptorLimit(1000)
                later.append(try RawPeer(connectingTo: directory.path("a.sock")))
                try Linux.setDescriptorLimit(UInt64(highest) + 4)
                let known = streams.count + Int(listener.refusedConnections)
                loop.run { streams.count + Int(listener.refusedConnections) > known }
            }
            #expect(warnings == 1, "LIM-54: one line in a minute, also if one is taken in between")
            withExtendedLifetime((later, next, peers)) {}
            exit(42)
        }
    }
}
