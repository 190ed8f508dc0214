// A socket bound to its address and not listening yet: for TCP the first of the host's addresses that can be bound, for
// a socket file under the rules of `SocketFile`.

internal import Glibc
internal import TandemReactor

struct BoundSocket: ~Copyable {
    let descriptor: OwnedDescriptor
    let address: SocketAddress
    private let file: SocketFile?

    static func bind(to address: SocketAddress, access: SocketAccess) throws(ListenError) -> BoundSocket {
        switch address {
        case .unix(let path): try bind(path: path, access: access)
        case .tcp(let host, let port): try bind(host: host, port: port)
        }
    }

    private static func bind(path: String, access: SocketAccess) throws(ListenError) -> BoundSocket {
        let descriptor = try socket(path: path)
        let file = try SocketFile.bind(descriptor.raw, path: path, access: access)
        return BoundSocket(descriptor: descriptor, address: .unix(path: path), file: file)
    }

    private static func socket(path: String) throws(ListenError) -> OwnedDescriptor {
        do throws(SystemError) {
            return try Linux.socket(for: try NetworkAddress(path: path))
        } catch {
            throw .failed(.unix(path: path), error)
        }
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

    private init(
        descriptor: consuming OwnedDescriptor, address: SocketAddress, file: consuming SocketFile?
    ) {
        self.descriptor = descriptor
        self.address = address
        self.file = file
    }

    /// Looking a name up blocks; a listener is made before its loop serves anybody.
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
