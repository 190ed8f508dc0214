// Where a stream socket listens or connects, as people write it: `HOST:PORT`, `[::1]:PORT`, `unix:PATH`. Checked when
// it is read, so that a wrong address is a message at the start and not a failed call later.

import TandemBase

/// The address of a stream socket.
package enum SocketAddress: Hashable, Sendable {
    /// A socket file; at most 107 bytes.
    case unix(path: String)
    /// A name or a numeric address, IPv6 without its brackets; port 0 lets the system choose.
    case tcp(host: String, port: UInt16)

    /// The most bytes of a socket path: what the kernel's structure holds, less the end mark.
    package static var longestPath: Int { 107 }

    /// The longest host name (RFC 1035).
    package static var longestHost: Int { 253 }

    /// Reads `HOST:PORT`, `[ADDRESS]:PORT` or `unix:PATH`.
    package init(_ text: String) throws(SocketAddressError) {
        if text.utf8.starts(with: "unix:".utf8) {
            self = try Self.unix(checking: String(decoding: text.utf8.dropFirst(5), as: UTF8.self))
        } else {
            self = try Self.tcp(checking: text)
        }
    }

    /// The address of a socket file.
    package static func unix(checking path: String) throws(SocketAddressError) -> Self {
        guard !path.isEmpty else { throw .emptyPath }
        guard !path.utf8.contains(0) else { throw .nulInPath }
        guard path.utf8.count <= longestPath else { throw .pathTooLong(bytes: path.utf8.count) }
        return .unix(path: path)
    }

    private static func tcp(checking text: String) throws(SocketAddressError) -> Self {
        // Looked at first: comparing the characters of a long text may take long.
        guard text.utf8.count <= longestHost + "[]:65535".utf8.count else {
            throw .badHost(String(decoding: text.utf8.prefix(64), as: UTF8.self) + "...")
        }
        guard let colon = text.lastIndex(of: ":") else { throw .missingPort(text) }
        let host = try host(text[..<colon], of: text)
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy(\.isASCIIDigit),
            let port = UInt16(digits)
        else { throw .badPort(String(digits)) }
        return .tcp(host: host, port: port)
    }

    private static func host(_ part: Substring, of text: String) throws(SocketAddressError) -> String {
        let isBracketed = part.hasPrefix("[") && part.hasSuffix("]") && part.count > 2
        let host = isBracketed ? part.dropFirst().dropLast() : part
        let isPlain = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
        guard !host.isEmpty, host.utf8.count <= longestHost, isPlain, !host.contains(where: { "[]".contains($0) })
        else { throw .badHost(text) }
        guard isBracketed == host.contains(":") else { throw .badHost(text) }
        return String(host)
    }

    /// Whether listening here accepts on every interface.
    package var isWildcard: Bool {
        switch self {
        case .unix: false
        case .tcp(let host, _): ["0.0.0.0", "::", "*"].contains(host)
        }
    }

    /// Whether its host names the machine itself, so that no other machine reaches it; false for a socket file.
    package var isLoopback: Bool {
        switch self {
        case .unix: false
        case .tcp(let host, _): host == "localhost" || host == "::1" || host.isLoopbackNumber
        }
    }
}

extension String {
    /// Whether it is an IPv4 address of 127.0.0.0/8 in four parts.
    fileprivate var isLoopbackNumber: Bool {
        let parts = split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// The form that `init` reads.
    package var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }
}

/// Why a text is no address.
package enum SocketAddressError: Error, Hashable, Sendable {
    case emptyPath
    case nulInPath
    case pathTooLong(bytes: Int)
    case missingPort(String)
    case badPort(String)
    case badHost(String)
}

extension SocketAddressError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .emptyPath: "the socket path is empty; write unix:PATH"
        case .nulInPath: "the socket path contains a NUL byte"
        case .pathTooLong(let bytes):
            "the socket path has \(bytes) bytes, more than the \(SocketAddress.longestPath) that Linux takes; "
                + "choose a shorter directory"
        case .missingPort(let text): "\"\(text)\" has no port; write HOST:PORT, [IPV6]:PORT or unix:PATH"
        case .badPort(let text): "\"\(text)\" is no port; write a number from 1 to 65535"
        case .badHost(let text): "\"\(text)\" has no usable host; write HOST:PORT, [IPV6]:PORT or unix:PATH"
        }
    }
}
