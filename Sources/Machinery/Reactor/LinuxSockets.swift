// The calls about sockets. Every socket is born close-on-exec and non-blocking.

internal import CTandemLinux
internal import Glibc

extension Linux {
    /// A new stream socket of the address's family.
    package static func socket(for address: NetworkAddress) throws(SystemError) -> OwnedDescriptor {
        try socket(SOCK_STREAM.rawValue, for: address)
    }

    /// A new datagram socket of the address's family.
    static func datagramSocket(for address: NetworkAddress) throws(SystemError) -> OwnedDescriptor {
        try socket(SOCK_DGRAM.rawValue, for: address)
    }

    private static func socket(_ kind: UInt32, for address: NetworkAddress) throws(SystemError) -> OwnedDescriptor {
        let family = address.family
        let type = CInt(kind | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        return try OwnedDescriptor(SystemCall.once { Glibc.socket(family, type, 0) }, "socket")
    }

    /// Sends the text as one datagram; false if there is no space for it now.
    static func send(_ text: String, to address: NetworkAddress, on descriptor: CInt) throws(SystemError) -> Bool {
        var text = text
        let result = text.withUTF8 { bytes in
            let (start, count) = (bytes.baseAddress, bytes.count)
            return address.withRaw { raw, length in
                CInt(clamping: SystemCall.retried { sendto(descriptor, start, count, CInt(MSG_NOSIGNAL), raw, length) })
            }
        }
        if result == -EAGAIN { return false }
        try SystemCall.check(result, "sendto")
        return true
    }

    package static func bind(_ descriptor: CInt, to address: NetworkAddress) throws(SystemError) {
        let result = address.withRaw { raw, length in SystemCall.once { Glibc.bind(descriptor, raw, length) } }
        try SystemCall.check(result, "bind")
    }

    package static func listen(_ descriptor: CInt, backlog: Int) throws(SystemError) {
        let backlog = CInt(clamping: backlog)
        try SystemCall.check(SystemCall.once { Glibc.listen(descriptor, backlog) }, "listen")
    }

    /// The result of accepting a connection.
    package enum Accepted: ~Copyable {
        case connection(OwnedDescriptor, NetworkAddress)
        case none
        /// A connection that was gone before it could be taken; another may wait.
        case lost
    }

    /// Takes a waiting connection.
    package static func accept(_ descriptor: CInt) throws(SystemError) -> Accepted {
        let (result, peer) = NetworkAddress.filled { raw, length in tandem_accept(descriptor, raw, length) }
        if result >= 0 { return .connection(OwnedDescriptor(takingOwnership: result), peer) }
        switch -result {
        case EAGAIN: return .none
        // accept(2): errors that the connection already had, not the listener.
        case ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH:
            return .lost
        case let number: throw SystemError(call: "accept4", errno: number)
        }
    }

    /// Begins to connect; false if it is still under way, to be asked with `checkConnected` when writable. So is an
    /// interrupted attempt, which the kernel continues.
    package static func connect(_ descriptor: CInt, to address: NetworkAddress) throws(SystemError) -> Bool {
        let result = address.withRaw { raw, length in SystemCall.once { Glibc.connect(descriptor, raw, length) } }
        if result == -EINPROGRESS || result == -EINTR { return false }
        try SystemCall.check(result, "connect")
        return true
    }

    /// Throws the error that a connection attempt ended with.
    package static func checkConnected(_ descriptor: CInt) throws(SystemError) {
        var number: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        let result = SystemCall.once { getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length) }
        try SystemCall.check(result < 0 ? result : -number, "connect")
    }

    /// The bytes that were written and that the other end has not read (Unix) or not acknowledged (TCP); 0 where the
    /// system does not say.
    package static func unread(_ descriptor: CInt) -> Int {
        guard descriptor >= 0 else { return 0 }
        var count: CInt = 0
        // SIOCOUTQ by its other name.
        let result = SystemCall.once { ioctl(descriptor, UInt(TIOCOUTQ), &count) }
        return result < 0 ? 0 : Int(count)
    }

