// Who is at the other end, as far as the kernel says: the process of a Unix socket, the address of a TCP one. It names
// nobody: trust comes from keys, and from the user identifier of a local process.

/// The process at the other end of a Unix socket when it connected (or listened).
package struct PeerCredentials: Hashable, Sendable {
    package let user: UInt32
    package let group: UInt32
    /// For logs only: the number may be another process's by now.
    package let process: Int32

    package init(user: UInt32, group: UInt32, process: Int32) {
        self.user = user
        self.group = group
        self.process = process
    }
}

/// The other end of a stream.
package enum PeerDescription: Hashable, Sendable {
    case local(PeerCredentials)
    case remote(SocketAddress)
    case inProcess

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
