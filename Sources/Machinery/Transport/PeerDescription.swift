// Who is at the other end, as far as the kernel says: the process of a Unix socket, the address of a TCP one. It names
// nobody: trust comes from keys, and from the user identifier of a local process.

package import TandemReactor

/// The other end of a stream.
package enum PeerDescription: Hashable, Sendable {
    case local(PeerCredentials)
    /// Boxed, so that the many local ones stay small.
    indirect case remote(SocketAddress)
    case inProcess

    /// What the kernel knows of the other end of a connected socket.
    init(descriptor: CInt, address: NetworkAddress) throws(SystemError) {
        if let (host, port) = address.hostAndPort {
            self = .remote(.tcp(host: host, port: port))
        } else {
            self = .local(try Linux.peerCredentials(descriptor))
        }
    }

    /// The credentials of a local process.
    package var credentials: PeerCredentials? {
        guard case .local(let credentials) = self else { return nil }
        return credentials
    }
}

extension PeerDescription: CustomStringConvertible {
    package var description: String {
        switch self {
        case .local(let credentials): "uid \(credentials.user) pid \(credentials.process)"
        case .remote(let address): address.description
        case .inProcess: "in process"
        }
    }
}