    /// Tells the peer that nothing more will come. A peer that is gone is not an error.
    package static func shutdownWriting(_ descriptor: CInt) throws(SystemError) {
        let result = SystemCall.once { shutdown(descriptor, CInt(SHUT_WR)) }
        if result != -ENOTCONN { try SystemCall.check(result, "shutdown") }
    }

    /// Ends the connection for the peer now, even while a child between its fork and its exec has a copy of the socket.
    package static func hangUp(_ descriptor: CInt) { _ = shutdown(descriptor, CInt(SHUT_RDWR)) }

    /// The process at the other end of a Unix socket.
    package static func peerCredentials(_ descriptor: CInt) throws(SystemError) -> PeerCredentials {
        var found = tandem_credentials()
        try SystemCall.check(tandem_socket_credentials(descriptor, &found), "getsockopt")
        return PeerCredentials(user: found.user, process: found.process)
    }

    /// The address that a socket is bound to.
    package static func localAddress(_ descriptor: CInt) throws(SystemError) -> NetworkAddress {
        let (result, address) = NetworkAddress.filled { raw, length in
            SystemCall.once { getsockname(descriptor, raw, length) }
        }
        try SystemCall.check(result, "getsockname")
        return address
    }

    /// Lets a listener have its port again while old connections of it fade.
    package static func setReuseAddress(_ descriptor: CInt) throws(SystemError) {
        try setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    }

    /// Sends each write at once: they are coalesced before.
    package static func setNoDelay(_ descriptor: CInt) throws(SystemError) {
        try setOption(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, 1)
    }

    /// The system takes no more than this many bytes ahead of those that it has sent.
    package static func setUnsentLimit(_ descriptor: CInt, _ bytes: Int) throws(SystemError) {
        try setOption(descriptor, CInt(IPPROTO_TCP), TCP_NOTSENT_LOWAT, CInt(clamping: bytes))
    }

    private static func setOption(
        _ descriptor: CInt, _ level: CInt, _ option: CInt, _ value: CInt
    ) throws(SystemError) {
        var value = value
        let size = socklen_t(MemoryLayout<CInt>.size)
        try SystemCall.check(SystemCall.once { setsockopt(descriptor, level, option, &value, size) }, "setsockopt")
    }

    /// Sets the mode that the socket's file will have. Linux takes it from the descriptor when that is bound, so that
    /// the file never has a wider one.
    package static func setBirthMode(_ descriptor: CInt, _ mode: UInt32) throws(SystemError) {
        try SystemCall.check(SystemCall.retried { fchmod(descriptor, mode) }, "fchmod")
    }
}

/// The process at the other end of a Unix socket when it connected (or listened).
package struct PeerCredentials: Hashable, Sendable {
    package let user: UInt32
    /// For logs only: the number may be another process's by now.
    package let process: Int32

    package init(user: UInt32, process: Int32) {
        self.user = user
        self.process = process
    }
}

