// Connecting without blocking: the outcome comes once, later, with a reason.

import Glibc
import TandemBase
import TandemReactor
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemTransport

/// A socket that waits in a listener's queue.
private final class WaitingSocket {
    private let descriptor: OwnedDescriptor

    /// nil if the queue is full.
    init?(connecting path: String) throws {
        let address = try NetworkAddress(path: path)
        let socket = try Linux.socket(for: address)
        do { _ = try Linux.connect(socket.raw, to: address) } catch {
            guard error.errno == EAGAIN else { throw error }
            return nil
        }
        descriptor = consume socket
    }
}

@Suite(.timeLimit(.minutes(10))) struct ConnectorTests {
    private let loop: EventLoop
    private let directory = TemporaryDirectory()

    init() throws { loop = try EventLoop() }

    private func connect(
        to address: SocketAddress, timeout: Duration = .seconds(30)
    ) -> Result<SocketStream, ConnectError> {
        var outcome: Result<SocketStream, ConnectError>?
        StreamConnector(to: address, loop: loop, timeout: timeout) { outcome = $0 }
        #expect(outcome == nil, "never from inside the call")
        loop.run { outcome != nil }
        return outcome ?? .failure(.timedOut(address))
    }

    /// Listens at an address, connects to it as `name` calls it, and expects the answer to what is sent.
    private func exchange(at address: SocketAddress, as name: (SocketAddress) -> SocketAddress = { $0 }) throws {
        let served = StreamRecorder()
        let answer = StreamRecorder()
        served.onBytes = { $0.send(served.bytes.reversed()) }
        let listener = try StreamListener(at: address, loop: loop, budget: ConnectionBudget(limit: 10)) {
            $0.delegate = served
            $0.start()
        }
        let stream = try connect(to: name(listener.address)).get()
        stream.delegate = answer
        stream.start()
        stream.send(Bytes.text("olleh"))
        loop.run { answer.bytes.count == 5 }
        stream.close(.closedHere)
        loop.run { served.isClosed }
        listener.close()
        #expect(answer.bytes == Bytes.text("hello"))
    }

    @Test func aSocketFileIsReached() throws { try exchange(at: .unix(path: directory.path("a.sock"))) }

    @Test func aNumericAddressIsReached() throws { try exchange(at: .tcp(host: "127.0.0.1", port: 0)) }

    @Test func `LIM-63: the system takes little for another device ahead of sending it, at both ends`() throws {
        var streams: [SocketStream] = []
        let listener = try StreamListener(
            at: .tcp(host: "127.0.0.1", port: 0), loop: loop, budget: ConnectionBudget(limit: 10)
        ) { streams.append($0) }
        streams.append(try connect(to: listener.address).get())
        loop.run { streams.count == 2 }
        for stream in streams {
            var (value, length) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
            let result = getsockopt(
                stream.descriptor?.raw ?? -1, CInt(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &value, &length)
            #expect(result == 0 && value == Limits.unsentBytes && value == 131_072)
            stream.close(.closedHere)
        }
        listener.close()
    }

    @Test func aNameIsLookedUpOffTheLoopAndReached() throws {
        try exchange(at: .tcp(host: "127.0.0.1", port: 0)) { address in
            guard case .tcp(_, let port) = address else { return address }
            return .tcp(host: "localhost", port: port)
        }
    }

    private func numeric(_ address: SocketAddress) throws -> NetworkAddress {
        guard case .tcp(let host, let port) = address else { throw ConnectError.timedOut(address) }
        return try #require(try NetworkAddress.resolve(host: host, port: port, .numeric).first)
    }

    @Test("SES-19: an address that does not answer keeps out none of its name's others")
    func silentAddress() throws {
        // The system drops what comes to a full backlog, as a path that is down does.
        let any = try numeric(.tcp(host: "127.0.0.1", port: 0))
        let full = try Linux.socket(for: any)
        try Linux.bind(full.raw, to: any)
        try Linux.listen(full.raw, backlog: 0)
        let silent = try Linux.localAddress(full.raw)
        let waiting = try Linux.socket(for: any)
        _ = try Linux.connect(waiting.raw, to: silent)

        var accepted = 0
        let listener = try StreamListener(
            at: .tcp(host: "127.0.0.1", port: 0), loop: loop, budget: ConnectionBudget(limit: 10)
        ) { _ in accepted += 1 }
        let good = try numeric(listener.address)
        var outcome: Result<SocketStream, ConnectError>?
        StreamConnector(
            to: .tcp(host: "two.addresses", port: 1), loop: loop, timeout: .seconds(30),
            headStart: .milliseconds(10), lookup: { _, _ in [silent, silent, good] }
        ) { outcome = $0 }
        loop.run { outcome != nil && accepted == 1 }
        let stream = try #require(outcome).get()
        stream.close(.closedHere)
        listener.close()
        withExtendedLifetime(full) {}
        withExtendedLifetime(waiting) {}
    }

    @Test("SES-19: an attempt past an address begins behind it, and comes to it last")
    func pastAnAddress() throws {
        let listeners = try (0..<3).map { _ in
            try StreamListener(
                at: .tcp(host: "127.0.0.1", port: 0), loop: loop, budget: ConnectionBudget(limit: 10)
            ) { _ in }
        }
        let addresses = try listeners.map { try numeric($0.address) }
        func reached(past passed: PeerDescription?, among addresses: [NetworkAddress]) throws -> PeerDescription {
            var outcome: Result<SocketStream, ConnectError>?
            StreamConnector(
                to: .tcp(host: "three.addresses", port: 1), past: passed, loop: loop, timeout: .seconds(30),
                headStart: .seconds(30), lookup: { _, _ in addresses }
            ) { outcome = $0 }
            loop.run { outcome != nil }
            let stream = try #require(outcome).get()
            defer { stream.close(.closedHere) }
            return stream.peer
        }
        let peers = listeners.map { PeerDescription.remote($0.address) }
        #expect(try reached(past: nil, among: addresses) == peers[0])
        #expect(try reached(past: peers[0], among: addresses) == peers[1])
        #expect(try reached(past: peers[1], among: addresses) == peers[2])
        #expect(try reached(past: peers[2], among: addresses) == peers[0])
        // Not the port of a listener that has closed, which another test may have by now.
        let refusing = try numeric(.tcp(host: "127.0.0.1", port: 1))
        #expect(
            try reached(past: peers[0], among: [addresses[0], refusing]) == peers[0], "it may be the right one by now")
        for listener in listeners { listener.close() }
    }

    @Test func nobodyAtAnAddressIsARefusalWithItsName() throws {
        let path = directory.path("nobody.sock")
        let missing = SocketAddress.unix(path: path)
        #expect(throws: ConnectError.failed(missing, SystemError(call: "connect", errno: ENOENT))) {
            try connect(to: missing).get()
        }
        let listener = try StreamListener(
            at: .tcp(host: "127.0.0.1", port: 0), loop: loop, budget: ConnectionBudget(limit: 1)
        ) { _ in }
        let gone = listener.address
        listener.close()
        #expect(throws: ConnectError.failed(gone, SystemError(call: "connect", errno: ECONNREFUSED))) {
            try connect(to: gone).get()
        }
    }

    @Test func aSocketThatTheUserMayNotOpenNamesTheGroup() {
        let denied = SystemError(call: "connect", errno: EACCES)
        let text = ConnectError.failed(.unix(path: "/run/tandem/primary.sock"), denied).description
        #expect(text.contains("EACCES") && text.contains("--local-group"))
        #expect(!ConnectError.failed(.tcp(host: "h", port: 1), denied).description.contains("--local-group"))
        let missing = SystemError(call: "connect", errno: ENOENT)
        #expect(!ConnectError.failed(.unix(path: "/s"), missing).description.contains("--local-group"))
    }

    @Test func aNameThatNobodyHasIsUnresolved() {
        guard case .failure(.unresolved(let error)) = connect(to: .tcp(host: "a..b", port: 1)) else {
            return #expect(Bool(false), "a name with an empty label has no address")
        }
        #expect(error.host == "a..b")
        #expect(error.description.contains("a..b"))
    }

    @Test func anAttemptEndsAtItsDeadline() {
        let address = SocketAddress.tcp(host: "127.0.0.1", port: 9)
        #expect(throws: ConnectError.timedOut(address)) { try connect(to: address, timeout: .zero).get() }
    }

    @Test("SES-1: a local socket whose queue is full is tried again until its listener takes a connection")
    func fullQueue() throws {
        let path = directory.path("full.sock")
        let address = SocketAddress.unix(path: path)
        let listening = try BoundSocket.bind(to: address, access: .owner)
        try Linux.listen(listening.descriptor.raw, backlog: 0)
        var waiting: [WaitingSocket] = []
        while let socket = try WaitingSocket(connecting: path) { waiting.append(socket) }
        #expect(!waiting.isEmpty, "the queue is full")
        var outcome: Result<SocketStream, ConnectError>?
        StreamConnector(to: address, loop: loop, timeout: .seconds(30)) { outcome = $0 }
        for _ in 0..<3 { loop.runOnce() }
        #expect(outcome == nil)
        guard case .connection = try Linux.accept(listening.descriptor.raw) else { throw Unexpected("nobody waits") }
        loop.run { outcome != nil }
        try #require(outcome).get().close(.closedHere)
    }

    @Test func aCancelledAttemptTellsNothing() {
        var isTold = false
        let connector = StreamConnector(to: .unix(path: directory.path("x")), loop: loop) { _ in isTold = true }
        connector.cancel()
        for _ in 0..<3 { loop.runOnce() }
        #expect(!isTold)
    }
}
