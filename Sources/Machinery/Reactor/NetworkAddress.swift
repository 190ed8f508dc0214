// An address as the kernel takes it, held by value. Names become addresses here: numeric ones at once, others by the
// system's resolver, which blocks and so must not be asked on a loop.

internal import CTandemLinux

/// The address of a Unix, IPv4 or IPv6 socket in the kernel's form.
package struct NetworkAddress: Sendable {
    /// More addresses of one name are not tried.
    static var mostPerName: Int { 16 }

    var raw: tandem_address

    /// Whether it is a socket file's.
    package var isLocal: Bool { raw.family == TANDEM_FAMILY_UNIX }

    /// The address of a socket file.
    package init(path: String) throws(SystemError) {
        raw = tandem_address()
        try Linux.check(tandem_address_unix(path, &raw), "sockaddr_un")
    }

    init(raw: tandem_address) { self.raw = raw }

    /// The numeric host and the port; nil for a socket file.
    package var hostAndPort: (host: String, port: UInt16)? {
        guard !isLocal else { return nil }
        var port: UInt16 = 0
        let host = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text -> String? in
            var copy = raw
            guard let start = text.baseAddress, tandem_address_text(&copy, start, text.count, &port) == 0 else {
                return nil
            }
            return String(cString: start)
        }
        return host.map { ($0, port) }
    }

    /// How to look a host up.
    package enum Lookup: Sendable {
        /// Only numeric addresses; never blocks.
        case numeric
        /// Names too; blocks.
        case names
    }

    /// All addresses of a host, in the resolver's order; empty only for a name that the lookup does not cover.
    package static func resolve(
        host: String, port: UInt16, _ lookup: Lookup, forListening: Bool = false
    ) throws(ResolverError) -> [NetworkAddress] {
        var found = [tandem_address](repeating: tandem_address(), count: mostPerName)
        var resolverError: CInt = 0
        let count = tandem_address_resolve(
            host, port, lookup == .numeric ? 1 : 0, forListening ? 1 : 0, &found, found.count, &resolverError)
        if resolverError != 0, lookup == .numeric { return [] }
        guard resolverError == 0, count >= 0 else {
            let text = count < 0 ? "\(SystemError(call: "getaddrinfo", errno: -count))" : text(of: resolverError)
            throw ResolverError(host: host, reason: text)
        }
        return found.prefix(Int(count)).map(NetworkAddress.init(raw:))
    }

    private static func text(of resolverError: CInt) -> String { String(cString: tandem_resolver_text(resolverError)) }
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