/// The address of a Unix, IPv4 or IPv6 socket in the kernel's form, by value.
package struct NetworkAddress: Sendable {
    /// More addresses of one name are not tried.
    static var mostPerName: Int { 16 }

    private var storage = sockaddr_storage()
    private var length = socklen_t(MemoryLayout<sockaddr_storage>.size)

    private init() {}

    /// A copy; nil if the address is larger than any of the three families.
    private init?(_ address: UnsafeRawBufferPointer) {
        guard address.count <= MemoryLayout<sockaddr_storage>.size else { return nil }
        withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: address) }
        length = socklen_t(address.count)
    }

    /// The address of a socket file.
    package init(path: String) throws(SystemError) {
        var local = sockaddr_un()
        local.sun_family = sa_family_t(AF_UNIX)
        let isTooLong = path.utf8.count >= MemoryLayout.size(ofValue: local.sun_path)
        if !isTooLong { withUnsafeMutableBytes(of: &local.sun_path) { $0.copyBytes(from: path.utf8) } }
        guard !isTooLong, let address = withUnsafeBytes(of: &local, { Self($0) }) else {
            throw SystemError(call: "sockaddr_un", errno: ENAMETOOLONG)
        }
        self = address
    }

    /// The address of a name that no file has: its bytes behind a NUL, and nothing after them.
    init(abstract name: String) throws(SystemError) {
        try self.init(path: "\0" + name)
        length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
    }

    /// The address that a call fills in, and the call's result.
    static func filled(
        by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    ) -> (result: CInt, address: NetworkAddress) {
        var address = NetworkAddress()
        var length = address.length
        let result = withUnsafeMutablePointer(to: &address.storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        address.length = length
        return (result, address)
    }

    /// Lends the address to a call.
    func withRaw(_ call: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, length) }
        }
    }

    var family: CInt { CInt(storage.ss_family) }

    /// Whether it is a socket file's.
    package var isLocal: Bool { family == AF_UNIX }

    /// The numeric host and the port; nil for a socket file.
    package var hostAndPort: (host: String, port: UInt16)? {
        guard !isLocal else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64 + 8) { text in
            guard let host = text.baseAddress else { return nil }
            let port = host + 64
            let outcome = withRaw { getnameinfo($0, $1, host, 64, port, 8, NI_NUMERICHOST | NI_NUMERICSERV) }
            guard outcome == 0, let number = UInt16(String(cString: port)) else { return nil }
            return (String(cString: host), number)
        }
    }

    /// The numeric host itself, or of an IPv6 address the first 64 bits, which one site has at least.
    package static func network(of host: String) -> String {
        var address = in6_addr()
        guard host.contains(":"), inet_pton(AF_INET6, String(host.prefix { $0 != "%" }), &address) == 1 else {
            return host
        }
        // An IPv4 address in IPv6 form differs in its last bytes only.
        let isMapped = host.hasPrefix("::ffff:")
        return withUnsafeBytes(of: &address) { bytes in
            isMapped ? host : bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
        }
    }

    /// How to look a host up.
    package enum Lookup: Sendable {
        /// Only numeric addresses; never blocks.
        case numeric
        /// Names too; blocks in the system's resolver, so never on a loop.
        case names
    }

    /// All addresses of a host, in the resolver's order; empty only for a name that the lookup does not cover.
    package static func resolve(
        host: String, port: UInt16, _ lookup: Lookup, forListening: Bool = false
    ) throws(ResolverError) -> [NetworkAddress] {
        var wanted = addrinfo()
        wanted.ai_family = AF_UNSPEC
        wanted.ai_socktype = CInt(SOCK_STREAM.rawValue)
        wanted.ai_flags =
            AI_NUMERICSERV | (lookup == .numeric ? AI_NUMERICHOST : 0) | (forListening ? AI_PASSIVE : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        var outcome: CInt = 0
        let result = host.withCString { host in
            String(port).withCString { port in
                SystemCall.once { () -> CInt in
                    outcome = getaddrinfo(host, port, &wanted, &list)
                    return outcome == EAI_SYSTEM ? -1 : 0
                }
            }
        }
        guard outcome == 0 else {
            if lookup == .numeric { return [] }
            let text = String(cString: gai_strerror(outcome))
            throw ResolverError(
                host: host, reason: result < 0 ? "\(SystemError(call: "getaddrinfo", errno: -result))" : text)
        }
        defer { freeaddrinfo(list) }
        var found: [NetworkAddress] = []
        var next = list
        while let entry = next?.pointee, found.count < mostPerName {
            let bytes = UnsafeRawBufferPointer(start: entry.ai_addr, count: Int(entry.ai_addrlen))
            if let address = NetworkAddress(bytes) { found.append(address) }
            next = entry.ai_next
        }
        return found
    }
}

/// Why a host name has no address.
package struct ResolverError: Error, Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let reason: String

    package init(host: String, reason: String) {
        self.host = host
        self.reason = reason
    }

    package var description: String { "cannot find the address of \"\(host)\": \(reason)" }
}
