// A socket bound to its address and not listening yet: for TCP the first of the host's addresses that can be bound, for
// a socket file under the rules of `SocketFile`.

internal import Glibc
package import TandemReactor
internal import TandemWire

/// A bound socket; its file goes with it.
package struct BoundSocket: ~Copyable {
    /// The socket.
    package let descriptor: OwnedDescriptor
    /// Its address, with the port that was chosen.
    package let address: SocketAddress
    private let file: SocketFile?

    /// Whether clients no longer find it at its address: somebody has removed the file, or put another in its place.
    package var isLost: Bool {
        switch file {
        case .some(let file): file.isLost
        case .none: false
        }
    }

    /// Binds a socket.
    /// - Parameters:
    ///   - address: where; the port 0 is a free one.
    ///   - access: the users of a Unix socket.
    package static func bind(to address: SocketAddress, access: SocketAccess) throws(ListenError) -> BoundSocket {
        switch address {
        case .unix(let path): try bind(path: path, access: access)
        case .tcp(let host, let port): try bind(host: host, port: port)
        }
    }

    private static func bind(path: String, access: SocketAccess) throws(ListenError) -> BoundSocket {
        let descriptor = try SocketFile.system(path, try Linux.socket(for: try NetworkAddress(path: path)))
        let file = try SocketFile.bind(descriptor.raw, path: path, access: access)
        return BoundSocket(descriptor: descriptor, address: .unix(path: path), file: file)
    }

    private static func bind(host: String, port: UInt16) throws(ListenError) -> BoundSocket {
        var firstError: ListenError?
        for candidate in try Self.candidates(host: host, port: port) {
            do throws(SystemError) {
                let socket = try Self.bind(to: candidate)
                let bound = try Linux.localAddress(socket.raw).hostAndPort
                return BoundSocket(
                    descriptor: socket, address: .tcp(host: host, port: bound?.port ?? port), file: nil)
            } catch {
                let address = SocketAddress.tcp(host: host, port: port)
                firstError = firstError ?? (error.errno == EADDRINUSE ? .inUse(address) : .failed(address, error))
            }
        }
        throw firstError ?? .unresolved(ResolverError(host: host, reason: "it has no address"))
    }

    /// Prepares a connection to another device: each write leaves at once, and the system takes little ahead of sending
    /// it (LIM-63), because its bytes are past all turns.
    static func prepareLine(_ descriptor: CInt) throws(SystemError) {
        try Linux.setNoDelay(descriptor)
        try Linux.setUnsentLimit(descriptor, Limits.unsentBytes)
    }

    /// A name lookup blocks; a listener is made before its loop serves connections.
    private static func candidates(host: String, port: UInt16) throws(ListenError) -> [NetworkAddress] {
        do throws(ResolverError) {
            let name = host == "*" ? "::" : host
            return try NetworkAddress.resolve(host: name, port: port, .names, forListening: true)
        } catch {
            throw .unresolved(error)
        }
    }

    private static func bind(to address: NetworkAddress) throws(SystemError) -> OwnedDescriptor {
        let socket = try Linux.socket(for: address)
        try Linux.setReuseAddress(socket.raw)
        try Linux.bind(socket.raw, to: address)
        return socket
    }
}

// MARK: - socket files

/// Users who may connect to a Unix socket.
package enum SocketAccess: Hashable, Sendable {
    /// The user of this process (mode 0600).
    case owner
    /// And the members of a group (mode 0660).
    case group(String)
}

/// The file of a bound Unix socket, and the right to it. A file left behind by a process that died is taken over, but
/// only under a lock beside it, only if it is a socket, and only if no listener answers there. The file is born with
/// its final mode or a tighter one, and is removed at the end only if it is still the one that was made.
struct SocketFile: ~Copyable {
    private let path: String
    private let lock: OwnedDescriptor
    private let made: FileStatus

