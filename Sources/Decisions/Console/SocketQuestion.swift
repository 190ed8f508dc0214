// Question to the kernel about the far socket of a TCP connection (`sock_diag`), and its answer: one socket in any
// state, found by its ends, with the user that owns it. It costs the same however many connections there are.

/// One end of a TCP connection.
package struct SocketEnd: Sendable, Equatable {
    /// Four bytes, or sixteen; an IPv4 address within IPv6 has four.
    fileprivate let address: [UInt8]
    fileprivate let port: UInt16
    fileprivate let interface: UInt32

    /// - Parameters:
    ///   - address: four or sixteen bytes in the order of the network.
    ///   - interface: the index of a link-local address's interface; 0 without one.
    package init(address: [UInt8], port: UInt16, interface: UInt32 = 0) {
        let isMapped = address.count == 16 && address.starts(with: [UInt8](repeating: 0, count: 10) + [255, 255])
        self.address = isMapped ? Array(address[12...]) : address
        self.port = port
        self.interface = interface
    }

    fileprivate var isLoopback: Bool {
        address.count == 4 ? address[0] == 127 : address == [UInt8](repeating: 0, count: 15) + [1]
    }

    fileprivate var portBytes: [UInt8] { [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)] }
    fileprivate var addressBytes: [UInt8] { address + [UInt8](repeating: 0, count: 16 - address.count) }
}

/// The question about the socket at the far end of a connection.
package struct SocketQuestion: Sendable {
    private let near: SocketEnd
    private let far: SocketEnd

    private static let byFamily: UInt16 = 20
    private static let error: UInt16 = 2

    /// - Parameters:
    ///   - near: our end.
    ///   - far: the end whose user is asked for.
    package init(near: SocketEnd, far: SocketEnd) {
        self.near = near
        self.far = far
    }

    /// The message to the kernel: a head, and what it calls `inet_diag_req_v2`.
    package var message: [UInt8] {
        let (request, tcp): (UInt16, UInt8) = (1, 6)
        var body: [UInt8] = [far.address.count == 4 ? 2 : 10, tcp, 0, 0] + Self.native(UInt32.max)
        body += far.portBytes + near.portBytes + far.addressBytes + near.addressBytes
        body += Self.native(far.interface) + [UInt8](repeating: 255, count: 8)
        let head = Self.native(UInt32(16 + body.count)) + Self.native(Self.byFamily) + Self.native(request)
        return head + Self.native(UInt32(1)) + Self.native(UInt32(0)) + body
    }

    /// Whether the far end is a user's own or root's, or on another machine.
    /// - Parameter answer: the kernel's; empty if it gave none, which allows nothing.
    package func isAllowed(_ user: UInt32, by answer: [UInt8]) -> Bool {
        if let owner = owner(by: answer) { return owner == user || owner == 0 }
        guard answer.count >= 20, Self.number(answer, at: 4, bytes: 2) == UInt32(Self.error) else { return false }
        let isUnknown = Int32(bitPattern: Self.number(answer, at: 16, bytes: 4)) == -2
        return isUnknown && !far.isLoopback && far.address != near.address
    }

    /// The user of the far end's socket; nil if the kernel names none.
    package func owner(by answer: [UInt8]) -> UInt32? {
        // A listener has no far end, and a socket without an inode belongs to nobody any longer: its user would read as
        // root.
        guard answer.count >= 88, Self.number(answer, at: 4, bytes: 2) == UInt32(Self.byFamily),
            Array(answer[20..<24]) == far.portBytes + near.portBytes, Self.number(answer, at: 84, bytes: 4) != 0
        else { return nil }
        return Self.number(answer, at: 80, bytes: 4)
    }

    private static func native(_ number: some FixedWidthInteger) -> [UInt8] {
        (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number.littleEndian >> ($0 * 8)) }
    }

    private static func number(_ bytes: [UInt8], at offset: Int, bytes count: Int) -> UInt32 {
        let number = (0..<count).reduce(UInt32(0)) { $0 | UInt32(bytes[offset + $1]) << (8 * UInt32($1)) }
        return count == 2 ? UInt32(UInt16(littleEndian: UInt16(number))) : UInt32(littleEndian: number)
    }
}
