// Connects to an address without blocking its loop: a name is looked up on a thread of its own, then its addresses are
// tried in turn, all within one deadline. One that gets no answer stays under way while the next ones are tried, and
// the first that answers is the connection. The connector reports the outcome exactly once, never from inside the call
// that began it, and not at all after `cancel`.

internal import Glibc
package import TandemReactor

/// One attempt to connect; confined to its loop's thread.
package final class StreamConnector {
    /// For the lookup and all attempts together: three times TCP's first retransmission, and a person still waits.
    package static var standardTimeout: Duration { .seconds(10) }
    /// Between two attempts at a local socket whose queue is full: a listener takes 64 in a turn of its loop.
    private static var queuePause: Duration { .milliseconds(5) }

    /// How long an address is tried alone, before the next one is tried beside it: TCP's first retransmission. A path
    /// that drops packets, such as a tunnel that is down, answers nothing for minutes, and the next address may be the
    /// one that works.
    private static var standardHeadStart: Duration { .seconds(1) }

    package typealias Completion = (Result<SocketStream, ConnectError>) -> Void
    typealias Lookup = @Sendable (_ host: String, _ port: UInt16) throws(ResolverError) -> [NetworkAddress]

    private let address: SocketAddress
    private let loop: EventLoop
    private let headStart: Duration
    private let lookup: Lookup
    private let failed: PeerDescription?
    private var completion: Completion?
    private var remaining: ArraySlice<NetworkAddress> = []
    private var attempts: [ConnectAttempt] = []
    private var lastError: SystemError?
    /// Begins the next attempt: at the next address, or again at a local socket whose queue is full.
    private var nextTry: TimerToken?
    private var deadline: TimerToken?

    /// Begins at once; it stays alive until it reports the outcome or is cancelled.
    /// - Parameter failed: of the addresses of a name the one to be tried last; those behind it are tried first.
    @discardableResult
    package convenience init(
        to address: SocketAddress, past failed: PeerDescription? = nil, loop: EventLoop,
        timeout: Duration = StreamConnector.standardTimeout, completion: @escaping Completion
    ) {
        self.init(
            to: address, past: failed, loop: loop, timeout: timeout, headStart: Self.standardHeadStart,
            lookup: { host, port throws(ResolverError) in try NetworkAddress.resolve(host: host, port: port, .names) },
            completion: completion)
    }

    /// - Parameter lookup: the addresses of a name; runs on a thread of its own.
    @discardableResult
    init(
        to address: SocketAddress, past failed: PeerDescription? = nil, loop: EventLoop, timeout: Duration,
        headStart: Duration, lookup: @escaping Lookup, completion: @escaping Completion
    ) {
        self.address = address
        self.failed = failed
        self.loop = loop
        self.headStart = headStart
        self.lookup = lookup
        self.completion = completion
        deadline = loop.schedule(after: timeout) { [self] in finish(.failure(.timedOut(address))) }
        loop.atEndOfTurn { [self] in begin() }
    }

    /// Ends the attempt; it reports no outcome.
    package func cancel() {
        completion = nil
        for attempt in attempts { attempt.abandon() }
        attempts = []
        for timer in [deadline, nextTry] { if let timer { loop.cancel(timer) } }
        (deadline, nextTry) = (nil, nil)
    }

    private func begin() {
        guard completion != nil else { return }
        switch address {
        case .unix(let path):
            do throws(SystemError) {
                tryAddresses([try NetworkAddress(path: path)])
            } catch {
                finish(.failure(.failed(address, error)))
            }
        case .tcp(let host, let port): lookUp(host: host, port: port)
        }
    }

    private func lookUp(host: String, port: UInt16) {
        if let numeric = try? NetworkAddress.resolve(host: host, port: port, .numeric), !numeric.isEmpty {
            return tryAddresses(numeric)
        }
        let connector = LoopBound(self, to: loop)
        let (loop, lookup) = (loop, lookup)
        do throws(SystemError) {
            let thread = try LoopThread(named: "tandem-resolve") {
                let found = Result { () throws(ResolverError) in try lookup(host, port) }
                loop.submit { connector.value.didLookUp(found) }
            }
            thread.detach()
        } catch {
            finish(.failure(.failed(address, error)))
        }
    }

    private func didLookUp(_ found: Result<[NetworkAddress], ResolverError>) {
        switch found {
        case .success(let addresses): tryAddresses(inOrder(addresses))
        case .failure(let error): finish(.failure(.unresolved(error)))
        }
    }

    private func inOrder(_ addresses: [NetworkAddress]) -> [NetworkAddress] {
        let peers = addresses.map { $0.hostAndPort.map { PeerDescription.remote(.tcp(host: $0.host, port: $0.port)) } }
        guard let failed, let index = peers.firstIndex(of: failed) else { return addresses }
        return Array(addresses[(index + 1)...] + addresses[...index])
    }

    private func tryAddresses(_ addresses: [NetworkAddress]) {
        remaining = addresses[...]
        tryNext()
    }

    private func tryNext() {
        if let nextTry { loop.cancel(nextTry) }
        nextTry = nil
        guard completion != nil else { return }
        guard let next = remaining.popFirst() else {
            if attempts.isEmpty { finish(.failure(failure)) }
            return
        }
        if !remaining.isEmpty { nextTry = loop.schedule(after: headStart) { [self] in tryNext() } }
        let attempt = ConnectAttempt(to: next, loop: loop) { [self] in tried($0, $1, at: next) }
        attempts.append(attempt)
        attempt.begin()
    }

    private func tried(
        _ attempt: ConnectAttempt, _ outcome: consuming Result<OwnedDescriptor, SystemError>, at next: NetworkAddress
    ) {
        attempts.removeAll { $0 === attempt }
        switch consume outcome {
        case .success(let descriptor): connected(descriptor, to: next)
        case .failure(let error) where next.isLocal && error.errno == EAGAIN: tryLater(next)
        case .failure(let error):
            lastError = error
            tryNext()
        }
    }

    /// Tries a full queue again after a pause. The listener is alive, and takes connections from the queue in each turn
    /// of its loop.
    private func tryLater(_ next: NetworkAddress) {
        nextTry = loop.schedule(after: Self.queuePause) { [self] in tryAddresses([next]) }
    }

    private var failure: ConnectError {
        guard let lastError else { return .unresolved(ResolverError(host: "\(address)", reason: "it has no address")) }
        return .failed(address, lastError)
    }

    private func connected(_ descriptor: consuming OwnedDescriptor, to other: NetworkAddress) {
        do throws(SystemError) {
            // By the path that was dialled: the process behind it says nothing to the one who dials.
            let peer: PeerDescription =
                other.isLocal ? .remote(address) : try PeerDescription(descriptor: descriptor.raw, address: other)
            if !other.isLocal { try BoundSocket.prepareLine(descriptor.raw) }
            finish(.success(SocketStream(takingOwnership: descriptor, loop: loop, peer: peer)))
        } catch {
            finish(.failure(.failed(address, error)))
        }
    }

    private func finish(_ outcome: Result<SocketStream, ConnectError>) {
        guard let completion else { return }
        cancel()
        completion(outcome)
    }
}