    /// Binds the socket to the path; it must not listen yet, so that no client connects before the mode is right.
    static func bind(_ descriptor: CInt, path: String, access: SocketAccess) throws(ListenError) -> SocketFile {
        // Before the lock, too: no lock file may appear beside a file that is not a socket.
        _ = try socket(at: path)
        let lock = try takeLock(path: path)
        try removeStale(path: path)
        let made = try make(binding: descriptor, path: path)
        let file = SocketFile(path: path, lock: lock, made: made)
        try open(path: path, to: access)
        return file
    }

    deinit {
        defer { Linux.unlock(lock.raw) }
        // A failure leaves a stale file, which the next start takes over.
        if (try? Linux.lookAt(path: path))?.isOfSameFile(as: made) == true { try? Linux.unlink(path: path) }
    }

    /// Whether the file is gone, or another one. A look that fails says neither.
    var isLost: Bool {
        do throws(SystemError) {
            return try Linux.lookAt(path: path)?.isOfSameFile(as: made) != true
        } catch {
            return false
        }
    }

    private static func takeLock(path: String) throws(ListenError) -> OwnedDescriptor {
        let lock = try system(path, try Linux.open(path: path + ".lock", O_RDWR | O_CREAT))
        let raw = lock.raw
        guard try system(path, try Linux.tryLock(raw)) else { throw .inUse(.unix(path: path)) }
        return lock
    }

    /// The socket at the path; nil if there is nothing.
    private static func socket(at path: String) throws(ListenError) -> FileStatus? {
        guard let found = try system(path, try Linux.lookAt(path: path)) else { return nil }
        guard found.isSocket else { throw .notASocket(path: path) }
        return found
    }

    private static func removeStale(path: String) throws(ListenError) {
        guard try socket(at: path) != nil else { return }
        if try system(path, try isAnswered(path: path)) { throw .inUse(.unix(path: path)) }
        try system(path, try Linux.unlink(path: path))
    }

    fileprivate static func system<Value: ~Copyable>(
        _ path: String, _ call: @autoclosure () throws(SystemError) -> Value
    ) throws(ListenError) -> Value {
        do throws(SystemError) { return try call() } catch { throw .failed(.unix(path: path), error) }
    }

    /// Whether a process listens there; also when it is too busy to take a connection.
    private static func isAnswered(path: String) throws(SystemError) -> Bool {
        let failure = try connectionError(path: path)
        return failure != ECONNREFUSED && failure != ENOENT
    }

    /// The error with which a connection to the file fails; 0 for none.
    fileprivate static func connectionError(path: String) throws(SystemError) -> CInt {
        let address = try NetworkAddress(path: path)
        let probe = try Linux.socket(for: address)
        do { _ = try Linux.connect(probe.raw, to: address) } catch { return error.errno }
        return 0
    }

    private static func make(binding descriptor: CInt, path: String) throws(ListenError) -> FileStatus {
        do throws(SystemError) {
            try Linux.setBirthMode(descriptor, 0o600)
            try Linux.bind(descriptor, to: try NetworkAddress(path: path))
            if let made = try Linux.lookAt(path: path) { return made }
        } catch {
            throw error.errno == EADDRINUSE ? .inUse(.unix(path: path)) : .failed(.unix(path: path), error)
        }
        throw .inUse(.unix(path: path))
    }

    private static func open(path: String, to access: SocketAccess) throws(ListenError) {
        guard case .group(let name) = access else { return }
        guard let group = try? Linux.groupIdentifier(named: name) else { throw .noSuchGroup(name) }
        try system(path, try Linux.setGroup(path: path, group))
        try system(path, try Linux.setMode(path: path, 0o660))
    }
}

extension SocketAddress {
    /// Whether a process accepts this user's connections at a socket file, perhaps once it is less busy; the file alone
    /// may be what a crash left behind.
    package static func isServed(path: String) -> Bool {
        guard let failure = try? SocketFile.connectionError(path: path) else { return false }
        return failure == 0 || failure == EAGAIN
    }
}
