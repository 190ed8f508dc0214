// The calls about stream sockets. Every socket is born close-on-exec and non-blocking.

internal import CTandemLinux
internal import Glibc

/// Two descriptors that belong together.
package struct DescriptorPair: ~Copyable {
    package let first: OwnedDescriptor
    package let second: OwnedDescriptor

    /// Gives each to an owner of its own.
    package consuming func split<Result, Failure: Error>(
        _ body: (consuming OwnedDescriptor, consuming OwnedDescriptor) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(first, second)
    }
}

extension Linux {
    /// A new stream socket of the address's family.
    package static func socket(for address: NetworkAddress) throws(SystemError) -> OwnedDescriptor {
        try OwnedDescriptor(tandem_socket(address.raw.family), "socket")
    }

    /// Two connected Unix stream sockets.
    package static func socketPair() throws(SystemError) -> DescriptorPair {
        var pair: [CInt] = [-1, -1]
        try check(tandem_socket_pair(&pair), "socketpair")
        return DescriptorPair(
            first: OwnedDescriptor(takingOwnership: pair[0]), second: OwnedDescriptor(takingOwnership: pair[1]))
    }

    package static func bind(_ descriptor: CInt, to address: NetworkAddress) throws(SystemError) {
        var raw = address.raw
        try check(tandem_bind(descriptor, &raw), "bind")
    }

    package static func listen(_ descriptor: CInt, backlog: Int) throws(SystemError) {
        try check(tandem_listen(descriptor, CInt(clamping: backlog)), "listen")
    }

    /// What asking for a connection came to.
    package enum Accepted: ~Copyable {
        case connection(OwnedDescriptor, NetworkAddress)
        case none
        /// A connection that was gone before it could be taken; another may wait.
        case lost
    }

    /// Takes a waiting connection.
    package static func accept(_ descriptor: CInt) throws(SystemError) -> Accepted {
        var peer = tandem_address()
        let result = tandem_accept(descriptor, &peer)
        if result >= 0 {
            return .connection(OwnedDescriptor(takingOwnership: result), NetworkAddress(raw: peer))
        }
        switch -result {
        case EAGAIN: return .none
        // accept(2): errors that the connection already had, not the listener.
        case ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH:
            return .lost
        case let number: throw SystemError(call: "accept4", errno: number)
        }
    }

    /// Begins to connect; false if it is still under way, to be asked with `socketError` when writable.
    package static func connect(_ descriptor: CInt, to address: NetworkAddress) throws(SystemError) -> Bool {
        var raw = address.raw
        let result = tandem_connect(descriptor, &raw)
        if result == -EINPROGRESS { return false }
        try check(result, "connect")
        return true
    }

    /// Throws the error that a connection attempt ended with.
    package static func checkConnected(_ descriptor: CInt) throws(SystemError) {
        try check(tandem_socket_error(descriptor), "connect")
    }

    /// The bytes that the system holds for the other end; nothing where it does not say.
    package static func unread(_ descriptor: CInt) -> Int {
        descriptor < 0 ? 0 : Int(max(0, tandem_socket_unread(descriptor)))
    }

    /// Tells the peer that nothing more will come.
    package static func shutdownWriting(_ descriptor: CInt) throws(SystemError) {
        try check(tandem_shutdown_writing(descriptor), "shutdown")
    }

    /// Ends the connection for the peer now, even while a child between its fork and its exec has a copy of the socket.
    package static func hangUp(_ descriptor: CInt) { tandem_hang_up(descriptor) }
}

// What can be asked of and told to a socket.

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

extension Linux {
    /// The process at the other end of a Unix socket.
    package static func peerCredentials(_ descriptor: CInt) throws(SystemError) -> PeerCredentials {
        var found = tandem_credentials()
        try check(tandem_socket_credentials(descriptor, &found), "getsockopt")
        return PeerCredentials(user: found.user, group: found.group, process: found.process)
    }

    /// The address that a socket is bound to.
    package static func localAddress(_ descriptor: CInt) throws(SystemError) -> NetworkAddress {
        var raw = tandem_address()
        try check(tandem_socket_local_address(descriptor, &raw), "getsockname")
        return NetworkAddress(raw: raw)
    }

    /// Lets a listener have its port again while old connections of it fade.
    package static func setReuseAddress(_ descriptor: CInt) throws(SystemError) {
        try check(tandem_socket_reuse_address(descriptor), "setsockopt")
    }

    /// Sends each write at once: they are coalesced before.
    package static func setNoDelay(_ descriptor: CInt) throws(SystemError) {
        try check(tandem_socket_no_delay(descriptor), "setsockopt")
    }

    /// Sets the mode that the socket's file will have when it is bound.
    package static func setBirthMode(_ descriptor: CInt, _ mode: UInt32) throws(SystemError) {
        try check(tandem_socket_set_birth_mode(descriptor, mode), "fchmod")
    }
}