/// Tells its outcome once, unless it is abandoned.
final class ConnectAttempt: ReadinessTarget {
    private let address: NetworkAddress
    private let loop: EventLoop
    private var descriptor: OwnedDescriptor?
    private var registration: Registration?
    private var completion: ((ConnectAttempt, consuming Result<OwnedDescriptor, SystemError>) -> Void)?

    init(
        to address: NetworkAddress, loop: EventLoop,
        completion: @escaping (ConnectAttempt, consuming Result<OwnedDescriptor, SystemError>) -> Void
    ) {
        self.address = address
        self.loop = loop
        self.completion = completion
    }

    func begin() {
        do throws(SystemError) {
            let socket = try Linux.socket(for: address)
            let raw = socket.raw
            descriptor = consume socket
            if try Linux.connect(raw, to: address) { return succeed() }
            registration = try loop.register(raw, for: .writable, target: self)
        } catch {
            finish(.failure(error))
        }
    }

    func isReady(_ readiness: Readiness) {
        guard let raw = descriptor?.raw else { return }
        do throws(SystemError) {
            try Linux.checkConnected(raw)
            succeed()
        } catch {
            finish(.failure(error))
        }
    }

    func abandon() {
        completion = nil
        if let registration { loop.deregister(registration) }
        registration = nil
        descriptor = nil
    }

    private func succeed() {
        if let registration { loop.deregister(registration) }
        registration = nil
        guard let connected = descriptor.take() else { return }
        finish(.success(connected))
    }

    private func finish(_ outcome: consuming Result<OwnedDescriptor, SystemError>) {
        let completion = completion
        abandon()
        completion?(self, outcome)
    }
}

/// Why a connection could not be made, for logs, status and the person who typed the address.
package enum ConnectError: Error, Hashable, Sendable {
    case unresolved(ResolverError)
    case timedOut(SocketAddress)
    /// The error of the last address tried.
    case failed(SocketAddress, SystemError)
}

extension ConnectError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unresolved(let error): "\(error)"
        case .timedOut(let address): "no answer from \(address) in time"
        case .failed(let address, let error): "cannot connect to \(address): \(error)\(Self.wayOut(address, error))"
        }
    }

    /// The next step of a user who may not open a daemon's socket.
    private static func wayOut(_ address: SocketAddress, _ error: SystemError) -> String {
        guard case .unix = address, error.name == "EACCES" else { return "" }
        return "; run this as the daemon's user or as a member of its group (its option --local-group; 'tandem' for "
            + "the package), and log in again if you were just added to it"
    }
}
