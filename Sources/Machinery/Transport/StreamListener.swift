// Takes connections at one address and hands them on as streams. It takes a bounded number in a turn, so that a flood
// of connections does not starve those that exist; it refuses what is over its budget at once; and when the process is
// out of descriptors it sheds what waits with a descriptor kept in reserve and then pauses, instead of being woken for
// ever by connections that it cannot take. A socket file that somebody removes is made again.

package import TandemBase
package import TandemReactor

/// A listening socket; confined to its loop's thread. The loop keeps it alive until `close`.
package final class StreamListener: ReadinessTarget {
    /// Connections taken in one turn: enough for a restart storm, short enough not to be felt by others.
    static var acceptsPerTurn: Int { 64 }
    /// The pause when descriptors have run out.
    static var exhaustionPause: Duration { .milliseconds(100) }
    /// The time between two lines in the log about the same, however often it happens (LIM-54).
    static var linePause: Duration { .seconds(60) }
    /// Connections that the kernel keeps waiting for us.
    static var backlog: Int { 512 }
    /// The time between two looks at the socket's file: a client that finds none tries again within seconds.
    static var fileLookPause: Duration { .seconds(5) }

    /// The address in effect, with the port that the system chose for port 0.
    package let address: SocketAddress
    private let loop: EventLoop
    private let access: SocketAccess
    private let budget: ConnectionBudget
    private let log: LogHandler
    private let onAccept: (SocketStream) -> Void
    private var fileLook: TimerToken?
    /// Whether the log has said why the removed file cannot be made again.
    private var isLossLogged = false
    private var socket: BoundSocket?
    private var registration: Registration?
    private var reserve: OwnedDescriptor?
    private var pause: TimerToken?
    /// When the log last said that the budget refuses connections.
    private var refusalLogged: MonotonicTime?
    /// When the log last said that accepting fails.
    private var pauseLogged: MonotonicTime?
    /// Connections closed at once because of the budget or the descriptor limit.
    package private(set) var refusedConnections: UInt64 = 0

    /// Listens from now on; each stream is handed on before it is started.
    package init(
        at address: SocketAddress, loop: EventLoop, access: SocketAccess = .owner, budget: ConnectionBudget,
        log: @escaping LogHandler = { _ in },
        onAccept: @escaping (SocketStream) -> Void
    ) throws(ListenError) {
        let socket = try BoundSocket.bind(to: address, access: access)
        self.address = socket.address
        self.loop = loop
        self.access = access
        self.budget = budget
        self.log = log
        self.onAccept = onAccept
        do throws(SystemError) {
            reserve = try Linux.openReserve()
        } catch {
            throw .failed(address, error)
        }
        try listen(on: consume socket)
        lookAgain()
    }

    private func listen(on socket: consuming BoundSocket) throws(ListenError) {
        do throws(SystemError) {
            try Linux.listen(socket.descriptor.raw, backlog: Self.backlog)
            registration = try loop.register(socket.descriptor.raw, for: .readable, target: self)
        } catch {
            throw .failed(address, error)
        }
        self.socket = consume socket
    }

    private func stopListening() {
        if let registration { loop.deregister(registration) }
        if let pause { loop.cancel(pause) }
        registration = nil
        pause = nil
        socket = nil
    }

    /// Takes no more connections; those taken stay. Removes the socket's file.
    package func close() {
        stopListening()
        if let fileLook { loop.cancel(fileLook) }
        fileLook = nil
        reserve = nil
    }

    // MARK: a file that is gone

    private func lookAgain() {
        guard case .unix = address else { return }
        fileLook = loop.schedule(after: Self.fileLookPause) { [self] in
            lookAtFile()
            lookAgain()
        }
    }

    /// Makes the socket's file again if it is gone (CTL-79).
    func lookAtFile() { if socket?.isLost != false { bindAgain() } }

    /// The old socket is of no use to anybody who has no connection yet. It goes first, with the lock of its path.
    private func bindAgain() {
        stopListening()
        do throws(ListenError) {
            try listen(on: try BoundSocket.bind(to: address, access: access))
            isLossLogged = false
            log(LogEvent(.warning, "the socket's file was removed, and is made again", .text("address", "\(address)")))
        } catch {
            guard !isLossLogged else { return }
            isLossLogged = true
            log(
                LogEvent(
                    .error, "the socket's file was removed, and cannot be made again yet; nobody can connect",
                    .text("address", "\(address)"), .text("error", "\(error)")))
        }
    }

    package func isReady(_ readiness: Readiness) {
        var taken = 0
        while taken < Self.acceptsPerTurn, let raw = socket?.descriptor.raw {
            do throws(SystemError) {
                switch try Linux.accept(raw) {
                case .connection(let descriptor, let peer): handOn(consume descriptor, from: peer)
                case .lost: break
                case .none: return
                }
            } catch {
                return pauseAccepting(because: error)
            }
            taken += 1
        }
    }

    private func handOn(_ descriptor: consuming OwnedDescriptor, from address: NetworkAddress) {
        guard let charge = budget.take() else { return refuse() }
        do throws(SystemError) {
            let peer = try PeerDescription(descriptor: descriptor.raw, address: address)
            if !address.isLocal { try BoundSocket.prepareLine(descriptor.raw) }
            let stream = SocketStream(
                takingOwnership: descriptor, loop: loop, peer: peer, charge: consume charge)
            onAccept(stream)
        } catch {
            log(LogEvent(.debug, "connection lost while it was taken", .text("error", "\(error)")))
        }
    }

    private func refuse() {
        refusedConnections += 1
        guard Self.isDue(&refusalLogged, loop.now) else { return }
        log(
            LogEvent(
                .warning, "connections refused: too many are open", .text("address", "\(address)"),
                .integer("limit", budget.limit)))
    }

    /// Whether another line may be logged. At a limit connections come and go, so an accepted connection in between
    /// does not end the pause.
    private static func isDue(_ last: inout MonotonicTime?, _ now: MonotonicTime) -> Bool {
        if let last, now.since(last) < linePause { return false }
        last = now
        return true
    }

    // MARK: running out of descriptors

    private func pauseAccepting(because error: SystemError) {
        report(error)
        if error.isExhaustion { shedWaiting() }
        guard let registration else { return }
        do {
            try loop.update(registration, interest: [])
        } catch {
            return
        }
        pause = loop.schedule(after: Self.exhaustionPause) { [self] in resumeAccepting() }
    }

    private func report(_ error: SystemError) {
        guard Self.isDue(&pauseLogged, loop.now) else { return }
        let remedy = error.name == "EMFILE" ? "; raise the limit of open files, LimitNOFILE of a service" : ""
        log(
            LogEvent(
                .warning, "accepting paused", .text("address", "\(address)"), .text("error", "\(error)\(remedy)")))
    }

    private func resumeAccepting() {
        pause = nil
        if reserve == nil { reserve = try? Linux.openReserve() }
        if let registration { try? loop.update(registration, interest: .readable) }
    }

    /// Closes what waits, so that those peers learn it at once and may try elsewhere or later.
    private func shedWaiting() {
        guard let raw = socket?.descriptor.raw, reserve != nil else { return }
        reserve = nil
        for _ in 0..<Self.acceptsPerTurn {
            guard case .connection = try? Linux.accept(raw) else { break }
            refusedConnections += 1
        }
        reserve = try? Linux.openReserve()
    }
}

