// What can be asked of and told to a socket.

internal import CTandemLinux

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