/// Why a listener cannot start, in words an operator can act on.
package enum ListenError: Error, Hashable, Sendable {
    case inUse(SocketAddress)
    case notASocket(path: String)
    case unresolved(ResolverError)
    case noSuchGroup(String)
    case failed(SocketAddress, SystemError)
}

extension ListenError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inUse(let address): "\(address) is in use by another listener; stop it or choose another address"
        case .notASocket(let path): "\(path) exists and is not a socket; nothing was changed, choose another path"
        case .unresolved(let error): "\(error)"
        case .noSuchGroup(let name):
            "there is no group \(OutsideText.quoted(name)) on this machine; create it with "
                + "'addgroup --system \(ShellWord.quoted(name))', or name another with --local-group"
        case .failed(let address, let error) where error.name == "EADDRNOTAVAIL":
            "cannot listen at \(address): no interface of this machine has this address; 'ip address' lists them"
        case .failed(let address, let error): "cannot listen at \(address): \(error)"
        }
    }
}

/// A limit on the connections of a kind that are open at once, so that strangers cannot take all descriptors. A charge
/// is taken before anything is spent on a connection, and returns when the connection releases it, on whatever path.
/// Few of them are ended connections that only wait for their peers to read: a peer that never reads must not use
/// up the budget that way. Confined to a loop's thread.
package final class ConnectionBudget {
    package let limit: Int
    package private(set) var inUse = 0
    /// Ended connections that may wait for their peers at once; the one that waited longest gives way.
    package static var lingeringLimit: Int { 64 }
    private var lingering: [SocketStream] = []

    package init(limit: Int) { self.limit = limit }

    /// A charge for one connection; nil if the budget is used up.
    package func take() -> ConnectionCharge? {
        guard inUse < limit else { return nil }
        inUse += 1
        return ConnectionCharge(budget: self)
    }

    fileprivate func giveBack() { inUse -= 1 }

    fileprivate func linger(_ stream: SocketStream) {
        lingering.append(stream)
        guard lingering.count > Self.lingeringLimit else { return }
        lingering.removeFirst().close(.closedHere)
    }

    fileprivate func endLingering(_ stream: SocketStream) { lingering.removeAll { $0 === stream } }
}

/// One connection's share of a budget; given back when it goes away.
package struct ConnectionCharge: ~Copyable {
    private let budget: ConnectionBudget

    fileprivate init(budget: ConnectionBudget) { self.budget = budget }

    deinit { budget.giveBack() }

    /// The connection has ended and waits for its peer.
    borrowing func linger(_ stream: SocketStream) { budget.linger(stream) }

    /// It waits no more.
    borrowing func endLingering(_ stream: SocketStream) { budget.endLingering(stream) }
}
